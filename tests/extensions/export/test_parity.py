"""500 sentences in each program that we export to; an export itself compares twenty."""

from dataclasses import replace

import pytest

from transformer_mt.corpus.builtin import builtin_corpus
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
    sources = [pair.source for pair in PAIRS]
    sources.append(" ".join(sources[:20]))  # most of the positions
    own, other = (
        [best for best, *_ in Translator.of(model).translate(sources, search, split=False)]
        for model in (ours, replace(ours, engine=formats()[to].convert(ours, None)[1]))
    )
    gaps = [abs(a.log_probability - b.log_probability) for a, b in zip(own, other, strict=True) if a.text == b.text]
    assert len(gaps) >= least * len(sources)
    assert max(gaps) < 1e-3
