"""Alignments from attention, and their error rate."""

import math
from collections.abc import Set as AbstractSet
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from transformer_mt.corpus.pairs import Link, SentencePair
from transformer_mt.inspection.alignment import (
    NO_WORD,
    alignment_error_rate,
    alignments,
    head_error_rates,
    piece_words,
)
from transformer_mt.inspection.maps import attend_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer import Tokenizer

links = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)))

PAIRS = [
    SentencePair(
        "Der alte Mann liest ein gutes Buch.",
        "The old man is reading a good book.",
        ((0, 0), (1, 1), (2, 2), (3, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8)),
    ),
    SentencePair("Kannst du mir helfen?", "Can you help me?", ((0, 0), (1, 1), (2, 3), (3, 2), (4, 4))),
    SentencePair("Ich spielen.", "I think.", None),
]


def links_of(weights: Tensor, source_words: list[int], target_words: list[int]) -> frozenset[Link]:
    (found,) = alignments(weights[None], source_words, target_words)
    return found


def rate(predicted: AbstractSet[Link], gold: AbstractSet[Link]) -> float:
    return alignment_error_rate(len(predicted & gold), len(predicted), len(gold))


def test_a_target_word_is_linked_to_the_word_it_attends_to_most() -> None:
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]])
    assert links_of(weights, [0, 1, 2], [0, 1]) == {(1, 0), (0, 1)}


def test_a_source_word_gets_the_sum_of_its_pieces() -> None:
    weights = torch.tensor([[0.4, 0.3, 0.3]])
    assert links_of(weights, [0, 1, 1], [0]) == {(1, 0)}


def test_a_target_word_gets_the_mean_of_its_pieces() -> None:
    weights = torch.tensor([[0.6, 0.4], [0.3, 0.7], [0.9, 0.1]])
    assert links_of(weights, [0, 1], [0, 0, 1]) == {(1, 0), (0, 1)}


def test_pieces_of_no_word_neither_have_nor_get_links() -> None:
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.9, 0.1, 0.0]])
    assert links_of(weights, [0, 1, NO_WORD], [0, NO_WORD]) == {(1, 0)}


def test_the_first_of_equal_words_wins_and_without_weight_there_is_no_link() -> None:
    weights = torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0]])
    assert links_of(weights, [0, 1, 2, NO_WORD], [0, 1]) == {(0, 0)}


@pytest.mark.parametrize(("sources", "targets"), [([NO_WORD], [0]), ([0], [NO_WORD]), ([NO_WORD], [NO_WORD])])
def test_without_words_there_are_no_links(sources: list[int], targets: list[int]) -> None:
    assert links_of(torch.ones(1, 1), sources, targets) == frozenset()


@given(st.data())
def test_alignment_equals_its_definition(data: st.DataObject) -> None:
    queries, keys = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 7))
    word = st.integers(NO_WORD, 3)
    target_words = data.draw(st.lists(word, min_size=queries, max_size=queries))
    source_words = data.draw(st.lists(word, min_size=keys, max_size=keys))
    numbers = data.draw(st.lists(st.floats(0.01, 1), min_size=queries * keys, max_size=queries * keys))
    weights = torch.tensor(numbers).view(queries, keys).softmax(dim=-1)

    def mass(source: int, target: int) -> float:
        rows = [i for i in range(queries) if target_words[i] == target]
        columns = [j for j in range(keys) if source_words[j] == source]
        return sum(float(weights[i, j]) for i, j in product(rows, columns)) / len(rows)

    sources, targets = sorted({*source_words} - {NO_WORD}), {*target_words} - {NO_WORD}
    found = links_of(weights, source_words, target_words)
    assert {target for _, target in found} == (targets if sources else set())
    assert len(found) == (len(targets) if sources else 0)
    for source, target in found:
        assert mass(source, target) >= max(mass(other, target) for other in sources) - 1e-6


def test_error_rate_by_hand() -> None:
    gold = {(0, 0), (1, 1), (2, 2), (3, 2)}
    assert rate(gold, gold) == 0.0
    assert rate({(0, 1), (1, 0)}, gold) == 1.0
    assert rate({(0, 0), (1, 1), (2, 3)}, gold) == pytest.approx(1 - 4 / 7)
    assert rate(set(), gold) == 1.0
    assert rate(gold, set()) == 1.0
    assert rate(set(), set()) == 0.0


@given(links, links)
def test_error_rate_is_that_of_och_and_ney_and_one_minus_f1(
    a: frozenset[tuple[int, int]], s: frozenset[tuple[int, int]]
) -> None:
    found = rate(a, s)
    assert 0.0 <= found <= 1.0
    assert found == rate(s, a)
    if a or s:
        sure = possible = sum(link in s for link in a)
        assert found == pytest.approx(1 - (sure + possible) / (len(a) + len(s)))
    if a & s:
        precision, recall = len(a & s) / len(a), len(a & s) / len(s)
        assert found == pytest.approx(1 - 2 * precision * recall / (precision + recall))


def test_pieces_know_their_words_and_punctuation_is_none(tokenizer: Tokenizer) -> None:
    text = "Kannst du mir helfen, diesen Satz zu übersetzen?"
    belongs = piece_words(tokenizer, text)
    assert len(belongs) == len(tokenizer.encode(text)) + 1
    assert belongs[-1] == NO_WORD
    assert sorted(set(belongs)) == [NO_WORD, 0, 1, 2, 3, 5, 6, 7, 8]


def test_head_error_rates_are_those_of_each_pair_alone_summed_up(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    model.train()
    rates = head_error_rates(model, tokenizer, PAIRS)
    assert model.training
    assert (len(rates), len(rates[0])) == (3, 5)
    for layer, head in product(range(3), range(5)):
        right = total = 0
        for pair in PAIRS[:2]:
            cross = attend_pair(model, tokenizer, pair.source, pair.target).stacks["cross"]
            source_words, target_words = piece_words(tokenizer, pair.source), piece_words(tokenizer, pair.target)
            found = links_of(cross.weights[layer, head], source_words, target_words)
            gold = set(pair.links or ()) - {(7, 8), (4, 4)}  # the full stop and the question mark
            right, total = right + len(found & gold), total + len(found) + len(gold)
        assert rates[layer][head] == pytest.approx(1 - 2 * right / total)


def test_pairs_without_links_have_no_error_rate(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    assert head_error_rates(model, tokenizer, PAIRS[2:]) == []
    assert head_error_rates(model, tokenizer, []) == []


def test_a_diagonal_head_aligns_a_diagonal_pair_without_error() -> None:
    size = 6
    gold = {(i, i) for i in range(size)}
    found = links_of(torch.eye(size), list(range(size)), list(range(size)))
    assert math.isclose(rate(found, gold), 0.0)


def test_links_are_those_of_the_pair_also_behind_pairs_that_are_left_out(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    too_long = SentencePair("das Buch " * 40, "the book " * 40, ((0, 0),))
    expected = head_error_rates(model, tokenizer, PAIRS[:2])
    assert head_error_rates(model, tokenizer, [PAIRS[2], *PAIRS[:2]]) == expected
    assert head_error_rates(model, tokenizer, [too_long, *PAIRS[:2]]) == expected
