"""Text direction (UAX #9), and isolates that keep a text from reordering its surroundings."""

import unicodedata
from typing import Literal

Direction = Literal["ltr", "rtl"]

_FIRST_STRONG_ISOLATE = "\u2068"
_POP_ISOLATE = "\u2069"


def direction(text: str) -> Direction:
    """The direction of the first strong character (UAX #9, rules P2 and P3); left to right if it has none."""
    for character in text:
        if (kind := unicodedata.bidirectional(character)) in ("L", "R", "AL"):
            return "ltr" if kind == "L" else "rtl"
    return "ltr"


def isolated(text: str) -> str:
    """Wrap a text with right-to-left characters in isolates; return any other text unchanged."""
    moves = any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text)
    return f"{_FIRST_STRONG_ISOLATE}{text}{_POP_ISOLATE}" if moves else text
