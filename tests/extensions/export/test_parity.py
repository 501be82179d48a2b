"""500 sentences in each program that we export to; an export itself compares twenty."""

from dataclasses import replace

import pytest

from transformer_mt.corpus.builtin import builtin_corpus
from transformer_mt.evaluation.evaluate import score_texts
from transformer_mt.extensions.export.export_formats import formats
from transformer_mt.runs.directory import READY, Run
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator

PAIRS = builtin_corpus(train=1, validation=500, test=1)["validation"]


@pytest.mark.interop
@pytest.mark.parametrize("to", formats())
@pytest.mark.parametrize(("beam", "least"), [(1, 0.995), (4, 0.95)])
def test_translations_are_the_same(to: str, beam: int, least: float) -> None:
    formats()[to].require(None)
    ours = Model.open(Run.open(READY), device="cpu")
    search = ours.config.search.model_copy(update={"beam": beam})
    long = " ".join(pair.source for pair in PAIRS[:30])
    sources = [*(pair.source for pair in PAIRS), long[: long.index(" ", 700)]]  # up to most of the positions
    found = [
        [best for best, *_ in Translator.of(model).translate(sources, search, split=False)]
        for model in (ours, replace(ours, engine=formats()[to].convert(ours, None)[1]))
    ]
    gaps = [abs(a.log_probability - b.log_probability) for a, b in zip(*found, strict=True) if a.text == b.text]
    references = [pair.translations for pair in PAIRS]
    own, other = (score_texts([one.text for one in of[:-1]], references).bleu for of in found)
    print(f"{to}, beam {beam}: {len(gaps)} of {len(sources)} the same, BLEU {own:.2f} here, {other:.2f} there")
    assert len(gaps) >= least * len(sources)
    assert max(gaps) < 1e-3
    assert own == pytest.approx(other, abs=0.5)
