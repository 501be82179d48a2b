"""Steps 2 to 4 of `links.align`, from attention weights to links, and the error rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from transformer_mt.corpus.pairs import Link, SentencePair
from transformer_mt.links.align import COLUMN, ROW, competing_shares, links_of, supported
from transformer_mt.links.counts import LinkCounts, count_links, gold_links

links = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)))
weights = arrays.arrays(np.float64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.floats(0, 1))


@pytest.mark.parametrize("shape", [(0, 1), (1, 0), (0, 0), (2, 3)])
def test_no_weights_yield_no_links(shape: tuple[int, int]) -> None:
    assert links_of(supported(competing_shares(np.zeros(shape)))) == set()


@given(weights)
def test_shares_follow_the_formula_and_sum_to_one(found: np.ndarray) -> None:
    numbers = competing_shares(found)
    for t, row in enumerate(found):
        raw = [weight / (sum(found[:, s]) + 0.2) for s, weight in enumerate(row)]
        assert numbers[t] == pytest.approx([one / sum(raw) if sum(raw) else 0.0 for one in raw])


def test_a_word_that_every_row_looks_at_explains_none() -> None:
    found = competing_shares(np.array([[0.6, 0.4, 0.0], [0.6, 0.0, 0.4], [0.9, 0.05, 0.05]]))
    assert found.argmax(axis=1).tolist() == [1, 2, 0]
    assert competing_shares(np.array([[0.2, 0.5, 0.3]])).argmax() == 1


def test_support_follows_the_formula() -> None:
    found = np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5], [0.0, 0.0]])
    raw = np.array([[0.7 + 0.06, 0.3], [0.4 + 0.05, 0.6 + 0.07], [0.5, 0.5 + 0.04], [0.0, 1.0]])
    np.testing.assert_allclose(supported(found)[:3], (raw / raw.sum(axis=1, keepdims=True))[:3])
    assert not supported(found)[3].any()


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]], {(0, 0), (2, 1), (1, 0)}),
        ([[0.6, 0.4], [0.9, 0.1]], {(0, 0), (0, 1), (1, 0)}),  # (0, 0) by its row
        (
            [[0.28, 0.24, 0.24, 0.24], [0.9, 0.05, 0.05, 0.0], [0.0, 0.2, 0.35, 0.45]],
            {(0, 1), (1, 0), (2, 2), (3, 2)},
        ),
        ([[0.5, 0.5], [0.4, 0.6]], {(0, 0), (1, 0), (1, 1)}),  # ties are all linked
    ],
)
def test_links_best_source_words_and_leftover_target_words(shares: list[list[float]], expected: set[Link]) -> None:
    assert links_of(np.array(shares)) == expected


@given(weights)
def test_links_are_the_largest_of_their_row_or_column(found: np.ndarray) -> None:
    links = links_of(found)
    for (t, s), share in np.ndenumerate(found):
        largest = share == max(found[t]) and share > ROW
        most = share == max(found[:, s]) and share > COLUMN * sum(found[:, s]) - 1e-12
        assert (s, t) not in links or largest or most
    assert {t for _, t in links} >= {t for t, row in enumerate(found) if max(row) > ROW}


@given(links, links)
def test_the_error_rate_is_one_minus_f1(a: frozenset[Link], s: frozenset[Link]) -> None:
    counts = count_links([a], [s])
    assert counts.error_rate == count_links([s], [a]).error_rate
    assert counts.error_rate == pytest.approx(1 - 2 * len(a & s) / (len(a) + len(s)) if a or s else 0.0)
    if a & s:
        assert (counts.precision, counts.recall) == (len(a & s) / len(a), len(a & s) / len(s))


def test_counts_add_up_and_no_links_are_perfect() -> None:
    total = count_links([{(0, 0), (1, 1)}, {(2, 2)}], [{(0, 0)}, {(2, 2), (3, 3), (4, 4)}])
    assert total == LinkCounts(right=2, predicted=3, gold=4)
    nothing = count_links([], [])
    assert (nothing.gold, nothing.precision, nothing.recall, nothing.error_rate) == (0, 1.0, 1.0, 0.0)


def test_links_of_punctuation_do_not_count() -> None:
    assert gold_links(SentencePair("Ja , das .", "Yes , it !", ((0, 0), (1, 2), (2, 1), (3, 3)))) == {(0, 0)}
