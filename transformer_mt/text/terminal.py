"""Escaping of untrusted text for terminals and JSON."""

import json
import math
import re
import unicodedata
from typing import Any

# Cc: starts terminal commands. Cf: includes the overrides that reverse text. Cs: cannot be encoded. Zl and Zp: line
# breaks that do not look like any.
_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
# Format characters that scripts and emoji need and that reorder nothing: zero-width (non-)joiner, soft hyphen.
_HARMLESS = frozenset("\u200c\u200d\u00ad")
# Most text is printable ASCII and needs no check.
_NOT_ASCII = re.compile(r"[^ -~]")
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}

JsonObject = dict[str, Any]


def escape_controls(text: str) -> str:
    """Escape a text to one line: characters that could control a terminal or reorder the text become visible.

    ASCII controls become their pictures (`\\x1b` → `␛`, newline → `␊`), others their code point (`⟨U+202E⟩`).
    """
    return "".join(map(_visible, text))


def message_line(text: str) -> str:
    """Escape a message to one line. If it is over 2,000 characters, keep the beginning and the end."""
    line = escape_controls(text)
    return line if len(line) <= 2_000 else f"{line[:1_000]} … {line[-1_000:]}"


def without_capital(text: str) -> str:
    """A text that begins in lower case, such as a library's message inside one of ours."""
    return text[:1].lower() + text[1:]


def escaped_json(value: Any, *, compact: bool = False) -> str:
    """Return a value as one line of JSON, with such characters as `\\uXXXX`, so a reader gets them back.

    A compact line has no spaces between values.
    """
    return _joined(value, *((",", ":") if compact else (", ", ": ")))


def _joined(value: Any, comma: str, colon: str) -> str:
    """Encode nested lists item by item: Python's encoder blocks other threads (the server's) until it is done."""
    if isinstance(value, dict):
        entries = [f"{_joined(str(key), comma, colon)}{colon}{_joined(value[key], comma, colon)}" for key in value]
        return f"{{{comma.join(entries)}}}"
    if isinstance(value, list | tuple) and any(isinstance(entry, dict | list | tuple) for entry in value):
        return f"[{comma.join(_joined(entry, comma, colon) for entry in value)}]"
    if isinstance(value, list | tuple) and not all(map(_is_json, value)):
        value = [entry if _is_json(entry) else None for entry in value]
    text = json.dumps(value if _is_json(value) else None, ensure_ascii=False, separators=(comma, colon))
    return _NOT_ASCII.sub(_escaped, text)


def _is_json(value: Any) -> bool:
    """False for NaN and infinities, which a plugin's answer may have."""
    return not isinstance(value, float) or math.isfinite(value)


def _escaped(found: re.Match[str]) -> str:
    return found[0] if _visible(found[0]) == found[0] else json.dumps(found[0])[1:-1]


def _visible(character: str) -> str:
    if character.isprintable() or character in _HARMLESS or unicodedata.category(character) not in _CATEGORIES:
        return character
    code = ord(character)
    return _PICTURES.get(code, f"⟨U+{code:04X}⟩")
