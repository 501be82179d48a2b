import math
from collections.abc import Iterator

import pytest
import torch
from support.engines import translator_of
from support.sentences import SENTENCES, small_tokenizer
from support.tiny import varied_model
from support.variants import REPRESENTATIVES, Variant
from torch import Tensor

from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.errors import InputError
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.translation.scoring import numbers, score_pairs
from transformer_mt.translation.translator import Translator

TOKENIZER = small_tokenizer()
PAIRS = [
    *(SentencePair(*pair) for pair in zip(SENTENCES[::2], SENTENCES[1::2], strict=True)),
    SentencePair("Ja.", "The old man is reading a good book."),
    SentencePair("", "Can"),
    SentencePair("Der alte Mann", ""),
]


def by_hand(model: Seq2Seq, pair: SentencePair) -> Tensor:
    """ln p of each token, one sentence at a time, from the logits in float64."""
    source, target = (TOKENIZER.encode(text) for text in (pair.source, pair.target))
    logits = model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]))[0].double()
    return torch.stack([row[token] - row.exp().sum().log() for row, token in zip(logits, [*target, EOS], strict=True)])


@pytest.mark.parametrize("overrides", REPRESENTATIVES, ids=str)
def test_log_probabilities_match_the_logits(overrides: Variant) -> None:
    model = varied_model(*overrides, vocabulary=TOKENIZER.size)
    found = list(score_pairs(model, TOKENIZER, PAIRS))
    total = 0.0
    for pair, score in zip(PAIRS, found, strict=True):
        with torch.no_grad():
            expected = by_hand(model, pair)
        assert score.pieces == (*TOKENIZER.pieces(TOKENIZER.encode(pair.target)), "</s>")
        assert score.log_probabilities == pytest.approx(expected.tolist(), rel=1e-4, abs=1e-4)
        assert score.log_probability == pytest.approx(float(expected.sum()), rel=1e-5)
        total += float(expected.sum())
    tokens = sum(len(score.pieces) for score in found)
    ours = numbers(sum(score.log_probability for score in found), tokens)["perplexity"]
    assert math.log(ours) == pytest.approx(-total / tokens, rel=2e-6)


def translator() -> Translator:
    model = varied_model("model.max_length=200", vocabulary=TOKENIZER.size)
    return translator_of(model, TOKENIZER)


def test_error_names_a_pair_that_is_too_long() -> None:
    for pair in (("Ja. " * 99, "Yes."), ("Ja.", "Yes. " * 99)):
        with pytest.raises(InputError, match=r"^pair 3: \d+ tokens, the model takes at most 200; split it$"):
            translator().score([SentencePair("Ja.", "Can"), SentencePair("Ja.", "Can"), SentencePair(*pair)])


def test_pairs_are_read_lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.translation.scoring._READ_AHEAD", 2)
    read: list[int] = []

    def pairs() -> Iterator[SentencePair]:
        for number in range(6):
            read.append(number)
            yield PAIRS[number]

    model = translator().model.network
    scores = score_pairs(model, TOKENIZER, pairs())
    first = next(scores)
    assert read == [0, 1]
    assert [first, *scores] == [*score_pairs(model, TOKENIZER, PAIRS)]


def test_perplexity_is_infinite_on_overflow() -> None:
    assert numbers(-1e6, 1)["perplexity"] == math.inf
    assert numbers(-2 * math.log(3), 2)["perplexity"] == pytest.approx(3)
