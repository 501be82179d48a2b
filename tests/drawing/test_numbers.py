import math

import pytest
from rich.text import Text

from transformer_mt.drawing.numbers import Scale
from transformer_mt.drawing.shading import Blocks, render_legend


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


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
