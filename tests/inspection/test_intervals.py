"""Intervals over sentences."""

import numpy as np
import pytest

from transformer_mt.inspection.intervals import RESAMPLES, Estimate, Resampling, estimate, sure


def test_the_value_is_the_ratio_of_sums_and_not_the_mean_of_ratios() -> None:
    sums, counts = np.array([[2.0], [9.0], [1.0]]), np.array([[4.0], [10.0], [5.0]])
    found = sure(Resampling(3).ratios(sums, counts)[:, 0])
    assert found.value == pytest.approx(12 / 19)
    assert 0.2 <= found.low < found.value < found.high <= 0.9
    assert found.margin == max(found.high - found.value, found.value - found.low)


def test_what_every_sentence_says_is_certain() -> None:
    found = sure(Resampling(7).ratios(np.full((7, 1), 3.0), np.full((7, 1), 2.0))[:, 0])
    assert (found.value, found.low, found.high) == (1.5, 1.5, 1.5)


def test_what_was_never_counted_is_not_known() -> None:
    found = Resampling(5).ratios(np.zeros((5, 2)), np.array([[0.0, 1.0]] * 5))
    assert estimate(found[:, 0]) is None
    assert estimate(found[:, 1]) == Estimate(0.0, 0.0, 0.0)


def test_the_interval_of_a_mean_is_about_twice_its_standard_error() -> None:
    values = np.random.default_rng(3).normal(size=(401, 1))
    found = sure(Resampling(401).ratios(values, np.ones_like(values))[:, 0])
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * values.std() / 401**0.5, rel=0.1)


def test_draws_are_always_the_same_and_have_as_many_sentences() -> None:
    counts = Resampling(11).counts
    assert counts.shape == (RESAMPLES, 11)
    assert (counts.sum(axis=1) == 11).all()
    assert (counts == Resampling(11).counts).all()
    assert len(np.unique(counts, axis=0)) > RESAMPLES / 2
