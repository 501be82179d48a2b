"""Text for a terminal: short numbers, tables and wrapped lines."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from transformer_mt.text.direction import isolated
from transformer_mt.text.terminal import escape_controls

if TYPE_CHECKING:  # rich is slow to import
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text


def format_weight(weight: float) -> str:
    """Format a number between -99.5 and 999.5 in three characters: `.42`, `1.0`, `-.3`, ` 12`; others take more."""
    if not math.isfinite(weight):
        return {math.inf: "+oo", -math.inf: "-oo"}.get(weight, "nan")
    for digits in (2, 1, 0):
        text = re.sub(r"\b0\.", ".", f"{weight:.{digits}f}")
        if len(text) <= 3:
            break
    return text.rjust(3) if float(text) else ".00"  # never `-.0`


def inline(text: str) -> str:
    """Escape untrusted text for use in a line: no control characters, and no effect on the direction around it."""
    return isolated(escape_controls(text))


def label(text: str) -> "Text":
    """Like `inline`, but for use in `rendered`: each line of the text is isolated."""
    from rich.style import Style
    from rich.text import Text

    return Text.assemble((escape_controls(text), Style(meta={"label": True})))


def table(
    rows: Iterable[Sequence["str | Text"]], *, headings: Sequence[str] = (), right: Sequence[int] = (), gap: int = 2
) -> "Table":
    """A table without borders, for `rendered`; the columns in `right` are right-aligned."""
    from rich.table import Table

    grid = Table(box=None, show_header=bool(headings), header_style="", padding=(0, gap, 0, 0), pad_edge=False)
    cells = [[escape_controls(cell) if isinstance(cell, str) else cell for cell in row] for row in (headings, *rows)]
    for number, heading in enumerate(cells[0] or [""] * max(map(len, cells))):
        grid.add_column(heading, justify="right" if number in right else "left", overflow="fold")
    for row in cells[1:]:
        grid.add_row(*row)
    return grid


def table_lines(
    rows: Iterable[Sequence["str | Text"]],
    *,
    width: int = 10_000,
    headings: Sequence[str] = (),
    right: Sequence[int] = (),
    gap: int = 2,
) -> list[str]:
    """Like `table`, as lines of text."""
    return [line.plain for line in rendered(table(rows, headings=headings, right=right, gap=gap), width=width)]


def rendered(content: "RenderableType", *, width: int) -> list["Text"]:
    """Render rich content to lines of at most `width` cells, without trailing spaces; no markup in text."""
    from rich.console import Console
    from rich.text import Text

    console = Console(width=width, color_system="truecolor", markup=False, emoji=False, highlight=False)
    lines = []
    for segments in console.render_lines(content, pad=False):
        parts = ((isolated(text), "") if style and style.meta else (text, style or "") for text, style, _ in segments)
        lines.append(trimmed(Text.assemble(*parts)))
    return lines


def trimmed(line: "Text") -> "Text":
    """The line without trailing spaces, except for shaded cells."""
    shaded = max((span.end for span in line.spans), default=0)
    return line[: max(shaded, len(line.plain.rstrip(" ")))]


def wrapped(text: str, *, width: int) -> list[str]:
    """Wrap text to lines of at most `width` cells, between words if possible; control characters are escaped."""
    from rich.text import Text

    return [line.plain for line in rendered(Text(escape_controls(text)), width=width)]
