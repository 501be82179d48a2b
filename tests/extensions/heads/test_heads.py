"""The head table, compared with figures computed word by word from single maps, and its text."""

import math
from collections import defaultdict

import numpy as np
import pytest
import torch

from transformer_mt.config.sections import AttentionConfig, TransformerConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.evaluation.intervals import Estimate
from transformer_mt.extensions.heads.heads import LOOKS, HeadFigures, HeadTable, entropy, head_lines, measure_heads
from transformer_mt.ground.head_names import HeadName
from transformer_mt.models.build_model import build_model
from transformer_mt.models.head_mask import head_names, without_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.maps import attend_pair

LINKS = ((0, 0), (1, 1), (2, 3))
PAIRS = [
    SentencePair("Der Mann liest.", "The man is reading.", LINKS),
    SentencePair("Die Kinder spielen!", "The children are playing!", LINKS),
    SentencePair("Kinder spielen!", "Children play!", ((0, 0), (1, 1))),
]
HEADS = (HeadName("encoder", 1, 2), HeadName("decoder", 3, 5), HeadName("cross", 2, 5))
MASKED = HeadName("cross", 2, 4)


@pytest.fixture(scope="module")
def measured(tokenizer: Tokenizer) -> tuple[Seq2Seq, HeadTable]:
    torch.manual_seed(7)
    attention = AttentionConfig(heads=5, head_mask=(str(MASKED),))
    config = TransformerConfig(width=35, encoder_layers=1, decoder_layers=3, attention=attention)
    model = build_model(config, vocabulary_size=tokenizer.size)
    return model, measure_heads(model, tokenizer, PAIRS)


def words_only(model: Seq2Seq, tokenizer: Tokenizer, pair: SentencePair, head: HeadName) -> list[list[float]]:
    """The head's matrix over words, with the symbol's column last and without its row."""
    maps = attend_pair(model, tokenizer, pair.source, pair.target).by_words().stacks[head.stack]
    rows = maps.weights[head.layer - 1, head.head - 1].tolist()[:-1]
    return [[*row[1:], row[0]] if head.stack == "decoder" else row for row in rows]


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_looks_match_word_by_word_computation(
    head: HeadName, measured: tuple[Seq2Seq, HeadTable], tokenizer: Tokenizer
) -> None:
    model, table = measured
    sums = defaultdict[str, list[float]](list)
    for pair in PAIRS:
        for i, row in enumerate(words_only(model, tokenizer, pair, head)):
            *words, symbol = row
            sums["distance"].append(sum(p * abs(j - i) for j, p in enumerate(words)))
            sums["words"].append(sum(words))
            sums["entropy"].append(-sum(p * math.log2(p) for p in row if p > 0))
            sums["symbol"].append(symbol)
            sums["punctuation"].append(words[-1])
            for look, j in (("previous", i - 1), ("same", i), ("next", i + 1)):
                sums[look].append(words[j] if 0 <= j < len(words) else 0.0)
            sums["aligned"] += [words[source] for source, target in pair.links or () if target == i]
    means = {look: np.mean(numbers) for look, numbers in sums.items()}
    means["distance"] /= means.pop("words")
    (found,) = (one for one in table.heads if one.head == head)
    if head.stack != "cross":
        assert found.aligned is None
        del means["aligned"]
    assert {look: getattr(found, look).value for look in means} == pytest.approx(means, abs=1e-5)


def test_entropy_includes_tokens_outside_words() -> None:
    weights = np.array([[[0.5, 0.25]]])  # on the word, on the symbol; the rest is on tokens outside words
    assert entropy(weights).tolist() == [1.5]


def test_turning_a_head_off_costs_the_loss_in_the_table(
    measured: tuple[Seq2Seq, HeadTable], tokenizer: Tokenizer
) -> None:
    model, table = measured
    assert [head.head for head in table.heads] == head_names(model)
    assert MASKED not in {head.head for head in table.heads}
    with without_heads(model, [HEADS[0]]):
        without = measure_heads(model, tokenizer, PAIRS).loss.value
    (found,) = (head.loss.value for head in table.heads if head.head == HEADS[0])
    assert found == pytest.approx(without - table.loss.value, abs=1e-5)


def estimate(value: float) -> Estimate:
    return Estimate(value, value - 0.25, value + 0.125)


def figures(stack: str, number: int, *, loss: float, gradient: float) -> HeadFigures:
    looks = {look: estimate(0.5 + place) for place, look in enumerate(LOOKS)}
    aligned = looks["aligned"] if stack == "cross" else None
    name = HeadName(stack, 1, number)
    return HeadFigures(name, **looks | {"aligned": aligned}, loss=estimate(loss), gradient=gradient)


SOME = (
    *(figures("decoder", number, loss=number / 8, gradient=1.0 - number / 4) for number in (1, 2)),
    *(figures("cross", number, loss=number / 2, gradient=number / 4) for number in (1, 3)),
)


TABLE = HeadTable(sentences=7, loss=estimate(1.5), heads=SOME)


def test_table_as_text() -> None:
    assert [*head_lines(TABLE, width=80)] == [
        "7 sentences, loss 1.500 ±0.250 nats per token",
        "entropy in bits, distance in words, weight in %; ± is the 95 % interval",
        "",
        "decoder self-attention: where each head looks",
        "head    entropy   distance  before    same   after  punct.     <s>",
        "1.1  0.50 ±0.25 1.50 ±0.25 250 ±25 350 ±25 450 ±25 650 ±25 750 ±25",
        "1.2  0.50 ±0.25 1.50 ±0.25 250 ±25 350 ±25 450 ±25 650 ±25 750 ±25",
        "",
        "cross-attention: where each head looks",
        "head    entropy   distance  before    same   after  linked  punct.    </s>",
        "1.1  0.50 ±0.25 1.50 ±0.25 250 ±25 350 ±25 450 ±25 550 ±25 650 ±25 750 ±25",
        "1.3  0.50 ±0.25 1.50 ±0.25 250 ±25 350 ±25 450 ±25 550 ±25 650 ±25 750 ±25",
        "",
        "loss without each head, most important first",
        "head          loss rises by  gradient",
        "cross.1.3    1.5000 ±0.2500      0.75",
        "cross.1.1    0.5000 ±0.2500      0.25",
        "decoder.1.2  0.2500 ±0.2500      0.50",
        "decoder.1.1  0.1250 ±0.2500      0.75",
        "tau of gradient and loss: all -0.18, decoder -1.00, cross 1.00",
    ]
