"""Step 1 to 4 of `links.align`: from attention weights to links, step by step, and how wrong links are."""

from collections.abc import Set as AbstractSet
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from transformer_mt.corpus.pairs import Link, SentencePair
from transformer_mt.links.align import COLUMN, ROW, linked, shares, supported
from transformer_mt.links.counts import LinkCounts, count_links, gold_links

links = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)))
weights = arrays.arrays(np.float64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.floats(0, 1))


def rate(predicted: AbstractSet[Link], gold: AbstractSet[Link]) -> float:
    return count_links([predicted], [gold]).error_rate


def cells(mask: np.ndarray) -> set[tuple[int, int]]:
    return set(zip(*map(np.ndarray.tolist, mask.nonzero()), strict=True))


@pytest.mark.parametrize("shape", [(0, 1), (1, 0), (0, 0)])
def test_without_words_there_are_no_links(shape: tuple[int, int]) -> None:
    assert not linked(supported(shares(np.zeros((2, *shape))))).any()


@given(weights)
def test_shares_are_those_of_the_formula_and_sum_to_one(found: np.ndarray) -> None:
    numbers = shares(found)
    for t, row in enumerate(found):
        raw = [weight / (sum(found[:, s]) + 0.2) for s, weight in enumerate(row)]
        assert numbers[t] == pytest.approx([one / sum(raw) if sum(raw) else 0.0 for one in raw])


def test_what_everybody_looks_at_explains_nobody() -> None:
    found = shares(np.array([[0.6, 0.4, 0.0], [0.6, 0.0, 0.4], [0.9, 0.05, 0.05]]))
    assert found.argmax(axis=1).tolist() == [1, 2, 0]


def test_the_only_word_of_a_target_still_sees_what_it_looks_at_most() -> None:
    assert shares(np.array([[0.2, 0.5, 0.3]])).argmax() == 1


def test_neighbours_that_are_linked_decide_between_equals() -> None:
    found = np.array([[0.8, 0.1, 0.1], [0.1, 0.45, 0.45], [0.1, 0.1, 0.8]])
    assert supported(found)[1].argmax() == 1
    np.testing.assert_allclose(supported(np.array([[0.5, 0.5]])), [[0.5, 0.5]])


def test_support_is_that_of_the_formula() -> None:
    found = np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5], [0.0, 0.0]])
    raw = [[0.7 + 0.06, 0.3], [0.4 + 0.05, 0.6 + 0.07], [0.5, 0.5 + 0.04]]
    np.testing.assert_allclose(supported(found), [*([one / sum(row) for one in row] for row in raw), [0.0, 0.0]])


def test_every_target_word_links_its_best_and_a_source_word_left_over_its_own() -> None:
    found = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    assert cells(linked(found)) == {(0, 0), (1, 2), (0, 1)}
    assert cells(linked(np.array([[0.6, 0.4], [0.9, 0.1]]))) == {(0, 0), (1, 0), (0, 1)}  # (0, 0) by its row alone
    even = np.array([[0.28, 0.24, 0.24, 0.24], [0.9, 0.05, 0.05, 0.0], [0.0, 0.2, 0.35, 0.45]])
    assert cells(linked(even)) == {(1, 0), (0, 1), (2, 2), (2, 3)}


def test_equal_words_are_linked_alike_and_nothing_without_weight() -> None:
    assert cells(linked(np.array([[0.5, 0.5], [0.4, 0.6]]))) == {(0, 0), (0, 1), (1, 1)}
    assert not linked(np.zeros((2, 3))).any()


@given(weights)
def test_links_are_the_largest_of_their_row_or_column(found: np.ndarray) -> None:
    mask = linked(found)
    for t, s in product(*map(range, found.shape)):
        largest = found[t, s] == max(found[t]) and found[t, s] > ROW
        most = found[t, s] == max(found[:, s]) and found[t, s] > COLUMN * sum(found[:, s]) - 1e-12
        assert not mask[t, s] or largest or most
    assert all(mask[t].any() for t in range(len(found)) if max(found[t]) > ROW)


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
    counts = count_links([a], [s])
    found = counts.error_rate
    assert 0.0 <= found <= 1.0
    assert found == rate(s, a)
    if a or s:
        sure = possible = sum(link in s for link in a)
        assert found == pytest.approx(1 - (sure + possible) / (len(a) + len(s)))
    if a & s:
        assert counts.precision == len(a & s) / len(a)
        assert counts.recall == len(a & s) / len(s)
        harmonic = 2 * counts.precision * counts.recall / (counts.precision + counts.recall)
        assert found == pytest.approx(1 - harmonic)


def test_counts_add_up_and_nothing_is_perfect() -> None:
    total = count_links([{(0, 0), (1, 1)}, {(2, 2)}], [{(0, 0)}, {(2, 2), (3, 3), (4, 4)}])
    assert total == LinkCounts(right=2, predicted=3, gold=4)
    nothing = count_links([], [])
    assert (nothing.gold, nothing.precision, nothing.recall) == (0, 1.0, 1.0)


def test_links_of_punctuation_do_not_count() -> None:
    assert gold_links(SentencePair("Ja , das .", "Yes , it !", ((0, 0), (1, 2), (2, 1), (3, 3)))) == {(0, 0)}
