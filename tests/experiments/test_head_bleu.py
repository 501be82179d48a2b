"""BLEU from the statistics of single sentences, and by how much it changes."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from sacrebleu.metrics.bleu import BLEU
from support.tiny import tiny_model
from typing_extensions import override

from transformer_mt.config.sections import SearchConfig, TokenizerConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.experiments.head_bleu import bleu, bleu_change, bleu_statistics, with_bleu
from transformer_mt.inspection.head_measuring import measure_heads
from transformer_mt.inspection.intervals import Estimate, Resampling
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.translator import Translation, Translator

SOURCES = ("Der Hund schläft.", "Ich sehe die Katze.", "Der alte Mann liest ein Buch.")
REFERENCES = (("The dog is asleep.", "The dog sleeps."), ("I see the cat.",), ("The old man is reading a book.",))
USUAL = ("The dog sleeps now.", "I can see the cat.", "The old man reads a book.")
WITHOUT = ("The dog sleeps now.", "I see.", "The old man is reading the book.")
PAIRS = [
    SentencePair(source, first, references=tuple(others))
    for source, (first, *others) in zip(SOURCES, REFERENCES, strict=True)
]
INPUTS = torch.tensor([[5, 7, 3]]), torch.tensor([[2, 11]])


class Known(Translator):
    """Says one thing while its model is whole, and another while anything is switched off."""

    @override
    def translate(self, sentences: Sequence[str], *_: object, **__: object) -> list[list[Translation]]:
        with torch.no_grad():
            now = self.model(*INPUTS)
            self.whole = getattr(self, "whole", now)
        texts = dict(zip(SOURCES, USUAL if torch.equal(now, self.whole) else WITHOUT, strict=True))
        return [[Translation(texts[sentence], 0.0, 0.0, ())] for sentence in sentences]


@pytest.fixture
def translator() -> Known:
    tokenizer = Tokenizer.train(SOURCES, TokenizerConfig(vocabulary_size=300))
    model = tiny_model(vocabulary=tokenizer.size)
    known = Known(model, tokenizer, search=SearchConfig(), device=torch.device("cpu"), precision=torch.float32)
    known.translate(())
    return known


def corpus_bleu(hypotheses: Sequence[str]) -> float:
    longest = max(map(len, REFERENCES))
    streams = [[(*references, *[None] * longest)[n] for references in REFERENCES] for n in range(longest)]
    return BLEU().corpus_score(hypotheses, streams).score


def test_summed_statistics_have_the_bleu_of_the_corpus(translator: Known) -> None:
    found = bleu_statistics(translator, PAIRS)
    assert found.shape == (3, 10)
    assert bleu(found.sum(axis=0)) == pytest.approx(corpus_bleu(USUAL))
    assert bleu(found[1]) == pytest.approx(BLEU().corpus_score([USUAL[1]], [[REFERENCES[1][0]]]).score)
    assert bleu(np.zeros(10)) == 0.0


def test_what_stays_the_same_changes_by_nothing(translator: Known) -> None:
    found = bleu_statistics(translator, PAIRS)
    assert bleu_change(found, found, Resampling(3)) == Estimate(0.0, 0.0, 0.0)
    gone = bleu_change(found, np.zeros_like(found), Resampling(3))
    assert gone.low <= gone.value == -bleu(found.sum(axis=0)) <= gone.high <= 0.0


def test_the_table_has_what_each_head_takes_along(translator: Known) -> None:
    table = with_bleu(measure_heads(translator.model, translator.tokenizer, PAIRS), translator, PAIRS)
    assert table.bleu is not None
    assert table.bleu.value == pytest.approx(corpus_bleu(USUAL))
    for head in table.heads:
        assert head.bleu is not None
        assert head.bleu.value == pytest.approx(corpus_bleu(WITHOUT) - corpus_bleu(USUAL))
        assert head.bleu.low < head.bleu.value < head.bleu.high
