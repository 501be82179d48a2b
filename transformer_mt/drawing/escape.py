"""Untrusted text made safe to print on a terminal."""

import json
import unicodedata
from typing import Any

# Cc: terminal commands begin with these. Cf: among them the overrides that make text read backwards. Cs: cannot be
# encoded. Zl and Zp: line breaks that do not look like any.
_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
# Format characters that scripts and emoji need, and that move nothing: zero-width (non-)joiner, soft hyphen.
_HARMLESS = frozenset("\u200c\u200d\u00ad")
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}


def escape_controls(text: str) -> str:
    """The text with every character that could command a terminal, or reorder what it shows, written visibly.

    ASCII controls become their pictures (`\\x1b` → `␛`, newline → `␊`), the others their number (`⟨U+202E⟩`). The
    result is one line and can be encoded as UTF-8.
    """
    return "".join(map(_visible, text))


def escaped_json(value: Any) -> str:
    """The value as a line of JSON in which such characters are `\\uXXXX`, so that a reader gets them back."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(one if _visible(one) == one else json.dumps(one)[1:-1] for one in text)


def _visible(character: str) -> str:
    if character.isprintable() or character in _HARMLESS or unicodedata.category(character) not in _CATEGORIES:
        return character
    code = ord(character)
    return _PICTURES.get(code, f"⟨U+{code:04X}⟩")
