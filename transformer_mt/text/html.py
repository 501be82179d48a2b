"""Tables with shaded cells as HTML, for notebooks: no scripts, no network, all text escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from transformer_mt.text.terminal import escape_controls

# A cell: a text, or a number with its size as a share of the largest, from -1 to 1.
Cell = str | tuple[str, float]
# The colours of 1 and -1; lighter shades are mixed with white.
_FOR = (33, 102, 172)
_AGAINST = (178, 24, 43)


def html_text(text: str) -> str:
    """Escape a text and isolate its direction."""
    return f"<bdi>{escape(escape_controls(text))}</bdi>"


def html_table(rows: Iterable[Sequence[Cell]], *, headings: Sequence[str], title: str = "") -> str:
    """A table with a caption."""
    head = "".join(f"<th>{html_text(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><caption>{html_text(title)}</caption><tr>{head}</tr>{body}</table>"


def html_columns(labels: Sequence[str], columns: Mapping[str, Sequence[float]], *, title: str) -> str:
    """A table with a row per label and shaded columns of numbers, each with its own scale."""
    shaded = (number_cells([column]) for column in columns.values())
    rows = zip(labels, *(cells for (cells,) in shaded), strict=True)
    return html_table(rows, headings=(title, *columns))


def html_matrix(numbers: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], *, title: str) -> str:
    """A table of shaded numbers with a common scale, and labels on both sides."""
    cells = ([label, *row] for label, row in zip(rows, number_cells(numbers), strict=True))
    return html_table(cells, headings=("", *columns), title=title)


def number_cells(numbers: Sequence[Sequence[float]]) -> list[list[Cell]]:
    """Cells shaded by their share of the largest number; NaN is an empty cell."""
    largest = max((abs(number) for row in numbers for number in row if number == number), default=0.0) or 1.0
    return [[(f"{number:z.2f}", number / largest) if number == number else "" for number in row] for row in numbers]


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{html_text(cell)}</td>"
    text, share = cell
    colour = _FOR if share >= 0.0 else _AGAINST
    red, green, blue = (round(255 + abs(share) * (part - 255)) for part in colour)
    ink = "white" if abs(share) > 0.5 else "black"
    return f'<td style="background: rgb({red}, {green}, {blue}); color: {ink}">{escape(text)}</td>'
