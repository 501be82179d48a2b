"""Attention maps as text: nothing cut, nothing too wide, nothing that commands a terminal."""

import io
import math
import re
from collections.abc import Sequence

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
    Matrix,
    Row,
    Scale,
    legend,
    matrix_lines,
    shading_for,
)
from transformer_mt.views.rendering import format_weight

SHADINGS = [Blocks(), Colours()]


NUMBER = re.compile(r"(?:1\.0|\.\d\d)")


HOSTILE = ["[red]x[/red]", ":smile:", "\x1b[2J", "a\nb\rc", "\u202egnol", "日本語", "e\u0301", "\u0301", "👍🏽", "", "‍"]


# No digits and no dots, which would look like numbers.
labels = st.one_of(
    st.text(st.characters(exclude_categories=["N"], exclude_characters=".·│"), max_size=30), st.sampled_from(HOSTILE)
)


@st.composite
def maps(draw: st.DrawFn) -> tuple[list[list[float | None]], list[str], list[str]]:
    rows = draw(st.lists(labels, min_size=1, max_size=5))
    columns = draw(st.lists(labels, min_size=1, max_size=17))
    weight = st.one_of(st.none(), st.floats(0, 1))
    cells = draw(
        st.lists(st.lists(weight, min_size=len(columns), max_size=len(columns)), min_size=len(rows), max_size=len(rows))
    )
    return cells, rows, columns


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


def render_map(
    weights: Sequence[Row], *, title: str, rows: Sequence[str], columns: Sequence[str], width: int, shading: Blocks
) -> list[Text]:
    matrix = Matrix("", title, "", [list(row) for row in weights], tuple(rows), tuple(columns))
    return matrix_lines([matrix], width=width, shading=shading)


def render_compact(
    panels: Sequence[tuple[str, Sequence[Row]]],
    *,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    width: int,
    shading: Blocks,
) -> list[Text]:
    matrices = [
        Matrix("", title, name, [list(row) for row in weights], tuple(rows), tuple(columns)) for name, weights in panels
    ]
    return matrix_lines(matrices, width=width, shading=shading, compact=True)


def render_legend(
    *, width: int, shading: Blocks, masked: bool, negative: bool = False, compact: bool = False
) -> list[Text]:
    numbers = [[None if masked else 0.5, -0.5 if negative else 0.5]]
    matrix = Matrix("", "", "", numbers, ("r",), ("a", "b"))
    return legend([matrix], width=width, shading=shading, compact=compact)


def shown(lines: list[Text], *, width: int, colour: bool, no_color: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file,
        width=width,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        no_color=no_color,
    )
    for line in lines:
        console.print(line)
    return file.getvalue()


@pytest.mark.parametrize("shading", SHADINGS)
@given(example=maps(), width=st.integers(NARROWEST, 130))
def test_no_line_is_too_wide_and_every_number_appears_in_order(
    shading: Blocks, example: tuple[list[list[float | None]], list[str], list[str]], width: int
) -> None:
    weights, rows, columns = example
    lines = render_map(weights, title="a title", rows=rows, columns=columns, width=width, shading=shading)
    assert max(line.cell_len for line in lines) <= width
    found = [re.findall(r"\.\d\d|1\.0|·", line) for line in plain(lines)]
    found = [numbers for numbers in found if numbers]
    blocks = len(found) // len(rows)
    for i, row in enumerate(weights):
        across = [number for block in range(blocks) for number in found[block * len(rows) + i]]
        assert across == ["·" if weight is None else format_weight(weight) for weight in row]


@pytest.mark.parametrize("shading", SHADINGS)
@given(example=maps(), width=st.integers(NARROWEST, 130))
def test_what_a_console_prints_is_those_lines(
    shading: Blocks, example: tuple[list[list[float | None]], list[str], list[str]], width: int
) -> None:
    weights, rows, columns = example
    lines = render_map(weights, title="a title", rows=rows, columns=columns, width=width, shading=shading)
    printed = shown(lines, width=width, colour=False).split("\n")
    assert [line.rstrip() for line in printed[:-1]] == [line.rstrip() for line in plain(lines)]


@given(example=maps(), width=st.integers(NARROWEST, 130))
def test_every_character_of_every_label_appears(
    example: tuple[list[list[float | None]], list[str], list[str]], width: int
) -> None:
    weights, rows, columns = example
    text = "".join(plain(render_map(weights, title="", rows=rows, columns=columns, width=width, shading=Blocks())))
    for label in rows + columns:
        for character in escape_controls(label):
            assert text.count(character) >= escape_controls(label).count(character)


def test_the_map_of_a_small_pair() -> None:
    lines = render_map(
        [[0.75, 0.2, 0.05], [0.004, 0.996, None], [0.25, 0.25, 0.5]],
        title="cross-attention, layer 3 of 3, head 2 of 4",
        rows=["▁Can", "▁you", "</s>"],
        columns=["▁Kannst", "▁du", "</s>"],
        width=80,
        shading=Blocks(),
    )
    assert plain(lines) == [
        "cross-attention, layer 3 of 3, head 2 of 4",
        "      ▁Kannst",
        "      │    ▁du  </s>",
        "▁Can █.75 ░.20 ░.05",
        "▁you  .00 █1.0  ·",
        "</s> ▒.25 ▒.25 ▓.50",
    ]


def test_columns_that_do_not_fit_make_even_blocks() -> None:
    lines = render_map(
        [[0.2] * 5], title="t", rows=["a"], columns=["b", "c", "d", "e", "f"], width=24, shading=Blocks()
    )
    assert plain(lines) == [
        "t",
        "",
        "columns 1–2 of 5",
        "   b    c",
        "a ░.20 ░.20",
        "",
        "columns 3–5 of 5",
        "   d    e    f",
        "a ░.20 ░.20 ░.20",
    ]


def test_long_labels_are_folded() -> None:
    lines = render_map(
        [[0.6]],
        title="one two three four five",
        rows=["Donaudampfschiff"],
        columns=["Rindfleischetikettierung"],
        width=20,
        shading=Blocks(),
    )
    assert plain(lines) == [
        "one two three four",
        "five",
        "        Rindfleische",
        "        tikettierung",
        "Donaud ▓.60",
        "ampfsc",
        "  hiff",
    ]


def test_colours_reach_the_terminal() -> None:
    lines = render_map([[None, 0.9]], title="t", rows=["a"], columns=["b", "c"], width=80, shading=Colours())
    assert "\x1b[38;5;16;48;5;226m .90 \x1b[0m\n" in shown(lines, width=80, colour=True)


@pytest.mark.parametrize("label", HOSTILE)
@pytest.mark.parametrize("shading", SHADINGS)
def test_hostile_labels_are_printed_as_they_are_and_command_nothing(label: str, shading: Blocks) -> None:
    lines = render_map([[0.5]], title=label, rows=[label], columns=[label], width=80, shading=shading)
    printed = shown(lines, width=80, colour=False)
    assert printed.count(escape_controls(label)) >= 3
    assert not set(printed) & {"\x1b", "\r", "\u202e", "\x07"}
    assert printed.count("\n") == len(lines)


def test_a_width_below_the_narrowest_counts_as_that() -> None:
    one, other = (
        render_map([[0.5] * 3], title="t", rows=["r"], columns=["a", "b", "c"], width=width, shading=Blocks())
        for width in (0, NARROWEST)
    )
    assert plain(one) == plain(other)


def test_wide_labels_are_measured_in_cells() -> None:
    lines = render_map([[0.5, 0.5]], title="t", rows=["日本"], columns=["日本語", "x"], width=40, shading=Blocks())
    assert plain(lines) == ["t", "      日本語", "      │    x", "日本 ▓.50 ▓.50"]
    assert cell_len(lines[1].plain) == 12


def numbers_by_row(lines: list[Text]) -> list[int]:
    """How many numbers stand on each line that has any."""
    return [len(found) for line in plain(lines) if (found := NUMBER.findall(line))]


@pytest.mark.parametrize("columns", [4, 7])
def test_columns_that_fit_exactly_make_one_block_and_one_cell_less_makes_two(columns: int) -> None:
    label, cell = 2, 5
    exact = label + 1 + columns * cell  # the label, a space, the cells
    for width, blocks in ((exact, 1), (exact - 1, 2)):
        lines = render_map(
            [[0.5] * columns], title="", rows=["ab"], columns=["x"] * columns, width=width, shading=Blocks()
        )
        assert len(numbers_by_row(lines)) == blocks


def test_labels_that_leave_one_cell_between_them_share_a_line_and_longer_ones_do_not() -> None:
    def header(*columns: str) -> list[str]:
        lines = render_map([[0.5] * 3], title="t", rows=["r"], columns=columns, width=40, shading=Blocks())
        return plain(lines)[1:-1]

    assert header("abcd", "efgh", "i") == ["   abcd efgh i"]
    assert header("abcde", "fghi", "j") == ["   abcde", "   │    fghi j"]


def test_a_label_is_folded_only_when_it_does_not_fit_beside_the_map_or_up_to_the_edge() -> None:
    def labels(row: str, column: str) -> list[str]:
        return plain(render_map([[0.5]], title="t", rows=[row], columns=[column], width=24, shading=Blocks()))[1:]

    column = "x" * (24 - len("abcdef") - 2)  # the row's label, a space, the shade, then up to the edge
    assert labels("abcdef", column) == [f"        {column}", "abcdef ▓.50"]
    assert labels("abcdefg", column) == [f"        {column}", "abcdef ▓.50", "     g"]
    assert labels("abcdef", f"{column}y") == [f"        {column}", "        y", "abcdef ▓.50"]


def test_a_title_that_fits_exactly_is_one_line() -> None:
    def title_lines(title: str) -> list[str]:
        return plain(render_map([[0.5]], title=title, rows=["r"], columns=["c"], width=20, shading=Blocks()))[:-2]

    assert title_lines("a title of 20 cells!") == ["a title of 20 cells!"]
    assert title_lines("a title of 21 cells !") == ["a title of 21 cells", "!"]


def compact(count: int, columns: int, *, width: int, shading: Blocks | None = None) -> list[str]:
    """As many maps of two rows, each of which looks at a column of its own."""
    panels = [(f"head {i}", [[float(j == i % columns) for j in range(columns)]] * 2) for i in range(count)]
    labels = [chr(ord("a") + j % 26) for j in range(columns)]
    lines = render_compact(
        panels, title="t", rows=["one", "two"], columns=labels, width=width, shading=shading or Blocks()
    )
    assert max(line.cell_len for line in lines) <= width
    return plain(lines)


def test_compact_maps_stand_beside_each_other_with_labels_once() -> None:
    assert compact(2, 3, width=40) == [
        "t",
        "    a b c",
        "one ██     │   ██",
        "two ██     │   ██",
        "    head 0 │ head 1",
    ]


def test_compact_cells_are_narrow_where_all_maps_then_stand_on_one_line() -> None:
    wide, narrow = (compact(4, 11, width=width) for width in (4 + 4 * 22 + 3 * 3, 4 + 4 * 22 + 3 * 3 - 1))
    assert (sum("██" in line for line in wide), sum("██" in line for line in narrow)) == (2, 0)
    assert sum("head 3" in line for line in narrow) == 1


def test_compact_maps_that_do_not_fit_go_on_below() -> None:
    lines = compact(8, 11, width=40)
    captions = [line for line in lines if "head" in line]
    assert [line.count("head") for line in captions] == [2, 2, 2, 2]
    assert " ".join(captions).replace("│", "").split()[1::2] == list("01234567")
    assert lines.count("") == 3


def test_a_compact_map_wider_than_a_line_is_folded() -> None:
    lines = compact(1, 70, width=40)
    assert [line for line in lines if "columns" in line] == [
        "columns 1–35 of 70",
        "columns 36–70 of 70",
    ]


@pytest.mark.parametrize("shading", SHADINGS)
@given(example=maps(), width=st.integers(NARROWEST, 130))
def test_compact_maps_lose_no_label_and_are_never_too_wide(
    shading: Blocks, example: tuple[list[list[float | None]], list[str], list[str]], width: int
) -> None:
    weights, rows, columns = example
    lines = render_compact(
        [("one", weights), ("other", weights)], title="t", rows=rows, columns=columns, width=width, shading=shading
    )
    assert max(line.cell_len for line in lines) <= width
    text = "".join(plain(lines))
    for label in rows + columns:
        for character in escape_controls(label):
            assert text.count(character) >= escape_controls(label).count(character)


@pytest.mark.parametrize("shading", SHADINGS)
@pytest.mark.parametrize(("width", "blocks", "panels"), [(80, 3, 1), (200, 2, 3)])
def test_a_sentence_of_forty_pieces_fits_a_terminal(width: int, blocks: int, panels: int, shading: Blocks) -> None:
    rows, columns = ([f"{side}{number}" for number in range(41)] for side in "ts")
    weights = [[float(row == column) for column in range(41)] for row in range(41)]
    lines = plain(render_map(weights, title="t", rows=rows, columns=columns, width=width, shading=shading))
    assert max(map(len, lines)) <= width
    assert "\n".join(lines).count("of 41") == blocks
    for label in rows:
        assert sum(re.match(rf" *{label} ", line) is not None for line in lines) == blocks
    for column, label in enumerate(columns):
        (above,) = [line for line in lines if re.search(rf"{label}\b", line)]
        (row,) = [line for line in lines if re.match(rf" *{rows[column]} ", line) and "1.0" in line]
        assert row.index("1.0") == above.index(label)  # a number stands below its column's label
    small = render_compact(
        [(f"head {number}", weights) for number in (1, 2, 3)],
        title="t", rows=rows, columns=columns, width=width, shading=shading,
    )  # fmt: skip
    assert max(line.cell_len for line in small) <= width
    captions = [line.plain for line in small if "head" in line.plain]
    assert [line.count("head") for line in captions] == [panels] * (3 // panels)


@pytest.mark.parametrize("shading", SHADINGS)
def test_a_shade_is_of_the_size_whatever_the_sign(shading: Blocks) -> None:
    scaled = type(shading)(scale=Scale(4.0))
    assert [scaled.level(x) for x in (4.0, 1.9, -1.9)] == [shading.level(x) for x in (1.0, 0.475, 0.475)]


@pytest.mark.parametrize("kind", [Blocks, Colours])
@pytest.mark.parametrize("width", [1, 2])
def test_without_numbers_and_colours_the_sign_can_be_seen(kind: type[Blocks], width: int) -> None:
    shading = kind()
    cells = [shading.cell(number, width) for number in (-1.0, -0.3, 0.3, 1.0, None)]
    assert {cell.cell_len for cell in cells} == {width}
    if kind is Blocks:
        assert len({cell.plain for cell in cells}) == 5
    else:
        assert cells[0].style == cells[3].style
        assert cells[0].plain != cells[3].plain


@pytest.mark.parametrize("shading", SHADINGS)
def test_cells_are_equally_wide_and_masked_ones_are_empty(shading: Blocks) -> None:
    cells = [shading.cell(weight, CELL) for weight in (None, 0.0, 0.1, 0.3, 0.6, 1.0)]
    assert {cell.cell_len for cell in cells} == {5}
    assert cells[0].plain.strip() == "·"
    assert not cells[0].style
    assert cells[1].plain.strip() == ".00"


@pytest.mark.parametrize("shading", SHADINGS)
@given(st.floats(0, 1), st.floats(0, 1))
def test_more_weight_is_never_a_lighter_shade(shading: Blocks, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert shading.level(low) <= shading.level(high)


def luminance(color: Color) -> float:
    """Relative luminance as WCAG 2.1 defines it."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in color.get_truecolor())
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# The least that WCAG 2.1 asks for: 4.5 for any text. Sixteen colours leave less room; their shades differ by terminal.
@pytest.mark.parametrize(("system", "least"), [(ColorSystem.EIGHT_BIT, 4.5), (ColorSystem.STANDARD, 3.0)])
def test_numbers_are_readable_on_every_background(system: ColorSystem, least: float) -> None:
    for style in Colours.styles:
        assert style.color
        assert style.bgcolor
        light = sorted(luminance(color.downgrade(system)) for color in (style.color, style.bgcolor))
        assert (light[1] + 0.05) / (light[0] + 0.05) >= least


def test_backgrounds_get_lighter_with_every_level() -> None:
    light = [luminance(style.bgcolor) for style in Colours.styles if style.bgcolor]
    assert light == sorted(set(light))
    assert len(light) == len(Colours.shares) + 1


def test_there_are_no_escape_codes_without_colour() -> None:
    file = io.StringIO()
    console = Console(file=file, width=80)
    shading = shading_for(console, Scale())
    lines = render_map([[0.9, None]], title="t", rows=["a"], columns=["b", "c"], width=80, shading=shading)
    for line in lines + render_legend(width=80, shading=shading, masked=True):
        console.print(line)
    assert isinstance(shading, Blocks)
    assert "\x1b" not in file.getvalue()


@pytest.mark.parametrize("shading", SHADINGS)
@pytest.mark.parametrize("width", [1, 20, 33, 120])
def test_the_legend_shows_every_shade_and_fits(shading: Blocks, width: int) -> None:
    lines = render_legend(width=width, shading=shading, masked=True)
    assert max(line.cell_len for line in lines) <= max(width, NARROWEST)
    text = " ".join(plain(lines))
    assert NUMBER.findall(text) == [format_weight(level) for level in shading.levels]
    unmasked = " ".join(plain(render_legend(width=width, shading=shading, masked=False)))
    assert text.split() == f"{unmasked} and · where nothing may be attended to".split()


def test_the_compact_legend_shows_shades_of_both_signs() -> None:
    def legend(*, masked: bool, negative: bool) -> str:
        return " ".join(
            plain(render_legend(width=80, shading=Blocks(), masked=masked, negative=negative, compact=True))
        )

    shades = "shades from ░░ .05 ▒▒ .25 ▓▓ .50 ██ .75"
    assert legend(masked=False, negative=False) == shades
    assert legend(masked=False, negative=True) == f"{shades} below zero -- ~~ == ≡≡"
    assert legend(masked=True, negative=False) == f"{shades} and · where nothing may be attended to"


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
    assert shading.cell(-largest, CELL).cell_len == 5
    assert float(scale.printed(largest)) * unit == pytest.approx(largest, rel=0.1)
    legend = " ".join(plain(render_legend(width=80, shading=shading, masked=False)))
    assert (f"in units of {unit:g}" in legend) == (unit != 1.0)
