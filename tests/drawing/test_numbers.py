import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from transformer_mt.drawing.numbers import Scale, format_weight
from transformer_mt.drawing.shading import Blocks, render_legend


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (0.0, ".00"),
        (0.004, ".00"),
        (0.42, ".42"),
        (0.994, ".99"),
        (0.996, "1.0"),
        (1.0000001, "1.0"),
        (4.2, "4.2"),
        (12.3, " 12"),
        (998.7, "999"),
        (-0.3, "-.3"),
        (-0.004, ".00"),
        (-0.006, "-.0"),
        (-0.04, "-.0"),
        (-0.97, " -1"),
        (-5.2, " -5"),
        (-98.7, "-99"),
        (math.nan, "nan"),
        (math.inf, "+oo"),
        (-math.inf, "-oo"),
    ],
)
def test_numbers_take_three_characters(weight: float, text: str) -> None:
    assert format_weight(weight) == text


@given(st.floats(-99.4, 999.4))
def test_a_number_is_within_half_of_its_last_digit(number: float) -> None:
    text = format_weight(number)
    assert len(text) == 3
    digits = len(text.strip().partition(".")[2])
    assert abs(float(text) - number) <= 0.5 * 10.0**-digits + 1e-9
    assert text.strip().startswith("-") == (number <= -0.005)


def test_shares_are_shaded_by_themselves_and_other_numbers_by_the_largest_of_all() -> None:
    shares: list[list[float | None]] = [[0.25, 0.75, None], [1.0, 0.0, 0.0]]
    assert Scale.of([shares]) == Scale(1.0, 1.0)
    assert Scale.of([shares, [[0.5, -3.0]]]) == Scale(3.0, 1.0)
    assert Scale.of([[[0.5, 0.75]]]) == Scale(0.75, 1.0)
    assert Scale.of([[[0.0, 0.0]]]) == Scale(1.0, 1.0)
    assert Scale.of([[[math.nan, -math.inf, 2.0]]]) == Scale(2.0, 1.0)


@pytest.mark.parametrize(("largest", "unit"), [(0.04, 0.01), (0.05, 1.0), (98.0, 1.0), (99.0, 10.0), (54321.0, 1e4)])
def test_numbers_that_three_characters_cannot_show_are_printed_in_a_unit(largest: float, unit: float) -> None:
    scale = Scale.of([[[largest, -largest]]])
    assert scale == Scale(largest, unit)
    shading = Blocks(scale=scale)
    assert shading.shaded(-largest).cell_len == 5
    assert float(shading.printed(largest)) * unit == pytest.approx(largest, rel=0.1)
    legend = " ".join(plain(render_legend(width=80, shading=shading, masked=False)))
    assert (f"in units of {unit:g}" in legend) == (unit != 1.0)
