"""Untrusted text made safe for a terminal and for JSON."""

import json
import re
import unicodedata
from typing import Any

# Cc: terminal commands begin with these. Cf: among them the overrides that make text read backwards. Cs: cannot be
# encoded. Zl and Zp: line breaks that do not look like any.
_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
# Format characters that scripts and emoji need, and that move nothing: zero-width (non-)joiner, soft hyphen.
_HARMLESS = frozenset("\u200c\u200d\u00ad")
# Most characters are printable ASCII, and need no look.
_NOT_ASCII = re.compile(r"[^ -~]")
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}


def escape_controls(text: str) -> str:
    """The text as one line, with every character written visibly that could command a terminal or reorder the text.

    ASCII controls become their pictures (`\\x1b` → `␛`, newline → `␊`), the others their number (`⟨U+202E⟩`).
    """
    return "".join(map(_visible, text))


def message_line(text: str) -> str:
    """Such a line for a message; of one too long to read, the beginning and the end, a place and a remedy."""
    line = escape_controls(text)
    return line if len(line) <= 2_000 else f"{line[:1_000]} … {line[-1_000:]}"


def escaped_json(value: Any, *, compact: bool = False) -> str:
    """The value as a line of JSON in which such characters are `\\uXXXX`, so that a reader gets them back.

    A compact line has no spaces between values.
    """
    return _joined(value, *((",", ":") if compact else (", ", ": ")))


def _joined(value: Any, comma: str, colon: str) -> str:
    """Lists of numbers one by one: Python's encoder lets no other thread run, here the server's, until it is done."""
    if isinstance(value, dict):
        entries = [f"{_joined(str(key), comma, colon)}{colon}{_joined(value[key], comma, colon)}" for key in value]
        return f"{{{comma.join(entries)}}}"
    if isinstance(value, list | tuple) and any(isinstance(entry, dict | list | tuple) for entry in value):
        return f"[{comma.join(_joined(entry, comma, colon) for entry in value)}]"
    return _NOT_ASCII.sub(_escaped, json.dumps(value, ensure_ascii=False, separators=(comma, colon)))


def _escaped(found: re.Match[str]) -> str:
    return found[0] if _visible(found[0]) == found[0] else json.dumps(found[0])[1:-1]


def _visible(character: str) -> str:
    if character.isprintable() or character in _HARMLESS or unicodedata.category(character) not in _CATEGORIES:
        return character
    code = ord(character)
    return _PICTURES.get(code, f"⟨U+{code:04X}⟩")
