"""Attention maps as text: the target down the side, the source across, numbers, and shading with or without colour."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.style import Style
from rich.text import Text
from typing_extensions import override

from transformer_mt.inspection.escape import escape_controls
from transformer_mt.names import STACKS

# A row of a map; None where a query may not attend.
Weights = Sequence[float | None]
Labels = Sequence[str]

# Lines never get narrower than this.
NARROWEST = 20

# What one weight takes: a shade or a space, three characters of number, and a space.
_CELL = 5
_NARROWEST_GUTTER = 6
_MASKED = "·"


class Shading(ABC):
    """How a weight is shaded beside its number. `levels` are the weights from which each next shade holds."""

    levels: tuple[float, ...]

    @abstractmethod
    def shaded(self, weight: float) -> Text:
        """The weight, from 0 to 1, in `_CELL` columns."""

    def cell(self, weight: float | None) -> Text:
        """The shaded weight; a dot for None, which may not be attended to."""
        return Text(f" {_MASKED}".ljust(_CELL)) if weight is None else self.shaded(weight)

    def level(self, weight: float) -> int:
        """How many levels the weight reaches."""
        return sum(weight >= level for level in self.levels)


class Blocks(Shading):
    """Shade characters in front of the numbers: plain text, for files and terminals without colour."""

    levels = (0.05, 0.25, 0.5, 0.75)
    shades = " ░▒▓█"

    @override
    def shaded(self, weight: float) -> Text:
        """For example `▒.42`."""
        return Text(f"{self.shades[self.level(weight)]}{format_weight(weight)} ")


class Colours(Shading):
    """Backgrounds from near black over blue and green to yellow, each with black or white numbers on it.

    Lightness rises from shade to shade, so they stay in order for colour-blind readers and on a grey projector. Both
    colours of a cell are set, so the terminal's own theme does not matter. They are from the 256-colour palette.
    """

    levels = (0.05, 0.15, 0.3, 0.5, 0.75)
    styles = tuple(
        Style.parse(f"color({number}) on color({background})")
        for number, background in ((250, 234), (231, 18), (231, 24), (16, 36), (16, 148), (16, 226))
    )

    @override
    def shaded(self, weight: float) -> Text:
        return Text(f" {format_weight(weight)} ", style=self.styles[self.level(weight)])


def shading_for(console: Console) -> Shading:
    """Colours where the console shows any, else blocks: off a terminal, under NO_COLOR, on one without colours."""
    return Colours() if console.color_system and not console.no_color else Blocks()


def map_title(stack: str, *, layer: int, layers: int, head: int | None, heads: int) -> str:
    """For example `cross-attention, layer 3 of 3, head 2 of 4`; counted from 1, None for the mean over heads."""
    which = f"mean of {heads} heads" if head is None else f"head {head} of {heads}"
    return f"{STACKS[stack]}, layer {layer} of {layers}, {which}"


def render_map(
    weights: Sequence[Weights], *, title: str, rows: Labels, columns: Labels, width: int, shading: Shading
) -> list[Text]:
    """A map as lines of at most `width` terminal cells: the title, then one block of columns or several.

    Every column's label stands above it, as high as it must for its neighbours to be read; a thin line leads down
    to the numbers. Columns that do not fit make another block below, labels that do not fit are folded, and nothing is
    cut. Labels may be any text: none of it is taken for markup or reaches the terminal as a command. A `width` below
    `NARROWEST` counts as that.
    """
    width = max(width, NARROWEST)
    row_labels, column_labels = _clean(rows), _clean(columns)
    gutter = min(max(map(cell_len, ["", *row_labels])), max(_NARROWEST_GUTTER, width // 4))
    blocks = _blocks(len(columns), capacity=(width - gutter - 1) // _CELL)
    lines = _wrapped(_words(title), width=width)
    for first, end in blocks:
        if len(blocks) > 1:
            span = f"columns {first + 1}–{end}" if end - first > 1 else f"column {end}"
            lines += [Text(), *_wrapped(_words(f"{span} of {len(columns)}"), width=width)]
        lines += _header(column_labels[first:end], start=gutter + 1, width=width)
        for label, row in zip(row_labels, weights, strict=True):
            lines += _row(label, row[first:end], gutter=gutter, shading=shading)
    return lines


def render_legend(*, width: int, shading: Shading) -> list[Text]:
    """What the shades mean, in lines of at most `width` cells."""
    shades = [_stripped(shading.cell(level)) for level in shading.levels]
    words = [*_words("shades from"), *shades, *_words(f"and {_MASKED} where nothing may be attended to")]
    return _wrapped(words, width=max(width, NARROWEST))


def format_weight(weight: float) -> str:
    """A weight from 0 to 1 in three characters: `.42`, `1.0`."""
    text = f"{weight:.2f}"
    return text[1:] if text.startswith("0") else text[:3]


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
        """What stands in the label's column on a row: its text, the line that leads down from it, or nothing."""
        if row > self.top:
            return ""
        return "│" if row < self.bottom else self.lines[self.top - row]


def _header(labels: Labels, *, start: int, width: int) -> list[Text]:
    """The labels above cells that begin at terminal column `start`, as stairs that go down to the right."""
    placed = _place(labels, start=start, width=width)
    lines = []
    for row in range(max(label.top for label in placed), 0, -1):
        line = ""
        for label in placed:
            if text := label.at(row):
                line += " " * (label.column - cell_len(line)) + text
        lines.append(Text(line))
    return lines


def _place(labels: Labels, *, start: int, width: int) -> list[_Label]:
    """From right to left, each label just above those that its text reaches over."""
    placed: list[_Label] = []
    for position, text in reversed(list(enumerate(labels))):
        column = start + position * _CELL + 1  # above the number, not the shade
        lines = _folded(text, width=width - column)
        end = _Label(column, lines, 0).end
        bottom = 1 + max((other.top for other in placed if other.column < end), default=0)
        placed.insert(0, _Label(column, lines, bottom))
    return placed


def _row(label: str, weights: Weights, *, gutter: int, shading: Shading) -> Iterator[Text]:
    first, *rest = _folded(label, width=gutter)
    yield _stripped(Text.assemble(_right(first, gutter), " ", *map(shading.cell, weights)))
    yield from (Text(_right(line, gutter)) for line in rest)


def _blocks(columns: int, *, capacity: int) -> list[tuple[int, int]]:
    """The fewest blocks of at most `capacity` columns, as equal as they can be."""
    count = max(1, -(-columns // capacity))
    return list(pairwise(columns * i // count for i in range(count + 1)))


def _clean(labels: Labels) -> list[str]:
    """Labels that can be measured and printed; one that begins with a combining mark gets a circle to carry it."""
    escaped = map(escape_controls, labels)
    return [f"◌{label}" if label and cell_len(label[0]) == 0 else label for label in escaped]


def _folded(label: str, *, width: int) -> list[str]:
    return chop_cells(label, width) if label else [""]


def _words(text: str) -> list[Text]:
    """The words of a text, safe to print."""
    return [Text(word) for word in escape_controls(text).split(" ")]


def _wrapped(words: Sequence[Text], *, width: int) -> list[Text]:
    """As many words on a line as fit, one space between; none of them is wider than a line."""
    lines = [words[0].copy()]
    for word in words[1:]:
        if lines[-1].cell_len + 1 + word.cell_len <= width:
            lines[-1].append(" ").append_text(word)
        else:
            lines.append(word.copy())
    return lines


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _stripped(line: Text) -> Text:
    """Without spaces at the end, unless they carry a background."""
    if not line.spans:
        line.rstrip()
    return line
