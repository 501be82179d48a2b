"""Matrices as text: the target down the side, the source across, numbers, and shading with or without colour."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len
from rich.text import Text

from transformer_mt.drawing.layout import (
    BLOCK_GAP,
    NARROWEST,
    folded,
    right_aligned,
    side_by_side,
    stripped,
    wrap_words,
)
from transformer_mt.drawing.shading import CELL, Shading
from transformer_mt.inspection.matrices import Labels, Weights

_NARROWEST_GUTTER = 6


def render_map(
    weights: Sequence[Weights], *, title: str, rows: Labels, columns: Labels, width: int, shading: Shading
) -> list[Text]:
    """A map as lines of at most `width` terminal cells: the title, then one block of columns or several.

    Every column's label stands above it, as high as it must for its neighbours to be read; a thin line leads down
    to the numbers. Columns that do not fit make another block below, labels that do not fit are folded, and nothing is
    cut. Labels may be any text: none of it is taken for markup or reaches the terminal as a command. A `width` below
    `NARROWEST` counts as that.
    """
    page = _Page.of(rows, columns, width=width, shading=shading)
    lines = page.wrapped(title)
    for first, end in _blocks(len(columns), capacity=page.room // CELL):
        lines += page.heading(first, end)
        # A number stands one column behind its shade.
        lines += page.header(first, end, start=page.gutter + 2, step=CELL)
        for label, row in zip(page.rows, weights, strict=True):
            lines += page.row(label, [shading.cell(number) for number in row[first:end]])
    return lines


def render_compact(
    panels: Sequence[tuple[str, Sequence[Weights]]],
    *,
    title: str,
    rows: Labels,
    columns: Labels,
    width: int,
    shading: Shading,
) -> list[Text]:
    """Several maps with the same labels, shades alone, as lines of at most `width` terminal cells.

    They stand beside each other as far as they fit, each over its caption; labels stand once a line of maps. A cell is
    two columns wide where all maps then fit on one line, else one. As in `render_map` nothing is cut.
    """
    page = _Page.of(rows, columns, width=width, shading=shading)
    captions = [shading.glyphs.clean(caption) for caption, _ in panels]
    cell = 2 if page.fitting(captions, cells=2 * len(columns)) >= len(panels) else 1
    lines = page.wrapped(title)
    for first, end in _blocks(len(columns), capacity=page.room // cell):
        across = max(1, page.fitting(captions, cells=cell * (end - first)))
        lines += page.heading(first, end)
        for start in range(0, len(panels), across):
            lines += [Text()] if start else []
            maps = [[row[first:end] for row in panel] for _, panel in panels[start : start + across]]
            lines += page.header(first, end, start=page.gutter + 1, step=cell)
            lines += page.panels(maps, captions[start : start + across], cell=cell)
    return lines


@dataclass(frozen=True, slots=True)
class _Label:
    """A column's label in the header: its lines stand on the rows bottom … top, counted from 1 upwards."""

    column: int
    lines: list[str]
    bottom: int

    @property
    def top(self) -> int:
        return self.bottom + len(self.lines) - 1

    @property
    def end(self) -> int:
        """The first terminal column to the right that may be written again, one space left free."""
        return self.column + max(map(cell_len, self.lines)) + 1

    def at(self, row: int, *, leader: str) -> str:
        """What stands in the label's column on a row: its text, the line that leads down from it, or nothing."""
        if row > self.top:
            return ""
        return leader if row < self.bottom else self.lines[self.top - row]


@dataclass(frozen=True, slots=True)
class _Page:
    """Where maps with the same labels are drawn: rows' labels in a gutter at the left, columns' labels above."""

    rows: list[str]
    columns: list[str]
    gutter: int
    width: int
    shading: Shading

    @classmethod
    def of(cls, rows: Labels, columns: Labels, *, width: int, shading: Shading) -> "_Page":
        width = max(width, NARROWEST)
        clean = shading.glyphs.clean
        row_labels, column_labels = list(map(clean, rows)), list(map(clean, columns))
        gutter = min(max(map(cell_len, ["", *row_labels])), max(_NARROWEST_GUTTER, width // 4))
        return cls(row_labels, column_labels, gutter, width, shading)

    @property
    def room(self) -> int:
        """What the gutter leaves for cells."""
        return self.width - self.gutter - 1

    def fitting(self, captions: Sequence[str], *, cells: int) -> int:
        """How many maps of that many terminal columns, with such captions, fit beside each other."""
        return (self.room + len(BLOCK_GAP)) // (max(cells, *map(cell_len, captions)) + len(BLOCK_GAP))

    def wrapped(self, text: str) -> list[Text]:
        """The text in lines, in which too long words are folded."""
        words = self.shading.glyphs.clean(text).split(" ")
        return wrap_words([Text(part) for word in words for part in folded(word, width=self.width)], width=self.width)

    def heading(self, first: int, end: int) -> list[Text]:
        """Which columns come, where they are not all."""
        count = len(self.columns)
        if end - first == count:
            return []
        span = f"columns {first + 1}{self.shading.glyphs.dash}{end}" if end - first > 1 else f"column {end}"
        return [Text(), *self.wrapped(f"{span} of {count}")]

    def header(self, first: int, end: int, *, start: int, step: int) -> list[Text]:
        """The labels above cells that begin at terminal column `start`, as stairs that go down to the right."""
        placed = _place(self.columns[first:end], start=start, step=step, width=self.width)
        lines = []
        for row in range(max(label.top for label in placed), 0, -1):
            line = ""
            for label in placed:
                if text := label.at(row, leader=self.shading.glyphs.leader):
                    line += " " * (label.column - cell_len(line)) + text
            lines.append(Text(line))
        return lines

    def row(self, label: str, cells: Iterable[Text]) -> Iterator[Text]:
        first, *rest = folded(label, width=self.gutter)
        yield stripped(Text.assemble(right_aligned(first, self.gutter), " ", *cells))
        yield from (Text(right_aligned(line, self.gutter)) for line in rest)

    def panels(self, maps: Sequence[Sequence[Weights]], captions: Sequence[str], *, cell: int) -> Iterator[Text]:
        """The rows of maps beside each other, and below them their captions."""
        size = len(maps[0][0]) * cell
        between = self.shading.glyphs.leader.center(len(BLOCK_GAP))
        widths = [max(size, *map(cell_len, captions))] * len(maps)
        for label, *rows in zip(self.rows, *maps, strict=True):
            parts = [Text.assemble(*(self.shading.small_cell(x, width=cell) for x in row)) for row in rows]
            yield from self.row(label, [side_by_side(parts, widths, between=between)])
        if any(captions):
            names = side_by_side([Text(caption) for caption in captions], widths, between=between)
            yield stripped(Text.assemble(" " * (self.gutter + 1), names))


def _place(labels: Labels, *, start: int, step: int, width: int) -> list[_Label]:
    """From right to left, each label just above those that its text reaches over."""
    placed: list[_Label] = []
    for position, text in reversed(list(enumerate(labels))):
        column = start + position * step
        lines = folded(text, width=width - column)
        end = _Label(column, lines, 0).end
        bottom = 1 + max((other.top for other in placed if other.column < end), default=0)
        placed.insert(0, _Label(column, lines, bottom))
    return placed


def _blocks(columns: int, *, capacity: int) -> list[tuple[int, int]]:
    """The fewest blocks of at most `capacity` columns, as equal as they can be."""
    count = max(1, -(-columns // capacity))
    return list(pairwise(columns * i // count for i in range(count + 1)))
