"""The characters that text is drawn with, as far as the terminal's encoding has them."""

import dataclasses
from dataclasses import dataclass

from rich.cells import cell_len

from transformer_mt.views.text import escape_controls

# Pieces of subwords that begin a word begin with this.
_WORD_START = "▁"


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters that matrices are drawn with, all of which the terminal's encoding has."""

    encoding: str
    # From none to most; `negative` are those of numbers below zero, where no number says so.
    shades: str
    negative: str
    masked: str
    leader: str
    dash: str
    word_start: str
    carrier: str

    def clean(self, text: str) -> str:
        """Text that can be measured and printed: controls are visible, and what the encoding lacks is `\\u2581`.

        A text that begins with a combining mark gets a circle to carry it.
        """
        text = escape_controls(text).replace(_WORD_START, self.word_start)
        text = text.encode(self.encoding, "backslashreplace").decode(self.encoding)
        return f"{self.carrier}{text}" if text and cell_len(text[0]) == 0 else text


UNICODE = Glyphs(
    "utf-8", shades=" ░▒▓█", negative=" -~=≡", masked="·", leader="│", dash="–", word_start="▁", carrier="◌"
)
ASCII = Glyphs("ascii", shades=" '+*#", negative=" -~=%", masked="/", leader="|", dash="-", word_start="_", carrier="'")


def glyphs_for(encoding: str) -> Glyphs:
    """The glyphs of a terminal or file: ASCII ones where the encoding lacks any of the others."""
    every = "".join(dataclasses.asdict(UNICODE).values())
    try:
        every.encode(encoding)
    except UnicodeEncodeError:
        return dataclasses.replace(ASCII, encoding=encoding)
    return dataclasses.replace(UNICODE, encoding=encoding)
