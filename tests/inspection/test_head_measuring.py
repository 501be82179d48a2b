"""What each head does, beside what single maps and single losses say."""

import math

import numpy as np
import pytest
import torch

from transformer_mt.config.sections import AttentionConfig, TransformerConfig
from transformer_mt.corpus.pairs import Node, SentencePair
from transformer_mt.inspection.head_measuring import measure_heads
from transformer_mt.inspection.head_table import LOOKS, HeadTable
from transformer_mt.inspection.maps import attend_pair
from transformer_mt.inspection.relations import instances
from transformer_mt.models.build import build_model
from transformer_mt.models.head_mask import head_names, mask_heads, without_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import HeadName
from transformer_mt.tokenizer.tokenizer import Tokenizer

GERMAN = (Node("DET", "det", 1), Node("NOUN", "nsubj", 2), Node("VERB", "root", -1), Node("PUNCT", "punct", 2))


ENGLISH = (
    *(Node("DET", "det", 1), Node("NOUN", "nsubj", 3), Node("AUX", "aux", 3), Node("VERB", "root", -1)),
    Node("PUNCT", "punct", 3),
)


LINKS = ((0, 0), (1, 1), (2, 3))


PAIRS = [
    SentencePair("Der Mann liest.", "The man is reading.", LINKS, structure=(GERMAN, ENGLISH)),
    SentencePair("Die Kinder spielen!", "The children are playing!", LINKS, structure=(GERMAN, ENGLISH)),
]


HEADS = (HeadName("encoder", 1, 2), HeadName("decoder", 3, 5), HeadName("cross", 2, 1))


@pytest.fixture(scope="module")
def measured(tokenizer: Tokenizer) -> tuple[Seq2Seq, HeadTable]:
    torch.manual_seed(7)
    config = TransformerConfig(width=35, encoder_layers=1, decoder_layers=3, attention=AttentionConfig(heads=5))
    model = build_model(config, vocabulary_size=tokenizer.size)
    mask_heads(model, [HeadName("cross", 2, 4)], key="test")
    return model, measure_heads(model, tokenizer, PAIRS)


def words_only(model: Seq2Seq, tokenizer: Tokenizer, pair: SentencePair, head: HeadName) -> list[list[float]]:
    """The head's matrix over words, the symbol's column last and its row left out."""
    maps = attend_pair(model, tokenizer, pair.source, pair.target).by_words().stacks[head.stack]
    rows = maps.weights[head.layer - 1, head.head - 1].tolist()[:-1]
    return [[*row[1:], row[0]] if head.stack == "decoder" else row for row in rows]


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_where_a_head_looks_is_what_its_words_say(
    head: HeadName, measured: tuple[Seq2Seq, HeadTable], tokenizer: Tokenizer
) -> None:
    model, table = measured
    sums: dict[str, list[float]] = {look: [] for look in LOOKS}
    for pair in PAIRS:
        for i, row in enumerate(words_only(model, tokenizer, pair, head)):
            words, symbol = row[:-1], row[-1]
            sums["entropy"].append(-sum(p * math.log2(p) for p in row if p > 0))
            sums["distance"].append(sum(p * abs(j - i) for j, p in enumerate(words)) / sum(words) if sum(words) else 0)
            sums["symbol"].append(symbol)
            sums["punctuation"].append(words[-1] if len(words) == (5 if head.stack == "decoder" else 4) else 0.0)
            for look, j in (("previous", i - 1), ("same", i), ("next", i + 1)):
                sums[look].append(words[j] if 0 <= j < len(words) else 0.0)
            sums["aligned"] += [words[source] for source, target in LINKS if target == i]
    (found,) = (one.looks for one in table.heads if one.name == head)
    for look in set(LOOKS) - {"distance", "aligned"}:
        assert found[look] is not None
        assert found[look].value == pytest.approx(np.mean(sums[look]), abs=1e-5), look  # type: ignore[union-attr]
    if head.stack == "cross":
        assert found["aligned"].value == pytest.approx(np.mean(sums["aligned"]), abs=1e-5)  # type: ignore[union-attr]
    else:
        assert found["aligned"] is None


def test_the_distance_is_that_of_the_weight_on_words(measured: tuple[Seq2Seq, HeadTable], tokenizer: Tokenizer) -> None:
    model, table = measured
    moved = weight = 0.0
    for pair in PAIRS:
        for i, row in enumerate(words_only(model, tokenizer, pair, HEADS[1])):
            moved += sum(p * abs(j - i) for j, p in enumerate(row[:-1]))
            weight += sum(row[:-1])
    (found,) = (one.looks["distance"] for one in table.heads if one.name == HEADS[1])
    assert found is not None
    assert found.value == pytest.approx(moved / weight, abs=1e-5)


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_a_relation_is_found_where_the_heaviest_other_word_is_the_true_one(
    head: HeadName, measured: tuple[Seq2Seq, HeadTable], tokenizer: Tokenizer
) -> None:
    model, table = measured
    hits: dict[tuple[str, str], list[bool]] = {}
    for pair in PAIRS:
        rows = words_only(model, tokenizer, pair, head)
        for case in instances(pair, head.stack):
            own = {s for s, t in LINKS if t == case.row} if head.stack == "cross" else {case.row}
            others = {j: p for j, p in enumerate(rows[case.row][:-1]) if j not in own}
            hits.setdefault(case.kind, []).append(max(others, key=lambda j: others[j]) == case.column)
    relations = {one.kind: one for one in table.relations if one.stack == head.stack}
    assert set(relations) == set(hits)
    for kind, found in hits.items():
        assert relations[kind].count == len(found)  # type: ignore[index]
        assert relations[kind].found[head].value == pytest.approx(np.mean(found))  # type: ignore[index]


def test_the_baseline_is_the_commonest_offset(measured: tuple[Seq2Seq, HeadTable]) -> None:
    _, table = measured
    offsets = {one.kind: (one.offset, one.baseline.value) for one in table.relations if one.stack == "encoder"}
    assert offsets[("nsubj", "head")] == (1, 1.0)  # type: ignore[index]
    assert offsets[("det", "dependent")] == (-1, 1.0)  # type: ignore[index]


def test_a_head_that_is_switched_off_costs_what_the_table_says(
    measured: tuple[Seq2Seq, HeadTable], tokenizer: Tokenizer
) -> None:
    model, table = measured
    assert [head.name for head in table.heads] == head_names(model)
    assert HeadName("cross", 2, 4) not in {head.name for head in table.heads}
    with without_heads(model, [HEADS[0]]):
        without = measure_heads(model, tokenizer, PAIRS).loss.value
    (found,) = (head.loss.value for head in table.heads if head.name == HEADS[0])
    assert found == pytest.approx(without - table.loss.value, abs=1e-5)
