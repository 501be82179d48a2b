"""Text for a terminal: untrusted text made safe, numbers in few characters, tables and wrapped lines."""

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what starts a command does not wait for rich
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

# Cc: terminal commands begin with these. Cf: among them the overrides that make text read backwards. Cs: cannot be
# encoded. Zl and Zp: line breaks that do not look like any.
_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
# Format characters that scripts and emoji need, and that move nothing: zero-width (non-)joiner, soft hyphen.
_HARMLESS = frozenset("\u200c\u200d\u00ad")
# All but the printable ones of ASCII, which are most.
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
    return _NOT_ASCII.sub(_escaped, json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else None))


def _escaped(found: re.Match[str]) -> str:
    return found[0] if _visible(found[0]) == found[0] else json.dumps(found[0])[1:-1]


def _visible(character: str) -> str:
    if character.isprintable() or character in _HARMLESS or unicodedata.category(character) not in _CATEGORIES:
        return character
    code = ord(character)
    return _PICTURES.get(code, f"⟨U+{code:04X}⟩")


def format_weight(weight: float) -> str:
    """A number above -99.5 and below 999.5 in three characters: `.42`, `1.0`, `-.3`, ` 12`; others take more.

    `-.0` is a negative number that is too small for its one digit, and not too small for two.
    """
    if not math.isfinite(weight):
        return {math.inf: "+oo", -math.inf: "-oo"}.get(weight, "nan")
    for digits in (2, 1, 0):
        text = f"{weight:.{digits}f}".replace("0.", ".", 1) if abs(weight) < 1.0 else f"{weight:.{digits}f}"
        if len(text) <= 3:
            break
    return ".00" if abs(weight) < 0.005 else text.rjust(3)


def table(
    rows: Iterable[Sequence[str]], *, headings: Sequence[str] = (), right: Sequence[int] = (), gap: int = 2
) -> "Table":
    """Columns without lines around them, for `rendered`, which wraps cells; those in `right` are aligned so."""
    from rich.table import Table
    from rich.text import Text

    cells = [[Text(escape_controls(cell)) for cell in row] for row in rows]
    grid = Table(box=None, show_header=bool(headings), header_style="", padding=(0, gap, 0, 0), pad_edge=False)
    for number in range(max(map(len, [headings, *cells]))):
        heading = Text(escape_controls(headings[number])) if headings else ""
        grid.add_column(heading, justify="right" if number in right else "left", overflow="fold")
    for row in cells:
        grid.add_row(*row)
    return grid


def rendered(content: "RenderableType", *, width: int) -> list["Text"]:
    """Anything that rich can print as lines of at most `width` cells, without spaces at their ends; text is literal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(width=width, color_system="truecolor", markup=False, emoji=False, highlight=False)
    lines = []
    for segments in console.render_lines(content, pad=False):
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
        shaded = max((span.end for span in line.spans), default=0)  # a shade may be a space
        lines.append(line[: max(shaded, len(line.plain.rstrip(" ")))])
    return lines


def wrapped(text: str, *, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken between words where that is possible."""
    from rich.text import Text

    return [line.plain for line in rendered(Text(escape_controls(text)), width=width)]
