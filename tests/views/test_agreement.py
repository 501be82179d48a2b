"""Rank correlation of rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.views.agreement import compare_rows, kendall

rows = st.lists(st.sampled_from([0.0, 1.0, 2.0, math.nan]), min_size=5, max_size=5)


def by_pairs(first: list[float], second: list[float]) -> float:
    """Kendall's τ_b from the signs of all pairs of columns."""
    both = np.array([first, second])
    x, y = both[:, ~np.isnan(both.sum(axis=0))]
    one, other = np.sign(np.subtract.outer(x, x)), np.sign(np.subtract.outer(y, y))
    with np.errstate(invalid="ignore"):  # 0 / 0 for a constant row
        return float((one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum()))


@given(first=rows, second=rows)
def test_kendall_counts_concordant_and_discordant_pairs(first: list[float], second: list[float]) -> None:
    found = kendall(np.array([first, second]), np.array([second, second]))
    assert found == pytest.approx([by_pairs(first, second), by_pairs(second, second)], nan_ok=True)


def test_rows_without_tau_are_ignored() -> None:
    first = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [2.0, 3.0, 1.0]])
    second = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])
    assert compare_rows(first, second) == pytest.approx(((1.0 + 1.0 / 3.0) / 2.0, 1.0))
    assert compare_rows(first[1:2], second[1:2]) is compare_rows(first[:, :1], second[:, :1]) is None
    # `first` compares only columns with numbers in both.
    first = np.array([[9.0, 2.0, 3.0, np.nan], [5.0, 6.0, 7.0, np.nan]])
    found = compare_rows(first, np.array([[1.0, 2.0, 3.0, np.nan], [-3.0, -2.0, -1.0, np.nan]]))
    assert found[1] == 0.5
