"""Intervals over sentences."""

import numpy as np
import pytest

from transformer_mt.intervals import RESAMPLES, Estimate, Resampling


def test_the_value_is_the_ratio_of_sums_and_not_the_mean_of_ratios() -> None:
    found = Resampling(3).estimate(np.array([2.0, 9.0, 1.0]), np.array([4.0, 10.0, 5.0]))
    assert found.value == pytest.approx(12 / 19)
    assert 0.2 <= found.low < found.value < found.high <= 0.9


def test_an_estimate_has_its_farther_margin_as_text() -> None:
    assert Estimate(0.5, 0.25, 0.625).text(2) == "0.50 ±0.25"
    assert Estimate(0.5, 0.375, 0.75).text(0, factor=100.0) == "50 ±25"


def test_what_every_sentence_says_is_certain() -> None:
    assert Resampling(7).estimate(np.full(7, 3.0), np.full(7, 2.0)) == Estimate(1.5, 1.5, 1.5)


def test_what_was_never_counted_is_not_known_and_draws_that_count_nothing_have_the_value_of_all() -> None:
    totals = np.array([[[0.0, 1.0, 0.0]]] * 4 + [[[0.0, 1.0, 2.0]]])
    [found] = Resampling(5).estimates(np.array([[[0.0, 0.0, 0.0]]] * 4 + [[[0.0, 0.0, 1.0]]]), totals)
    assert found == [None, Estimate(0.0, 0.0, 0.0), Estimate(0.5, 0.5, 0.5)]


def test_the_interval_of_a_mean_is_about_twice_its_standard_error() -> None:
    values = np.random.default_rng(3).normal(size=401)
    found = Resampling(401).estimate(values, np.ones_like(values))
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * values.std() / 401**0.5, rel=0.1)


def test_draws_are_always_the_same_and_have_as_many_sentences() -> None:
    counts = Resampling(11).counts
    assert counts.shape == (RESAMPLES, 11)
    assert (counts.sum(axis=1) == 11).all()
    assert (counts == Resampling(11).counts).all()
    assert len(np.unique(counts, axis=0)) > RESAMPLES / 2
