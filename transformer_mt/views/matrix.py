"""Matrices as text: row labels at the left, column labels as stairs above, and shaded numbers or only shades."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from rich.cells import cell_len, chop_cells
from rich.columns import Columns
from rich.console import Console, Group
from rich.style import Style
from rich.text import Text

from transformer_mt.text.direction import isolated
from transformer_mt.text.terminal import escape_controls
from transformer_mt.views.rendering import format_weight, rendered, trimmed, wrapped

# The width of a cell with a number: a shade or a space, three characters, and a space.
CELL = 5
# Minimum width of lines, and of the column of row labels.
NARROWEST = 20
NARROWEST_GUTTER = 6
MASKED = "·"
LEADER = "│"
GAP = 3
# If the largest number is outside this range, numbers are printed in a power of ten, to fit three characters.
READABLE = (0.05, 99.0)


@dataclass(frozen=True, eq=False)
class LabelledMatrix:
    """A matrix to show: numbers, NaN for masked cells, and the labels of both sides.

    The title is `place`, for example `cross-attention, layer 2 of 3`, and `name`, such as `head 1 of 4`. `key` is
    `cross.2.1` for a head, `cross.2` for a layer's mean, `cross` for a matrix of the whole model.
    """

    key: str
    place: str
    name: str
    numbers: Float[np.ndarray, "R C"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def title(self) -> str:
        """`place` and `name`, joined."""
        return ", ".join(filter(None, (self.place, self.name)))

    @property
    def masked(self) -> bool:
        """True if some cells are masked."""
        return bool(np.isnan(self.numbers).any())

    @property
    def negative(self) -> bool:
        """True if some numbers are negative."""
        return bool((self.numbers < 0.0).any())


def is_convex(numbers: Float[np.ndarray, "R C"]) -> bool:
    """True if every row has no negative numbers and sums to 1; fully masked rows do not count."""
    known = np.isfinite(numbers)
    sums = np.where(known, numbers, 0.0).sum(axis=1)[known.any(axis=1)]
    return not (numbers < 0.0).any() and bool((np.abs(sums - 1.0) <= 1e-3).all())


@dataclass(frozen=True)
class Scale:
    """The scale of a matrix: numbers are shaded relative to `largest` and printed in multiples of `unit`."""

    largest: float = 1.0
    unit: float = 1.0

    @classmethod
    def of(cls, matrices: Iterable[Float[np.ndarray, "R C"]]) -> "Scale":
        """The common scale of matrices: 1 if all rows are convex, otherwise the largest absolute number."""
        every = list(matrices)
        if all(map(is_convex, every)):
            return cls()
        sizes = np.abs(np.concatenate([numbers.flatten() for numbers in every]))
        largest = float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0
        readable = READABLE[0] <= largest < READABLE[1]
        return cls(largest, 1.0 if readable else 10.0 ** math.floor(math.log10(largest)))

    def printed(self, number: float) -> str:
        """Format a number in this unit."""
        return format_weight(number / self.unit)


@dataclass(frozen=True)
class Blocks:
    """Shades as characters before the numbers, for files and terminals without colour; without numbers, with signs."""

    scale: Scale = field(default_factory=Scale)

    shares: ClassVar[tuple[float, ...]] = (0.05, 0.25, 0.5, 0.75)
    positive: ClassVar[str] = " ░▒▓█"
    negative: ClassVar[str] = " -~=≡"
    styles: ClassVar[tuple[Style | str, ...]] = ("",) * 5

    @property
    def levels(self) -> tuple[float, ...]:
        """The absolute numbers where each shade begins."""
        return tuple(share * self.scale.largest for share in self.shares)

    def level(self, number: float) -> int:
        """The shade of a number, from 0."""
        return sum(abs(number) >= level for level in self.levels)

    def cell(self, number: float, width: int) -> Text:
        """A cell, with its number if it is `CELL` columns wide; a dot for masked cells."""
        if math.isnan(number):
            return Text((f" {MASKED}" if width == CELL else MASKED).ljust(width))
        level = self.level(number)
        if width == CELL:
            return Text(f"{self.positive[level]}{self.scale.printed(number)} ", style=self.styles[level])
        return Text((self.negative if number < 0.0 else self.positive)[level] * width, style=self.styles[level])


class Colours(Blocks):
    """Background colours from near black through blue and green to yellow, with white or black numbers.

    Lightness rises from shade to shade, so the order is visible to colour-blind readers and in greyscale.
    """

    shares = (0.05, 0.15, 0.3, 0.5, 0.75)
    positive = 6 * " "
    negative = " -----"
    styles = tuple(
        Style.parse(f"color({number}) on color({background})")
        for number, background in ((250, 234), (231, 18), (231, 24), (16, 36), (16, 148), (16, 226))
    )


def shading_for(console: Console, scale: Scale) -> Blocks:
    """Colours if the console has them, otherwise blocks: outside a terminal, under NO_COLOR, without colour support."""
    return Colours(scale) if console.color_system and not console.no_color else Blocks(scale)


def matrix_lines(
    matrices: Sequence[LabelledMatrix], *, width: int, shading: Blocks, compact: bool = False
) -> list[Text]:
    """Draw matrices side by side if they fit, in lines of at most `width` terminal cells (at least `NARROWEST`).

    Columns that do not fit continue in a block below; labels that do not fit are folded. `compact` shows only shades;
    matrices of the same place and labels share the labels.
    """
    width = max(width, NARROWEST)
    groups = [[matrix] for matrix in matrices]
    if compact:
        groups = [list(group) for _, group in groupby(matrices, lambda one: (one.place, one.rows, one.columns))]
    blocks = [list(_block(group, width=width, shading=shading, compact=compact)) for group in groups]
    if len(blocks) == 1:
        return blocks[0]
    return rendered(Columns([Group(*block) for block in blocks], padding=(1, GAP, 1, 0)), width=width)


def legend(matrices: Sequence[LabelledMatrix], *, width: int, shading: Blocks, compact: bool = False) -> list[Text]:
    """Explain the shades, and the signs for masked cells and negative numbers if there are any."""
    parts: list[Text | str] = ["shades from "]
    for level in shading.levels:
        parts.append(shading.cell(level, 2 if compact else CELL))
        parts += [f" {shading.scale.printed(level).strip()} "] if compact else []
    if compact and any(matrix.negative for matrix in matrices):
        parts.append("below zero ")
        for level in shading.levels:
            parts += [shading.cell(-level, 2), " "]
    if shading.scale.unit != 1.0:
        parts.append(f"in units of {shading.scale.unit:g} ")
    if any(matrix.masked for matrix in matrices):
        parts.append(f"and {MASKED} for masked cells")
    return rendered(Text.assemble(*parts), width=max(width, NARROWEST))


def _block(group: Sequence[LabelledMatrix], *, width: int, shading: Blocks, compact: bool) -> Iterator[Text]:
    """Draw matrices with the same labels: the title, then one or more blocks of columns."""
    rows, columns = (list(map(_carried, labels)) for labels in (group[0].rows, group[0].columns))
    gutter = min(max(map(cell_len, rows), default=0), max(NARROWEST_GUTTER, width // 4))
    room = width - gutter - 1
    widest = max(cell_len(_carried(matrix.name)) for matrix in group) if compact else 0
    yield from map(Text, wrapped(group[0].place if compact else group[0].title, width=width))
    cell = CELL
    if compact:  # wide cells if all fit on one line
        cell = 2 if _fitting(2 * len(columns), widest, room=room) >= len(group) else 1
    for first, end, heading in _blocks_of_columns(len(columns), most=room // cell):
        yield from heading
        panels = [_panel(matrix, first, end, shading, cell=cell) for matrix in group]
        beside = max(1, _fitting(cell * (end - first), widest, room=room))
        for start in range(0, len(group), beside):
            if start:
                yield Text()
            # A number is one column right of its shade.
            yield from _stairs(columns[first:end], start=gutter + (1 if compact else 2), step=cell, width=width)
            yield from _beside([*rows, *[""] * compact], panels[start : start + beside], gutter=gutter)


def _panel(matrix: LabelledMatrix, first: int, end: int, shading: Blocks, *, cell: int) -> list[Text]:
    """The lines of these columns, and without numbers the matrix's name below."""
    numbers = matrix.numbers[:, first:end].tolist()
    lines = [Text.assemble(*(shading.cell(number, cell) for number in row)) for row in numbers]
    return lines if cell == CELL else [*lines, Text(_carried(matrix.name))]


def _fitting(cells: int, caption: int, *, room: int) -> int:
    """The number of matrices of this width that fit side by side, with their captions."""
    return (room + GAP) // (max(cells, caption) + GAP)


def _blocks_of_columns(count: int, *, most: int) -> Iterator[tuple[int, int, list[Text]]]:
    """The first column, the end and the heading of each block; the blocks are of nearly equal size."""
    blocks = max(1, math.ceil(count / most))
    for number in range(blocks):
        first, end = count * number // blocks, count * (number + 1) // blocks
        yield first, end, [Text(), Text(f"columns {first + 1}–{end} of {count}")] if blocks > 1 else []


def _carried(text: str) -> str:
    """Escape control characters; put a dotted circle before an initial combining mark."""
    text = escape_controls(text)
    return f"◌{text}" if text and cell_len(text[0]) == 0 else text


def _stairs(labels: Sequence[str], *, start: int, step: int, width: int) -> list[Text]:
    """The column labels, each above the labels to its right that it overlaps, with a line down to its column."""
    lines: list[tuple[int, str]] = []  # from the bottom: start of the line's text, and the text
    for number, text in reversed(list(enumerate(labels))):
        column = start + number * step
        folded = chop_cells(text, width - column) or [""]
        end = column + max(map(cell_len, folded)) + 1  # plus one space
        parts = [LEADER] * sum(begin < end for begin, _ in lines) + folded[::-1]
        lines += [(column, "")] * (len(parts) - len(lines))
        for row, part in enumerate(parts):
            begin, text = lines[row]
            lines[row] = (column, f"{isolated(part)}{' ' * (begin - column - cell_len(part))}{text}")
    return [Text(f"{' ' * begin}{text}".rstrip(" ")) for begin, text in reversed(lines)]


def _beside(labels: Sequence[str], panels: Sequence[Sequence[Text]], *, gutter: int) -> Iterator[Text]:
    """Yield the lines of panels with their labels, folded if too long, and a vertical line between panels."""
    size = max((line.cell_len for panel in panels for line in panel), default=0)
    for label, *cells in zip(labels, *panels, strict=True):
        for cell in cells[:-1]:
            cell.pad_right(size - cell.cell_len)
        beside = Text(f" {LEADER} ").join(cells)
        for part in chop_cells(label, gutter) if label else [""]:
            yield trimmed(Text.assemble(" " * (gutter - cell_len(part)), isolated(part), " ", beside))
            beside = Text()
