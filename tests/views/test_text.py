"""Untrusted text, escaped for printing."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from transformer_mt.text.terminal import escape_controls, escaped_json
from transformer_mt.views.rendering import format_weight, rendered, table, wrapped


@given(st.text())
def test_escaped_text_is_one_printable_line(text: str) -> None:
    escaped = escape_controls(text)
    assert len(escaped.splitlines()) <= 1
    assert all(c.isprintable() or c.isspace() or c in "\u200c\u200d\u00ad" or ord(c) > 0x7F for c in escaped)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", escaped)
    escaped.encode("utf-8")


@given(st.text(st.characters(exclude_categories=[])), st.booleans())
def test_json_keeps_what_it_escapes(text: str, compact: bool) -> None:
    line = escaped_json({text: [text, None]}, compact=compact)
    assert escape_controls(line) == line
    assert json.loads(line) == {text: [text, None]}


def test_json_leaves_ordinary_text_unchanged() -> None:
    assert escaped_json(["Öl 日本 👍", "\u202e\x9b\x7f"]) == r'["Öl 日本 👍", "\u202e\u009b\u007f"]'
    assert escaped_json([2.5, None], compact=True) == "[2.5,null]"


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_is_unchanged(text: str) -> None:
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
def test_control_characters_become_visible(text: str, escaped: str) -> None:
    assert escape_controls(text) == escaped


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (12.3, " 12"),
        (-0.97, " -1"),
        (-0.06, "-.1"),
        (-0.04, ".00"),
        (math.nan, "nan"),
        (math.inf, "+oo"),
        (-math.inf, "-oo"),
    ],
)
def test_numbers_fit_three_characters(weight: float, text: str) -> None:
    assert format_weight(weight) == text


@given(st.floats(-99.4, 999.4))
def test_number_is_rounded_correctly(number: float) -> None:
    text = format_weight(number)
    assert len(text) == 3
    digits = 1 if number < 0 and text == ".00" else len(text.strip().partition(".")[2])
    assert abs(float(text) - number) <= 0.5 * 10.0**-digits + 1e-9
    assert text.strip().startswith("-") == (float(text) != 0 and number < 0)


def test_cells_are_literal_and_wrapped() -> None:
    lines = rendered(table([["[b]", "3"], ["日本\x1b", "one two three"]], right=[1]), width=15)
    assert [line.plain for line in lines] == ["[b]           3", "日本␛   one two", "          three"]


def test_headings_are_above_their_columns() -> None:
    lines = rendered(table([["a", "1"]], headings=["word", "number"], right=[1]), width=80)
    assert [line.plain for line in lines] == ["word  number", "a          1"]


@given(st.text(), st.integers(2, 30))
def test_wrapped_text_keeps_its_words(text: str, width: int) -> None:
    lines = wrapped(text, width=width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(escape_controls(text).split())
