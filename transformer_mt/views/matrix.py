"""Matrices as text: rows' labels at the left, columns' labels above as stairs, shaded numbers or shades alone."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import ClassVar

from rich.cells import cell_len, chop_cells
from rich.columns import Columns
from rich.console import Console, Group
from rich.style import Style
from rich.text import Text
from typing_extensions import override

from transformer_mt.views.text import clean, format_weight, rendered, wrapped

# A row of a map; None where a query may not attend.
Weights = Sequence[float | None]
Labels = Sequence[str]

# The width of a number: a shade or a space, three characters of number, and a space.
CELL = 5
# Lines never get narrower than this, nor the column of the rows' labels.
NARROWEST, NARROWEST_GUTTER = 20, 6
MASKED, LEADER, GAP = "·", "│", 3
# Numbers within these print in three characters; others are printed in a unit of their own.
READABLE = (0.05, 99.0)


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix to show: numbers, None where a query may not attend, and the labels along both sides.

    `place` and `name` are the parts of its title, as `cross-attention, layer 2 of 3` and `head 1 of 4`; matrices of one
    place have the same labels. `key` is short: `cross.2.1` for a head, `cross.2` for a mean over a layer, `cross` for
    one of the whole model.
    """

    key: str
    place: str
    name: str
    numbers: list[list[float | None]]
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def title(self) -> str:
        return ", ".join(filter(None, (self.place, self.name)))

    @property
    def masked(self) -> bool:
        """Whether there are cells where nothing may be attended to."""
        return any(number is None for row in self.numbers for number in row)

    @property
    def negative(self) -> bool:
        """Whether there are numbers below zero."""
        return any((number or 0.0) < 0.0 for row in self.numbers for number in row)


def is_convex(row: Weights, *, tolerance: float = 1e-3) -> bool:
    """Whether the numbers of a row are those of a convex combination: none is negative, and they sum to 1."""
    numbers = [number for number in row if number is not None]
    return all(number >= 0.0 for number in numbers) and abs(sum(numbers) - 1.0) <= tolerance


@dataclass(frozen=True, slots=True)
class Scale:
    """How the numbers of a view are shown: shaded by their share of `largest`, printed in multiples of `unit`."""

    largest: float = 1.0
    unit: float = 1.0

    @classmethod
    def of(cls, matrices: Iterable[Sequence[Weights]]) -> "Scale":
        """The scale of several matrices together, so that a shade means the same in each.

        Shares of 1, such as attention weights, are shaded by themselves, other numbers relative to the largest.
        """
        rows = [[x for x in row if x is not None and math.isfinite(x)] for matrix in matrices for row in matrix]
        if all(map(is_convex, filter(None, rows))):
            return cls()
        largest = max((abs(number) for row in rows for number in row), default=0.0) or 1.0
        readable = READABLE[0] <= largest < READABLE[1]
        return cls(largest, 1.0 if readable else 10.0 ** math.floor(math.log10(largest)))

    def printed(self, number: float) -> str:
        """The number in three characters, in the scale's unit."""
        return format_weight(number / self.unit)


@dataclass(frozen=True, slots=True)
class Shading(ABC):
    """How a number is shaded: by its size, whatever its sign. From each of the `levels` on the next shade holds."""

    shares: ClassVar[tuple[float, ...]]

    scale: Scale = field(default_factory=Scale)

    @property
    def levels(self) -> tuple[float, ...]:
        return tuple(share * self.scale.largest for share in self.shares)

    @abstractmethod
    def numbered(self, number: float) -> Text:
        """The shaded number in `CELL` columns."""

    @abstractmethod
    def shade(self, number: float, width: int) -> Text:
        """The shade alone; a negative number can be told from a positive one."""

    def cell(self, number: float | None, width: int) -> Text:
        """A cell of the picture, with its number where it is `CELL` columns wide; a dot where nothing may be."""
        if number is None:
            return Text((f" {MASKED}" if width == CELL else MASKED).ljust(width))
        return self.numbered(number) if width == CELL else self.shade(number, width)

    def level(self, number: float) -> int:
        """How many levels the number reaches."""
        return sum(abs(number) >= level for level in self.levels)


class Blocks(Shading):
    """Shade characters in front of the numbers: plain text, for files and terminals without colour."""

    shares = (0.05, 0.25, 0.5, 0.75)
    positive, negative = " ░▒▓█", " -~=≡"

    @override
    def numbered(self, number: float) -> Text:
        return Text(f"{self.positive[self.level(number)]}{self.scale.printed(number)} ")

    @override
    def shade(self, number: float, width: int) -> Text:
        return Text((self.negative if number < 0.0 else self.positive)[self.level(number)] * width)


class Colours(Shading):
    """Backgrounds from near black over blue and green to yellow, each with black or white numbers on it.

    Lightness rises from shade to shade, so they stay in order for colour-blind readers and on a grey projector. Both
    colours of a cell are set, so the terminal's own theme does not matter. They are from the 256-colour palette.
    """

    shares = (0.05, 0.15, 0.3, 0.5, 0.75)
    styles = tuple(
        Style.parse(f"color({number}) on color({background})")
        for number, background in ((250, 234), (231, 18), (231, 24), (16, 36), (16, 148), (16, 226))
    )

    @override
    def numbered(self, number: float) -> Text:
        return Text(f" {self.scale.printed(number)} ", style=self.styles[self.level(number)])

    @override
    def shade(self, number: float, width: int) -> Text:
        level = self.level(number)
        return Text(("-" if number < 0.0 and level else " ") * width, style=self.styles[level])


def shading_for(console: Console, scale: Scale) -> Shading:
    """Colours where the console shows any, else blocks: off a terminal, under NO_COLOR, on one without colours."""
    return Colours(scale) if console.color_system and not console.no_color else Blocks(scale)


def matrix_lines(matrices: Sequence[Matrix], *, width: int, shading: Shading, compact: bool = False) -> list[Text]:
    """Matrices beside each other as far as they fit, as lines of at most `width` terminal cells.

    Every column's label stands above it, as high as it must for its neighbours to be read; a thin line leads down
    to the numbers. Columns that do not fit make another block below, labels that do not fit are folded, and nothing is
    cut. Labels may be any text: none of it is taken for markup or reaches the terminal as a command. A `width` below
    `NARROWEST` counts as that.

    `compact` shows shades alone, of which several matrices of one place share their labels.
    """
    width = max(width, NARROWEST)
    if compact:
        groups = [list(group) for _, group in groupby(matrices, lambda one: (one.place, one.rows, one.columns))]
    else:
        groups = [[matrix] for matrix in matrices]
    blocks = [_block(group, width=width, shading=shading, compact=compact) for group in groups]
    if len(blocks) == 1:
        return blocks[0]
    return rendered(Columns([Group(*block) for block in blocks], padding=(1, GAP, 1, 0)), width=width)


def legend(matrices: Sequence[Matrix], *, width: int, shading: Shading, compact: bool = False) -> list[Text]:
    """The meaning of the shades, and of the signs for masked cells and numbers below zero where there are any."""
    parts = [Text("shades from")]
    for level in shading.levels:
        if compact:
            parts.append(Text.assemble(shading.shade(level, 2), f" {shading.scale.printed(level).strip()}"))
        else:
            parts.append(shading.numbered(level))
    if compact and any(matrix.negative for matrix in matrices):
        parts += [Text("below zero"), *(shading.shade(-level, 2) for level in shading.levels)]
    if shading.scale.unit != 1.0:
        parts.append(Text(f"in units of {shading.scale.unit:g}"))
    if any(matrix.masked for matrix in matrices):
        parts.append(Text(f"and {MASKED} where nothing may be attended to"))
    for part in parts:
        if not part.style:  # a shade may be a space
            part.rstrip()
    return rendered(Text(" ").join(parts), width=max(width, NARROWEST))


def _block(group: Sequence[Matrix], *, width: int, shading: Shading, compact: bool) -> list[Text]:
    """Matrices with the same labels: the title, then one block of columns or several."""
    page = _Page.of(group[0].rows, group[0].columns, width=width)
    captions = [clean(matrix.name) for matrix in group] if compact else [""]
    cell = CELL
    if compact:  # wide cells if all then fit on one line
        cell = 2 if page.fitting(captions, cells=2 * len(page.columns)) >= len(group) else 1
    lines = [Text(line) for line in wrapped(group[0].place if compact else group[0].title, width=width)]
    for first, end in _column_blocks(len(page.columns), capacity=page.room // cell):
        across = max(1, page.fitting(captions, cells=cell * (end - first)))
        lines += page.heading(first, end)
        for start in range(0, len(group), across):
            lines += [Text()] if start else []
            # A number stands one column behind its shade.
            lines += page.header(first, end, start=page.gutter + (1 if compact else 2), step=cell)
            panels = [
                [[shading.cell(number, cell) for number in row[first:end]] for row in matrix.numbers]
                for matrix in group[start : start + across]
            ]
            lines += page.panels(panels, captions[start : start + across], size=cell * (end - first))
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

    def at(self, row: int) -> str:
        """The text of the label's column on a row: the label's, the line that leads down from it, or nothing."""
        if row > self.top:
            return ""
        return LEADER if row < self.bottom else self.lines[self.top - row]


@dataclass(frozen=True, slots=True)
class _Page:
    """Where matrices with the same labels are drawn: rows' labels in a gutter at the left, columns' labels above."""

    rows: list[str]
    columns: list[str]
    gutter: int
    width: int

    @classmethod
    def of(cls, rows: Labels, columns: Labels, *, width: int) -> "_Page":
        row_labels, column_labels = list(map(clean, rows)), list(map(clean, columns))
        gutter = min(max(map(cell_len, ["", *row_labels])), max(NARROWEST_GUTTER, width // 4))
        return cls(row_labels, column_labels, gutter, width)

    @property
    def room(self) -> int:
        """The columns that the gutter leaves for cells."""
        return self.width - self.gutter - 1

    def fitting(self, captions: Sequence[str], *, cells: int) -> int:
        """How many matrices of that many terminal columns, with such captions, fit beside each other."""
        return (self.room + GAP) // (max(cells, *map(cell_len, captions)) + GAP)

    def heading(self, first: int, end: int) -> list[Text]:
        """The numbers of the columns that come, where they are not all."""
        count = len(self.columns)
        if end - first == count:
            return []
        span = f"columns {first + 1}–{end}" if end - first > 1 else f"column {end}"
        return [Text(), *map(Text, wrapped(f"{span} of {count}", width=self.width))]

    def header(self, first: int, end: int, *, start: int, step: int) -> list[Text]:
        """The labels above cells that begin at terminal column `start`, as stairs that go down to the right."""
        placed = _place(self.columns[first:end], start=start, step=step, width=self.width)
        lines = []
        for row in range(max(label.top for label in placed), 0, -1):
            line = ""
            for label in placed:
                if text := label.at(row):
                    line += " " * (label.column - cell_len(line)) + text
            lines.append(Text(line))
        return lines

    def panels(self, panels: Sequence[Sequence[list[Text]]], captions: Sequence[str], *, size: int) -> Iterator[Text]:
        """The rows of matrices beside each other, and below them their captions."""
        width = max(size, *map(cell_len, captions))
        for label, *rows in zip(self.rows, *panels, strict=True):
            first, *rest = _folded(label, self.gutter)
            yield self._line(first, [Text.assemble(*row) for row in rows], width)
            yield from (self._line(line, [], width) for line in rest)
        if any(captions):
            yield self._line("", [Text(caption) for caption in captions], width)

    def _line(self, label: str, parts: Sequence[Text], width: int) -> Text:
        line = Text(" " * (self.gutter - cell_len(label)) + label + (" " if parts else ""))
        for number, part in enumerate(parts):
            if number:
                line.append(LEADER.center(GAP))
            line.append_text(part)
            if number < len(parts) - 1:
                line.append(" " * (width - part.cell_len))
        if not line.spans:
            line.rstrip()
        return line


def _place(labels: Labels, *, start: int, step: int, width: int) -> list[_Label]:
    """From right to left, each label just above those that its text reaches over."""
    placed: list[_Label] = []
    for position, text in reversed(list(enumerate(labels))):
        column = start + position * step
        lines = _folded(text, width - column)
        end = _Label(column, lines, 0).end
        bottom = 1 + max((other.top for other in placed if other.column < end), default=0)
        placed.insert(0, _Label(column, lines, bottom))
    return placed


def _folded(text: str, width: int) -> list[str]:
    return chop_cells(text, width) if text else [""]


def _column_blocks(columns: int, *, capacity: int) -> list[tuple[int, int]]:
    """The fewest blocks of at most `capacity` columns, as equal as they can be."""
    count = max(1, -(-columns // capacity))
    return list(pairwise(columns * i // count for i in range(count + 1)))
