"""Bootstrap intervals over sentences."""

import numpy as np
import pytest

from transformer_mt.evaluation.intervals import RESAMPLES, Estimate, draw_counts, estimate, estimates


def test_the_value_is_the_ratio_of_sums() -> None:
    found = estimate(np.array([2.0, 9.0, 1.0]), np.array([4.0, 10.0, 5.0]))
    assert found.value == pytest.approx(12 / 19)
    assert 0.2 <= found.low < found.value < found.high <= 0.9


def test_text_shows_the_larger_margin() -> None:
    assert Estimate(0.5, 0.25, 0.625).text(2) == "0.50 ±0.25"
    assert Estimate(0.5, 0.375, 0.75).text(0, factor=100.0) == "50 ±25"


def test_a_total_of_zero_has_no_estimate_and_an_empty_draw_takes_the_value() -> None:
    sums, totals = np.zeros((5, 1, 4)), np.zeros((5, 1, 4))
    totals[:, 0, 1], totals[4, 0, 2], sums[4, 0, 2], sums[:, 0, 3], totals[:, 0, 3] = 1.0, 2.0, 1.0, 3.0, 2.0
    certain = [Estimate(value, value, value) for value in (0.0, 0.5, 1.5)]
    assert estimates(sums, totals) == [[None, *certain]]


def test_the_interval_of_a_mean_is_about_two_standard_errors() -> None:
    values = np.random.default_rng(3).normal(size=401)
    found = estimate(values, np.ones_like(values))
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * values.std() / 401**0.5, rel=0.1)


def test_draws_are_reproducible_and_full_size() -> None:
    counts = draw_counts(11)
    draw_counts.cache_clear()
    assert (counts == draw_counts(11)).all()
    assert counts.shape == (RESAMPLES, 11)
    assert (counts.sum(axis=1) == 11).all()
    assert len(np.unique(counts, axis=0)) > RESAMPLES / 2
