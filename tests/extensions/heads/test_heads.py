"""The head table, compared with figures computed word by word from single maps, and its text."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.engines import translator_of

from transformer_mt.config.sections import AttentionConfig, TransformerConfig
from transformer_mt.corpus.pairs import Node, SentencePair
from transformer_mt.evaluation import Interval
from transformer_mt.extensions.heads.heads import (
    CASES,
    LOOKS,
    HeadFigures,
    HeadTable,
    Instance,
    RelationFigures,
    _commonest,
    _Stack,
    head_lines,
    instances,
    measure_heads,
)
from transformer_mt.head_names import HeadName
from transformer_mt.intervals import Estimate
from transformer_mt.models.build_model import build_model
from transformer_mt.models.head_mask import head_names, without_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.maps import attend_pair

GERMAN = (Node("DET", "det", 1), Node("NOUN", "nsubj", 2), Node("VERB", "root", -1), Node("PUNCT", "punct", 2))
ENGLISH = (
    *(Node("DET", "det", 1), Node("NOUN", "nsubj", 3), Node("AUX", "aux", 3), Node("VERB", "root", -1)),
    Node("PUNCT", "punct", 3),
)
LINKS = ((0, 0), (1, 1), (2, 3))
SHORT = (Node("NOUN", "nsubj", 1), Node("VERB", "root", -1), Node("PUNCT", "punct", 1))
PAIRS = [
    SentencePair("Der Mann liest.", "The man is reading.", LINKS, structure=(GERMAN, ENGLISH)),
    SentencePair("Die Kinder spielen!", "The children are playing!", LINKS, structure=(GERMAN, ENGLISH)),
    SentencePair("Kinder spielen!", "Children play!", ((0, 0), (1, 1)), structure=(SHORT, SHORT)),
]
HEADS = (HeadName("encoder", 1, 2), HeadName("decoder", 3, 5), HeadName("cross", 2, 5))
MASKED = HeadName("cross", 2, 4)


@pytest.fixture(scope="module")
def measured(tokenizer: Tokenizer) -> tuple[Seq2Seq, HeadTable]:
    torch.manual_seed(7)
    attention = AttentionConfig(heads=5, head_mask=(str(MASKED),))
    config = TransformerConfig(width=35, encoder_layers=1, decoder_layers=3, attention=attention)
    model = build_model(config, vocabulary_size=tokenizer.size)
    return model, measure_heads(translator_of(model, tokenizer), PAIRS)


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
    sums: dict[str, list[float]] = {look: [] for look in LOOKS}
    moved = weight = 0.0
    for pair in PAIRS:
        for i, row in enumerate(words_only(model, tokenizer, pair, head)):
            words, symbol = row[:-1], row[-1]
            moved += sum(p * abs(j - i) for j, p in enumerate(words))
            weight += sum(words)
            sums["entropy"].append(-sum(p * math.log2(p) for p in row if p > 0))
            sums["symbol"].append(symbol)
            sums["punctuation"].append(words[-1])
            for look, j in (("previous", i - 1), ("same", i), ("next", i + 1)):
                sums[look].append(words[j] if 0 <= j < len(words) else 0.0)
            sums["aligned"] += [words[source] for source, target in pair.links or () if target == i]
    (found,) = (one for one in table.heads if one.head == head)
    assert found.distance.value == pytest.approx(moved / weight, abs=1e-5)
    for look in set(LOOKS) - {"distance", *(() if head.stack == "cross" else ("aligned",))}:
        assert getattr(found, look).value == pytest.approx(np.mean(sums[look]), abs=1e-5), look
    assert (found.aligned is None) == (head.stack != "cross")


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_relation_is_found_by_the_word_with_the_most_weight(
    head: HeadName, measured: tuple[Seq2Seq, HeadTable], tokenizer: Tokenizer
) -> None:
    model, table = measured
    hits: dict[tuple[str, str], list[bool]] = {}
    for pair in PAIRS:
        rows = words_only(model, tokenizer, pair, head)
        for case in instances(pair, head.stack):
            own = {s for s, t in pair.links or () if t == case.row} if head.stack == "cross" else {case.row}
            others = {j: p for j, p in enumerate(rows[case.row][:-1]) if j not in own}
            hits.setdefault(case.kind, []).append(max(others, key=lambda j: others[j]) == case.column)
    relations = {(one.relation, one.looked_for): one for one in table.relations if one.stack == head.stack}
    assert set(relations) == set(hits)
    for kind, found in hits.items():
        assert relations[kind].count == len(found)
        assert relations[kind].found[head].value == pytest.approx(np.mean(found))
        shares = {name: share.value for name, share in relations[kind].found.items()}
        assert shares[relations[kind].best] == max(shares.values())
    counts = [one.count for one in table.relations if one.stack == head.stack]
    assert counts == sorted(counts, reverse=True)


def test_baseline_is_the_most_frequent_offset(measured: tuple[Seq2Seq, HeadTable]) -> None:
    _, table = measured
    encoder = [one for one in table.relations if one.stack == "encoder"]
    offsets = {(one.relation, one.looked_for): (one.offset, one.baseline.value) for one in encoder}
    assert offsets["nsubj", "head"] == (1, 1.0)
    assert offsets["det", "dependent"] == (-1, 1.0)


def test_entropy_includes_tokens_outside_words() -> None:
    stack = _Stack("encoder", [HeadName("encoder", 1, 1)], [SentencePair("a", "b")])
    stack.add(0, np.array([[[0.5, 0.25]]]))  # on the word, on the symbol; the rest is on tokens outside words
    assert stack.sums[0, 0, 0] == 1.5


def test_baseline_prefers_the_nearest_of_equally_frequent_offsets() -> None:
    assert _commonest(Counter([-2, 1, -1])) == -1
    assert _commonest(Counter([3, 3, 1])) == 3


def test_turning_a_head_off_costs_the_loss_in_the_table(
    measured: tuple[Seq2Seq, HeadTable], tokenizer: Tokenizer
) -> None:
    model, table = measured
    assert [head.head for head in table.heads] == head_names(model)
    assert MASKED not in {head.head for head in table.heads}
    with without_heads(model, [HEADS[0]]):
        without = measure_heads(translator_of(model, tokenizer), PAIRS).loss.value
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


def relation(name: str, looked_for: str, *shares: float, baseline: float, count: int = CASES) -> RelationFigures:
    """A relation with these shares found by the cross-attention heads."""
    found = {one.head: estimate(share) for one, share in zip(SOME[2:], shares, strict=True)}
    best = max(found, key=lambda head: found[head].value)
    return RelationFigures("cross", name, looked_for, count, -1, estimate(baseline), best, found)


TABLE = HeadTable(
    sentences=7,
    loss=estimate(1.5),
    bleu=None,
    heads=SOME,
    relations=(
        relation("nsubj", "head", 0.25, 0.5, baseline=0.375),
        relation("nsubj", "dependent", 0.75, 0.5, baseline=0.25),
        relation("det", "head", 0.25, 0.25, baseline=0.5, count=CASES - 1),
    ),
)


def test_table_as_text() -> None:
    assert [*head_lines(TABLE, width=80)] == [
        "7 sentences, loss 1.500 ±0.250 nats per token",
        "± is the 95 % interval over sentences",
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
        "",
        "cross-attention: which head finds a relation best",
        "relation               cases  head  found, %  at a fixed offset, %",
        "nsubj → its dependent     20   1.1    75 ±25                25 ±25  at -1",
    ]


def test_table_with_bleu() -> None:
    heads = tuple(replace(one, bleu=Interval(43.5, 43.0, 0.5, 0.25)) for one in TABLE.heads)
    lines = [*head_lines(replace(TABLE, heads=heads, bleu=Interval(44.0, 43.9, 0.25, None)), width=80)]
    assert lines[0] == "7 sentences, loss 1.500 ±0.250 nats per token, BLEU 44.00 ±0.25"
    (first,) = (number for number, line in enumerate(lines) if line.endswith("BLEU changes by"))
    assert lines[first + 1].split() == ["cross.1.3", "1.5000", "±0.2500", "0.75", "-0.50,", "p", "=", "0.250"]


@pytest.mark.parametrize("relations", [(), TABLE.relations[2:]])
def test_relations_with_few_cases_are_left_out(relations: tuple[RelationFigures, ...]) -> None:
    text = "\n".join(head_lines(replace(TABLE, relations=relations), width=80))
    assert "relation" not in text
    assert "baseline" not in text


# Instances of relations

# „Ich sehe den Hund, der bellt." and "I see the barking dog."; no punctuation here.
READ = (
    Node("PRON", "nsubj", 1),
    Node("VERB", "root", -1),
    Node("DET", "det", 3),
    Node("NOUN", "obj", 1),
    Node("PRON", "nsubj", 5, antecedent=3),
    Node("VERB", "acl:relcl", 3),
)
WRITTEN = (
    Node("PRON", "nsubj", 1),
    Node("VERB", "root", -1),
    Node("DET", "det", 4),
    Node("ADJ", "amod", 4),
    Node("NOUN", "obj", 1),
)
LINKED = ((0, 0), (1, 1), (2, 2), (3, 4), (4, 3), (5, 3))
STRUCTURED = SentencePair("Ich sehe den Hund der bellt", "I see the barking dog", LINKED, structure=(READ, WRITTEN))


def found(stack: str, relation: str) -> set[tuple[str, int, int, int]]:
    return {(one.kind[1], *one[1:]) for one in instances(STRUCTURED, stack) if one.kind[0] == relation}


def test_encoder_has_both_ends_of_every_relation() -> None:
    assert found("encoder", "det") == {("head", 2, 3, 1), ("dependent", 3, 2, -1)}
    assert found("encoder", "obj") == {("head", 3, 1, -2), ("dependent", 1, 3, 2)}
    assert not found("encoder", "root")
    assert len(list(instances(STRUCTURED, "encoder"))) == 12


def test_pronoun_has_an_antecedent() -> None:
    assert found("encoder", "antecedent") == {("head", 4, 3, -1), ("dependent", 3, 4, 1)}


def test_decoder_has_only_relations_to_earlier_words() -> None:
    assert found("decoder", "det") == {("dependent", 4, 2, -2)}
    assert found("decoder", "obj") == {("head", 4, 1, -3)}
    assert len(list(instances(STRUCTURED, "decoder"))) == 4


def test_cross_attention_uses_the_linked_source_word() -> None:
    assert found("cross", "obj") == {("head", 4, 1, -2), ("dependent", 1, 3, 2)}
    # „der" is linked with the word that „bellt" is linked with.
    assert found("cross", "nsubj") == {("head", 0, 1, 1), ("dependent", 1, 0, -1)}
    assert found("cross", "acl:relcl") == {("head", 3, 3, -2), ("dependent", 4, 5, 2)}


def test_no_trees_give_no_instances() -> None:
    assert list(instances(SentencePair("a", "b", ((0, 0),)), "cross")) == []
    assert Instance(("det", "head"), 2, 3, 1) in list(instances(STRUCTURED, "encoder"))


def test_word_may_depend_on_the_first_word() -> None:
    tree = (Node("VERB", "root", -1), Node("NOUN", "obj", 0))
    assert (("obj", "head"), 1, 0, -1) in list(instances(SentencePair("a b", "c d", structure=(tree, tree)), "encoder"))
