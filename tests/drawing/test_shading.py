"""Shades and colours of numbers, and their legends."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color, ColorSystem
from rich.console import Console
from rich.text import Text

from transformer_mt.drawing.glyphs import ASCII, UNICODE, Glyphs
from transformer_mt.drawing.layout import NARROWEST
from transformer_mt.drawing.matrix_text import render_map
from transformer_mt.drawing.numbers import Scale
from transformer_mt.drawing.shading import Blocks, Colours, Shading, render_compact_legend, render_legend, shading_for
from transformer_mt.views.text import format_weight

SHADINGS = [Blocks(), Colours()]


NUMBER = re.compile(r"(?:1\.0|\.\d\d)")


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


@pytest.mark.parametrize("shading", SHADINGS)
def test_a_shade_is_of_the_size_whatever_the_sign(shading: Shading) -> None:
    scaled = type(shading)(scale=Scale(4.0))
    assert [scaled.level(x) for x in (4.0, 1.9, -1.9)] == [shading.level(x) for x in (1.0, 0.475, 0.475)]


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize("kind", [Blocks, Colours])
@pytest.mark.parametrize("width", [1, 2])
def test_without_numbers_and_colours_the_sign_can_be_seen(kind: type[Shading], glyphs: Glyphs, width: int) -> None:
    shading = kind(glyphs)
    cells = [shading.small_cell(number, width=width) for number in (-1.0, -0.3, 0.3, 1.0, None)]
    assert {cell.cell_len for cell in cells} == {width}
    if kind is Blocks:
        assert len({cell.plain for cell in cells}) == 5
    else:
        assert cells[0].style == cells[3].style
        assert cells[0].plain != cells[3].plain


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
    for line in lines + render_legend(width=80, shading=shading, masked=True):
        console.print(line)
    assert isinstance(shading, Blocks)
    assert "\x1b" not in file.getvalue()


def test_no_color_is_heeded_on_a_terminal() -> None:
    colourful = Console(file=io.StringIO(), force_terminal=True, color_system="256", no_color=False)
    plain_terminal = Console(file=io.StringIO(), force_terminal=True, color_system="256", no_color=True)
    assert isinstance(shading_for(colourful), Colours)
    assert isinstance(shading_for(plain_terminal), Blocks)


@pytest.mark.parametrize("shading", SHADINGS)
@pytest.mark.parametrize("width", [1, 20, 33, 120])
def test_the_legend_shows_every_shade_and_fits(shading: Shading, width: int) -> None:
    lines = render_legend(width=width, shading=shading, masked=True)
    assert max(line.cell_len for line in lines) <= max(width, NARROWEST)
    text = " ".join(plain(lines))
    assert NUMBER.findall(text) == [format_weight(level) for level in shading.levels]
    assert text.endswith("and · where nothing may be attended to")
    unmasked = " ".join(plain(render_legend(width=width, shading=shading, masked=False)))
    assert text == f"{unmasked} and · where nothing may be attended to"


def test_the_compact_legend_shows_shades_of_both_signs() -> None:
    def legend(*, masked: bool, negative: bool) -> str:
        return " ".join(plain(render_compact_legend(width=80, shading=Blocks(), masked=masked, negative=negative)))

    shades = "shades from ░░ .05 ▒▒ .25 ▓▓ .50 ██ .75"
    assert legend(masked=False, negative=False) == shades
    assert legend(masked=False, negative=True) == f"{shades} below zero -- ~~ == ≡≡"
    assert legend(masked=True, negative=False) == f"{shades} and · where nothing may be attended to"
