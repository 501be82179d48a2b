"""A matrix as an HTML table with shaded cells, for notebooks: no scripts, no network, all text escaped."""

from collections.abc import Sequence
from html import escape

from transformer_mt.text.terminal import escape_controls

# The colours of 1 and -1; lighter shades are mixed with white.
_FOR = (33, 102, 172)
_AGAINST = (178, 24, 43)


def html_matrix(numbers: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], *, title: str) -> str:
    """A table of numbers, shaded by their share of the largest, with a caption and labels on both sides.

    NaN is an empty cell.
    """
    largest = max((abs(number) for row in numbers for number in row if number == number), default=0.0) or 1.0
    head = "".join(f"<th>{_text(column)}</th>" for column in ("", *columns))
    lines = [f"<caption>{_text(title)}</caption><tr>{head}</tr>"]
    for label, row in zip(rows, numbers, strict=True):
        lines.append(f"<tr><td>{_text(label)}</td>{''.join(_cell(number, largest) for number in row)}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _text(text: str) -> str:
    """Escape a text and isolate its direction."""
    return f"<bdi>{escape(escape_controls(text))}</bdi>"


def _cell(number: float, largest: float) -> str:
    if number != number:
        return "<td></td>"
    share = number / largest
    colour = _FOR if share >= 0.0 else _AGAINST
    red, green, blue = (round(255 + abs(share) * (part - 255)) for part in colour)
    ink = "white" if abs(share) > 0.5 else "black"
    return f'<td style="background: rgb({red}, {green}, {blue}); color: {ink}">{number:z.2f}</td>'
