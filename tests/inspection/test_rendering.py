"""Attention maps as text: nothing cut, nothing too wide, nothing that commands a terminal."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.console import Console
from rich.text import Text

from transformer_mt.inspection.escape import escape_controls
from transformer_mt.inspection.rendering import (
    NARROWEST,
    Blocks,
    Colours,
    Shading,
    format_weight,
    map_title,
    render_legend,
    render_map,
    shading_for,
)

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
    shading: Shading, example: tuple[list[list[float | None]], list[str], list[str]], width: int
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
    shading: Shading, example: tuple[list[list[float | None]], list[str], list[str]], width: int
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
        title=map_title("cross", layer=3, layers=3, head=2, heads=4),
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


def test_titles_name_stack_layer_and_head() -> None:
    title = {stack: map_title(stack, layer=1, layers=2, head=3, heads=4) for stack in ("encoder", "decoder", "cross")}
    assert title == {
        "encoder": "encoder self-attention, layer 1 of 2, head 3 of 4",
        "decoder": "decoder self-attention, layer 1 of 2, head 3 of 4",
        "cross": "cross-attention, layer 1 of 2, head 3 of 4",
    }
    assert map_title("cross", layer=1, layers=2, head=None, heads=4) == "cross-attention, layer 1 of 2, mean of 4 heads"


@pytest.mark.parametrize(
    ("weight", "text"),
    [(0.0, ".00"), (0.004, ".00"), (0.42, ".42"), (0.994, ".99"), (0.996, "1.0"), (1.0000001, "1.0")],
)
def test_numbers_take_three_characters(weight: float, text: str) -> None:
    assert format_weight(weight) == text


@pytest.mark.parametrize("shading", SHADINGS)
def test_cells_are_equally_wide_and_masked_ones_are_empty(shading: Shading) -> None:
    cells = [shading.cell(weight) for weight in (None, 0.0, 0.1, 0.3, 0.6, 1.0)]
    assert {cell.cell_len for cell in cells} == {5}
    assert cells[0].plain.strip() == "·"
    assert not cells[0].style
    assert cells[1].plain.strip() == ".00"


@pytest.mark.parametrize("shading", SHADINGS)
@given(st.floats(0, 1), st.floats(0, 1))
def test_more_weight_is_never_a_lighter_shade(shading: Shading, one: float, other: float) -> None:
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
    shading = shading_for(console)
    lines = render_map([[0.9, None]], title="t", rows=["a"], columns=["b", "c"], width=80, shading=shading)
    for line in lines + render_legend(width=80, shading=shading):
        console.print(line)
    assert isinstance(shading, Blocks)
    assert "\x1b" not in file.getvalue()


def test_no_color_is_heeded_on_a_terminal() -> None:
    colourful = Console(file=io.StringIO(), force_terminal=True, color_system="256", no_color=False)
    plain_terminal = Console(file=io.StringIO(), force_terminal=True, color_system="256", no_color=True)
    assert isinstance(shading_for(colourful), Colours)
    assert isinstance(shading_for(plain_terminal), Blocks)


def test_colours_reach_the_terminal() -> None:
    lines = render_map([[None, 0.9]], title="t", rows=["a"], columns=["b", "c"], width=80, shading=Colours())
    assert "\x1b[38;5;16;48;5;226m .90 \x1b[0m\n" in shown(lines, width=80, colour=True)


@pytest.mark.parametrize("label", HOSTILE)
@pytest.mark.parametrize("shading", SHADINGS)
def test_hostile_labels_are_printed_as_they_are_and_command_nothing(label: str, shading: Shading) -> None:
    lines = render_map([[0.5]], title=label, rows=[label], columns=[label], width=80, shading=shading)
    printed = shown(lines, width=80, colour=False)
    assert printed.count(escape_controls(label)) >= 3
    assert not set(printed) & {"\x1b", "\r", "\u202e", "\x07"}
    assert printed.count("\n") == len(lines)


@pytest.mark.parametrize("shading", SHADINGS)
@pytest.mark.parametrize("width", [1, 20, 33, 120])
def test_the_legend_shows_every_shade_and_fits(shading: Shading, width: int) -> None:
    lines = render_legend(width=width, shading=shading)
    assert max(line.cell_len for line in lines) <= max(width, NARROWEST)
    text = " ".join(plain(lines))
    assert NUMBER.findall(text) == [format_weight(level) for level in shading.levels]
    assert text.endswith("and · where nothing may be attended to")


def test_a_width_below_the_narrowest_counts_as_that() -> None:
    one, other = (
        render_map([[0.5] * 3], title="t", rows=["r"], columns=["a", "b", "c"], width=width, shading=Blocks())
        for width in (0, NARROWEST)
    )
    assert plain(one) == plain(other)


@given(st.text())
def test_escaped_text_is_one_printable_line(text: str) -> None:
    escaped = escape_controls(text)
    assert len(escaped.splitlines()) <= 1
    assert all(c.isprintable() or c.isspace() or c in "\u200c\u200d\u00ad" or ord(c) > 0x7F for c in escaped)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", escaped)
    escaped.encode("utf-8")


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert escape_controls(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\x1b[31m", "␛[31m"),
        ("a\nb\t\x7f", "a␊b␉␡"),
        ("\x9b1m", "⟨U+009B⟩1m"),
        ("\u202eabc\u2069", "⟨U+202E⟩abc⟨U+2069⟩"),
        ("\u2028\ufeff", "⟨U+2028⟩⟨U+FEFF⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("👩\u200d💻 Grüße 日本", "👩\u200d💻 Grüße 日本"),
    ],
)
def test_controls_become_visible(text: str, escaped: str) -> None:
    assert escape_controls(text) == escaped


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
