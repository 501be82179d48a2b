"""Matrices as text: complete, within the width, and escaped."""

import io
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.console import Console
from rich.text import Text

from transformer_mt.text.terminal import escape_controls
from transformer_mt.views.matrix import (
    CELL,
    NARROWEST,
    Blocks,
    Colours,
    LabelledMatrix,
    Scale,
    legend,
    matrix_lines,
    shading_for,
)
from transformer_mt.views.rendering import format_weight

NAN = math.nan
HOSTILE = ["[red]x[/red]", ":smile:", "\x1b[2J", "a\nb\rc", "\u202egnol", "日本語", "e\u0301", "\u0301", "👍🏽", "", "‍"]
# No digits or dots: they would look like numbers.
labels = st.one_of(
    st.text(st.characters(exclude_categories=["N"], exclude_characters=".·│"), max_size=30), st.sampled_from(HOSTILE)
)
every_shading = pytest.mark.parametrize("shading", [Blocks(), Colours()])


def matrix(
    numbers: Any, rows: Sequence[str], columns: Sequence[str], *, title: str = "t", name: str = ""
) -> LabelledMatrix:
    return LabelledMatrix(
        "", title, name, np.array(numbers, float).reshape(-1, len(columns)), tuple(rows), tuple(columns)
    )


@st.composite
def sides_and_numbers(draw: st.DrawFn) -> tuple[list[float], list[str], list[str]]:
    rows = draw(st.lists(labels, min_size=1, max_size=5))
    columns = draw(st.lists(labels, min_size=1, max_size=17))
    size = len(rows) * len(columns)
    return draw(st.lists(st.one_of(st.just(NAN), st.floats(0, 1)), min_size=size, max_size=size)), rows, columns


def lines_of(*of: LabelledMatrix, width: int = 80, shading: Blocks | None = None, compact: bool = False) -> list[str]:
    return [line.plain for line in matrix_lines(of, width=width, shading=shading or Blocks(), compact=compact)]


def printed(lines: list[Text], console: Console) -> str:
    for line in lines:
        console.print(line)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@every_shading
@given(drawn=sides_and_numbers(), width=st.integers(NARROWEST, 130))
def test_lines_fit_and_lose_nothing(
    shading: Blocks, drawn: tuple[list[float], list[str], list[str]], width: int
) -> None:
    example = matrix(*drawn, title="a title")
    lines = lines_of(example, width=width, shading=shading)
    found = [numbers for line in lines if (numbers := re.findall(r"\.\d\d|1\.0|·", line))]
    for i, row in enumerate(example.numbers):
        across = [number for block in found[i :: len(example.rows)] for number in block]
        assert across == ["·" if math.isnan(weight) else format_weight(weight) for weight in row]
    for shown in (lines, lines_of(example, example, width=width, shading=shading, compact=True)):
        assert max(map(cell_len, shown)) <= width
        text = "".join(shown)
        assert not set(text) & {"\x1b", "\r", "\n", "\u202e", "\x07"}
        for label in map(escape_controls, example.rows + example.columns):
            assert all(text.count(character) >= label.count(character) for character in label)
    console = Console(file=io.StringIO(), width=width)
    on_console = printed(matrix_lines([example], width=width, shading=shading), console).split("\n")
    assert [line.rstrip() for line in on_console[:-1]] == [line.rstrip() for line in lines]


@pytest.mark.parametrize(
    ("of", "width", "expected"),
    [
        (
            matrix([0.75, 0.2, 0.05, 0.004, 0.996, NAN], ["▁Can", "▁you"], ["▁Kannst", "▁du", "</s>"]),
            80,
            ["t", "      ▁Kannst", "      │    ▁du  </s>", "▁Can █.75 ░.20 ░.05", "▁you  .00 █1.0  ·"],
        ),
        (  # columns that do not fit make equal blocks
            matrix([0.2] * 5, "a", "bcdef"),
            24,
            [
                *("t", "", "columns 1–2 of 5", "   b    c", "a ░.20 ░.20"),
                *("", "columns 3–5 of 5", "   d    e    f", "a ░.20 ░.20 ░.20"),
            ],
        ),
        (  # long labels are folded
            matrix([0.6], ["Donaudampfschiff"], ["Rindfleischetikettierung"], title="one two three four five"),
            20,
            [
                *("one two three four", "five", "        Rindfleische", "        tikettierung"),
                *("Donaud ▓.60", "ampfsc", "  hiff"),
            ],
        ),
        (matrix([0.5] * 2, ["日本"], ["日本語", "x"]), 40, ["t", "      日本語", "      │    x", "日本 ▓.50 ▓.50"]),
        # Labels share a line only with a free cell between them.
        (matrix([0.5] * 3, "r", ["abcde", "fghi", "j"]), 40, ["t", "   abcde", "   │    fghi j", "r ▓.50 ▓.50 ▓.50"]),
        # Labels and titles are folded only if they do not fit.
        (
            matrix([0.5], ["abcdefg"], ["x" * 17]),
            24,
            ["t", f"        {'x' * 16}", "        x", "abcdef ▓.50", "     g"],
        ),
        (matrix([0.5], "r", "c", title="a title of 21 cells !"), 20, ["a title of 21 cells", "!", "   c", "r ▓.50"]),
    ],
)  # fmt: skip
def test_matrix_is_drawn_as_expected(of: LabelledMatrix, width: int, expected: list[str]) -> None:
    assert lines_of(of, width=width) == expected
    assert lines_of(of, width=0) == lines_of(of, width=NARROWEST)


@pytest.mark.parametrize("columns", [4, 7])
def test_columns_that_just_fit_make_one_block(columns: int) -> None:
    one = matrix([0.5] * columns, ["ab"], ["x"] * columns)
    exact = 2 + 1 + 5 * columns  # the label, a space, the cells
    assert [sum("." in line for line in lines_of(one, width=width)) for width in (exact, exact - 1)] == [1, 2]


def compact(count: int, columns: int, *, width: int) -> list[str]:
    """`count` compact matrices with two rows, each with its weight on a different column."""
    names = [chr(ord("a") + j % 26) for j in range(columns)]
    eyes = [[np.arange(columns) == i % columns] * 2 for i in range(count)]
    lines = lines_of(
        *(matrix(eye, ["one", "two"], names, name=f"head {i}") for i, eye in enumerate(eyes)), width=width, compact=True
    )
    assert max(map(cell_len, lines)) <= width
    return lines


def test_compact_matrices_share_labels_side_by_side() -> None:
    expected = ["t", "    a b c", "one ██     │   ██", "two ██     │   ██", "    head 0 │ head 1"]
    assert compact(2, 3, width=40) == expected
    # Cells are narrow if all matrices then fit on one line.
    wide, narrow = (compact(4, 11, width=4 + 4 * 22 + 3 * 3 - less) for less in (0, 1))
    assert (sum("██" in line for line in wide), sum("██" in line for line in narrow)) == (2, 0)
    assert sum("head 3" in line for line in narrow) == 1


def test_compact_matrices_that_do_not_fit_continue_below() -> None:
    lines = compact(8, 11, width=40)
    captions = [line for line in lines if "head" in line]
    assert [line.count("head") for line in captions] == [2, 2, 2, 2]
    assert " ".join(captions).replace("│", "").split()[1::2] == list("01234567")
    assert lines.count("") == 3
    folded = [line for line in compact(1, 70, width=40) if "columns" in line]
    assert folded == ["columns 1–35 of 70", "columns 36–70 of 70"]


# Shades and the scale


@every_shading
@given(st.floats(0, 1), st.floats(0, 1))
def test_shades_increase_with_the_absolute_weight(shading: Blocks, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert shading.level(low) <= shading.level(high)
    assert type(shading)(scale=Scale(4.0)).level(-4.0 * high) == shading.level(high)


@every_shading
@pytest.mark.parametrize("width", [1, 2, CELL])
def test_cells_have_equal_width_and_visible_signs(shading: Blocks, width: int) -> None:
    cells = [shading.cell(number, width) for number in (-1.0, -0.3, 0.3, 1.0, NAN, 0.0)]
    assert {cell.cell_len for cell in cells} == {width}
    assert (cells[4].plain.strip(), bool(cells[4].style)) == ("·", False)
    assert cells[0].style == cells[3].style
    assert len({(cell.plain, cell.style) for cell in cells}) == 6


def luminance(color: Color) -> float:
    """Relative luminance (WCAG 2.1)."""
    parts = [value / 255 for value in color.get_truecolor()]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# WCAG 2.1 requires a contrast of 4.5 for any text. 16-colour terminals cannot reach it; their shades vary.
@pytest.mark.parametrize(("system", "least"), [(ColorSystem.EIGHT_BIT, 4.5), (ColorSystem.STANDARD, 3.0)])
def test_numbers_are_readable_on_ever_lighter_backgrounds(system: ColorSystem, least: float) -> None:
    backgrounds = []
    for style in Colours.styles:
        light = sorted(luminance(color.downgrade(system)) for color in (style.color, style.bgcolor))
        assert (light[1] + 0.05) / (light[0] + 0.05) >= least
        backgrounds.append(luminance(style.bgcolor))
    assert backgrounds == sorted(set(backgrounds))
    assert len(backgrounds) == len(Colours.shares) + 1


@pytest.mark.parametrize("colour", [False, True])
def test_colours_are_used_only_on_terminals(colour: bool) -> None:
    system: Any = "truecolor" if colour else None
    console = Console(file=io.StringIO(), width=80, force_terminal=colour, color_system=system)
    shading, one = shading_for(console, Scale()), matrix([NAN, 0.9], "a", "bc")
    lines = matrix_lines([one], width=80, shading=shading) + legend([one], width=80, shading=shading)
    text = printed(lines, console)
    assert type(shading) is (Colours if colour else Blocks)
    assert ("\x1b[38;5;16;48;5;226m .90 \x1b[0m\n" in text) == ("\x1b" in text) == colour


def legend_of(
    shading: Blocks, *, width: int = 80, masked: bool = False, negative: bool = False, compact: bool = False
) -> str:
    one = matrix([NAN if masked else 0.5, -0.5 if negative else 0.5], "r", "ab")
    lines = legend([one], width=width, shading=shading, compact=compact)
    assert max(line.cell_len for line in lines) <= max(width, NARROWEST)
    return " ".join(line.plain for line in lines)


@every_shading
@pytest.mark.parametrize("width", [1, 33])
def test_legend_shows_every_shade_and_fits(shading: Blocks, width: int) -> None:
    text = legend_of(shading, width=width, masked=True)
    assert re.findall(r"1\.0|\.\d\d", text) == [format_weight(level) for level in shading.levels]
    assert text.split() == f"{legend_of(shading)} and · for masked cells".split()


def test_compact_legend_shows_both_signs() -> None:
    shades = "shades from ░░ .05 ▒▒ .25 ▓▓ .50 ██ .75"
    assert legend_of(Blocks(), compact=True) == shades
    assert legend_of(Blocks(), compact=True, negative=True) == f"{shades} below zero -- ~~ == ≡≡"
    assert legend_of(Blocks(), compact=True, masked=True) == f"{shades} and · for masked cells"


@pytest.mark.parametrize(
    ("of", "scale"),
    [
        ([[[0.25, 0.75, NAN], [1.0, 0.0, 0.0]]], Scale(1.0, 1.0)),  # shares of 1
        ([[[0.25, 0.75]], [[0.5, -3.0]]], Scale(3.0, 1.0)),  # relative to the largest of all
        ([[[0.0, 0.0]]], Scale(1.0, 1.0)),
        ([[[NAN, -math.inf, 2.0]]], Scale(2.0, 1.0)),
    ],
)
def test_scale_covers_all_matrices(of: list[Any], scale: Scale) -> None:
    assert Scale.of(map(np.array, of)) == scale


@pytest.mark.parametrize(("largest", "unit"), [(0.04, 0.01), (0.05, 1.0), (98.0, 1.0), (99.0, 10.0)])
def test_very_small_and_large_numbers_are_printed_in_a_unit(largest: float, unit: float) -> None:
    scale = Scale.of([np.array([[largest, -largest]])])
    assert scale == Scale(largest, unit)
    assert Blocks(scale).cell(-largest, CELL).cell_len == 5
    assert float(scale.printed(largest)) * unit == pytest.approx(largest, rel=0.1)
    assert (f"in units of {unit:g}" in legend_of(Blocks(scale))) == (unit != 1.0)
