"""The direction in which a text is read (UAX #9), and isolates that keep it from moving the text around it."""

import unicodedata
from typing import Literal

Direction = Literal["ltr", "rtl"]

_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"


def direction(text: str) -> Direction:
    """The direction of the first letter that has one (UAX #9, rules P2 and P3); left to right without any."""
    for character in text:
        if (kind := unicodedata.bidirectional(character)) in ("L", "R", "AL"):
            return "ltr" if kind == "L" else "rtl"
    return "ltr"


def isolated(text: str) -> str:
    """The text so that it moves nothing around it; as it is without characters that are read from right to left."""
    moves = any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text)
    return f"{_FIRST_STRONG_ISOLATE}{text}{_POP_ISOLATE}" if moves else text
