"""Charts as text: coarse curves with labelled axes, drawn with braille dots, letters, or plain ASCII."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float
from rich.cells import cell_len

from transformer_mt.drawing.chart import Panel, Points, place, tick_label, ticks
from transformer_mt.views.text import escape_controls

ROWS = 10
NARROWEST = 40
# The dots of a braille character, of 4 rows and 2 columns, as bits.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE = 0x2800
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHADES, _ASCII_SHADES = " ░▒▓█", " .:*#"
# What must be printable for other than ASCII.
FINE = "⣿│└─" + _SHADES


def chart_lines(panels: Sequence[Panel], *, width: int, fine: bool) -> Iterator[str]:
    """The panels one above the other. A single curve is drawn with braille dots, several with a letter each.

    Without `fine` characters everything is ASCII.
    """
    for number, panel in enumerate(panels):
        if number:
            yield ""
        yield from _panel(panel, width=max(width, NARROWEST), fine=fine)


def heat_map_lines(values: Float[np.ndarray, "R C"], *, width: int, fine: bool) -> Iterator[str]:
    """A matrix of numbers from -1 (blank) to 1 (full): rows with their number, as many columns as fit."""
    shades = _SHADES if fine else _ASCII_SHADES
    gutter = len(str(len(values) - 1))
    level = np.rint((values[:, : width - gutter - 1] + 1) / 2 * (len(shades) - 1)).astype(int)
    for number, row in enumerate(level.tolist()):
        yield f"{number:>{gutter}} {''.join(shades[one] for one in row)}".rstrip()


def _panel(panel: Panel, *, width: int, fine: bool) -> Iterator[str]:
    low, high = panel.vertical
    labels = {_row(value, low, high): tick_label(value) for value in ticks(low, high, most=4)}
    gutter = max(map(len, labels.values()), default=0)
    columns = width - gutter - 2
    canvas = _canvas(panel, columns=columns, fine=fine)
    wall, corner, floor = ("│", "└", "─") if fine else ("|", "+", "-")
    yield escape_controls(panel.title)
    for row, line in enumerate(canvas):
        yield f"{labels.get(row, ''):>{gutter}} {wall}{line}".rstrip()
    yield f"{'':>{gutter}} {corner}{floor * columns}"
    yield f"{'':>{gutter}}  {_across(panel, columns)}".rstrip()
    if len(panel.series) > 1:
        yield from (f"{'':>{gutter}}  {line}" for line in _legend(panel, columns=columns))


def _legend(panel: Panel, *, columns: int) -> list[str]:
    """The letters with the names of their curves, as many on a line as fit."""
    lines: list[str] = []
    for number, one in enumerate(panel.series):
        entry = f"{_letter(number)} {escape_controls(one.name)}"
        if lines and cell_len(lines[-1]) + 3 + cell_len(entry) <= columns:
            lines[-1] += f"   {entry}"
        else:
            lines.append(entry)
    return lines


def _canvas(panel: Panel, *, columns: int, fine: bool) -> list[str]:
    if len(panel.series) == 1 and fine:
        return _dotted(panel, panel.series[0].points, columns=columns)
    cells = [[" "] * columns for _ in range(ROWS)]
    for number, one in enumerate(panel.series):
        mark = "*" if len(panel.series) == 1 else _letter(number)
        for column, height in _heights(panel, one.points, columns):
            cells[min(ROWS - 1, int((1 - height) * ROWS))][column] = mark
    return ["".join(line) for line in cells]


def _dotted(panel: Panel, points: Points, *, columns: int) -> list[str]:
    """Braille has twice as many columns, and four times as many rows."""
    cells = np.zeros((ROWS, columns), int)
    before: int | None = None
    for column, height in _heights(panel, points, 2 * columns):
        row = min(4 * ROWS - 1, int((1 - height) * 4 * ROWS))
        first, last = (row, row) if before is None else sorted((row, before))
        for dot in range(first, last + 1):  # a steep curve stays a line
            cells[dot // 4, column // 2] |= _DOTS[dot % 4][column % 2]
        before = row
    return ["".join(chr(_BRAILLE + bits) if bits else " " for bits in line) for line in cells.tolist()]


def _heights(panel: Panel, points: Points, columns: int) -> Iterator[tuple[int, float]]:
    """The height of a curve, from 0 to 1, in each column that it reaches, straight between its points."""
    if not points:
        return
    (left, right), (low, high) = panel.horizontal, panel.vertical
    xs = [place(x, left, right) * (columns - 1) for x, _ in points]
    ys = [place(y, low, high) for _, y in points]
    for column in range(round(xs[0]), round(xs[-1]) + 1):
        yield column, float(np.interp(column, xs, ys))


def _row(value: float, low: float, high: float) -> int:
    return min(ROWS - 1, int((1 - place(value, low, high)) * ROWS))


def _across(panel: Panel, columns: int) -> str:
    """The numbers along the horizontal axis, each under its place and too few to touch, then what they are."""
    left, right = panel.horizontal
    line = ""
    name = f" {escape_controls(panel.across)}"
    for value in ticks(left, right, most=max(2, columns // 14)):
        label = tick_label(value)
        start = max(0, round(place(value, left, right) * (columns - 1)) - len(label) // 2)
        if start + len(label) <= columns - len(name):
            line += " " * (start - len(line)) + label
    return line + " " * (columns - len(line) - len(name)) + name


def _letter(number: int) -> str:
    return _LETTERS[number % len(_LETTERS)]
