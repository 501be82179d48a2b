"""Text from strangers, made safe to print."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.drawing.escape import escape_controls, escaped_json


@given(st.text())
def test_escaped_text_is_one_printable_line(text: str) -> None:
    escaped = escape_controls(text)
    assert len(escaped.splitlines()) <= 1
    assert all(c.isprintable() or c.isspace() or c in "\u200c\u200d\u00ad" or ord(c) > 0x7F for c in escaped)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", escaped)
    escaped.encode("utf-8")


@given(st.text(st.characters(exclude_categories=[])))
def test_json_keeps_what_it_escapes(text: str) -> None:
    line = escaped_json({text: [text]})
    assert escape_controls(line) == line
    assert json.loads(line) == {text: [text]}


def test_json_leaves_ordinary_text_as_it_is() -> None:
    assert escaped_json(["Öl 日本 👍", "\u202e\x9b\x7f"]) == r'["Öl 日本 👍", "\u202e\u009b\u007f"]'


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
