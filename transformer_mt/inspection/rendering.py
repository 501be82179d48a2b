"""Matrices as text: the target down the side, the source across, numbers, and shading with or without colour."""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

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

# What one number takes: a shade or a space, three characters of number, and a space.
_CELL = 5
_NARROWEST_GUTTER = 6
# Between what stands side by side.
_GAP = 3
# Numbers within these print in three characters; others are printed in a unit of their own.
_READABLE = (0.05, 99.0)
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


@dataclass(frozen=True, slots=True)
class Scale:
    """How the numbers of a view are shown: shaded by their share of `largest`, printed in multiples of `unit`."""

    largest: float = 1.0
    unit: float = 1.0

    @classmethod
    def of(cls, matrices: Iterable[Sequence[Weights]]) -> "Scale":
        """That of several matrices together, so that a shade means the same in each.

        Shares of 1, such as attention weights, are shaded by themselves, other numbers relative to the largest.
        """
        rows = [[x for x in row if x is not None and math.isfinite(x)] for matrix in matrices for row in matrix]
        if all(map(is_convex, filter(None, rows))):
            return cls()
        largest = max((abs(number) for row in rows for number in row), default=0.0) or 1.0
        readable = _READABLE[0] <= largest < _READABLE[1]
        return cls(largest, 1.0 if readable else 10.0 ** math.floor(math.log10(largest)))


def is_convex(row: Weights, *, tolerance: float = 1e-3) -> bool:
    """Whether the numbers of a row are those of a convex combination: none is negative, and they sum to 1."""
    numbers = [number for number in row if number is not None]
    return all(number >= 0.0 for number in numbers) and abs(sum(numbers) - 1.0) <= tolerance


@dataclass(frozen=True, slots=True)
class Shading(ABC):
    """How a number is shaded: by its size, whatever its sign. From each of the `levels` on the next shade holds."""

    shares: ClassVar[tuple[float, ...]]

    glyphs: Glyphs = UNICODE
    scale: Scale = field(default_factory=Scale)

    @property
    def levels(self) -> tuple[float, ...]:
        """In the numbers' own unit."""
        return tuple(share * self.scale.largest for share in self.shares)

    @abstractmethod
    def shaded(self, number: float) -> Text:
        """The number in `_CELL` columns."""

    @abstractmethod
    def shade(self, number: float, *, width: int) -> Text:
        """The shade alone in that many columns; where the number is negative, that can be seen too."""

    def cell(self, number: float | None) -> Text:
        """The shaded number; a dot for None, which may not be attended to."""
        return Text(f" {self.glyphs.masked}".ljust(_CELL)) if number is None else self.shaded(number)

    def small_cell(self, number: float | None, *, width: int) -> Text:
        """The same without a number."""
        return Text(self.glyphs.masked.ljust(width)) if number is None else self.shade(number, width=width)

    def level(self, number: float) -> int:
        """How many levels the number reaches."""
        return sum(abs(number) >= level for level in self.levels)

    def printed(self, number: float) -> str:
        """The number in three characters, in the scale's unit."""
        return format_weight(number / self.scale.unit)


class Blocks(Shading):
    """Shade characters in front of the numbers: plain text, for files and terminals without colour."""

    shares = (0.05, 0.25, 0.5, 0.75)

    @override
    def shaded(self, number: float) -> Text:
        """For example `▒.42`."""
        return Text(f"{self.glyphs.shades[self.level(number)]}{self.printed(number)} ")

    @override
    def shade(self, number: float, *, width: int) -> Text:
        ramp = self.glyphs.negative if number < 0.0 else self.glyphs.shades
        return Text(ramp[self.level(number)] * width)


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
    def shaded(self, number: float) -> Text:
        return Text(f" {self.printed(number)} ", style=self.styles[self.level(number)])

    @override
    def shade(self, number: float, *, width: int) -> Text:
        level = self.level(number)
        return Text(("-" if number < 0.0 and level else " ") * width, style=self.styles[level])


def shading_for(console: Console, *, scale: Scale | None = None) -> Shading:
    """Colours where the console shows any, else blocks: off a terminal, under NO_COLOR, on one without colours."""
    kind = Colours if console.color_system and not console.no_color else Blocks
    return kind(glyphs_for(console.encoding), scale or Scale())


def map_title(stack: str, *, layer: int, layers: int, head: int | None, heads: int) -> str:
    """For example `cross-attention, layer 3 of 3, head 2 of 4`; counted from 1, None for the mean over heads."""
    return f"{layer_title(stack, layer=layer, layers=layers)}, {head_title(head, heads=heads)}"


def layer_title(stack: str, *, layer: int, layers: int) -> str:
    """The first part of `map_title`."""
    return f"{STACKS[stack]}, layer {layer} of {layers}"


def head_title(head: int | None, *, heads: int) -> str:
    """The second part of `map_title`."""
    return f"mean of {heads} heads" if head is None else f"head {head} of {heads}"


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
    for first, end in _blocks(len(columns), capacity=page.room // _CELL):
        lines += page.heading(first, end)
        # A number stands one column behind its shade.
        lines += page.header(first, end, start=page.gutter + 2, step=_CELL)
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


def beside(blocks: Sequence[list[Text]], *, width: int) -> list[Text]:
    """Blocks of lines beside each other, as many as fit into `width`, the others below after an empty line."""
    lines: list[Text] = []
    for group in _packed(blocks, width=width):
        widths = [max((line.cell_len for line in block), default=0) for block in group]
        lines += [Text()] if lines else []
        for number in range(max(map(len, group))):
            parts = [block[number] if number < len(block) else Text() for block in group]
            lines.append(_stripped(_columns(parts, widths)))
    return lines


def render_legend(*, width: int, shading: Shading, masked: bool = True) -> list[Text]:
    """What the shades mean, and the sign of cells that are masked, in lines of at most `width` cells."""
    shades = [_stripped(shading.cell(level)) for level in shading.levels]
    return wrap_words([*_words("shades from"), *shades, *_remarks(shading, masked=masked)], width=max(width, NARROWEST))


def render_compact_legend(*, width: int, shading: Shading, masked: bool, negative: bool) -> list[Text]:
    """The same for shades without numbers, and how those of negative numbers look where there are any."""
    words = _words("shades from")
    for level in shading.levels:
        words.append(Text.assemble(shading.shade(level, width=2), f" {shading.printed(level).strip()}"))
    if negative:
        words += [*_words("below zero"), *(shading.shade(-level, width=2) for level in shading.levels)]
    return wrap_words([*words, *_remarks(shading, masked=masked)], width=max(width, NARROWEST))


def _remarks(shading: Shading, *, masked: bool) -> list[Text]:
    scale = shading.scale
    words = _words(f"in units of {scale.unit:g}") if scale.unit != 1.0 else []
    return words + (_words(f"and {shading.glyphs.masked} where nothing may be attended to") if masked else [])


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
        return (self.room + _GAP) // (max(cells, *map(cell_len, captions)) + _GAP)

    def wrapped(self, text: str) -> list[Text]:
        words = self.shading.glyphs.clean(text).split(" ")
        return wrap_words([Text(part) for word in words for part in _folded(word, width=self.width)], width=self.width)

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
        first, *rest = _folded(label, width=self.gutter)
        yield _stripped(Text.assemble(_right(first, self.gutter), " ", *cells))
        yield from (Text(_right(line, self.gutter)) for line in rest)

    def panels(self, maps: Sequence[Sequence[Weights]], captions: Sequence[str], *, cell: int) -> Iterator[Text]:
        """The rows of maps beside each other, and below them their captions."""
        size = len(maps[0][0]) * cell
        between = self.shading.glyphs.leader.center(_GAP)
        widths = [max(size, *map(cell_len, captions))] * len(maps)
        for label, *rows in zip(self.rows, *maps, strict=True):
            parts = [Text.assemble(*(self.shading.small_cell(x, width=cell) for x in row)) for row in rows]
            yield from self.row(label, [_columns(parts, widths, between=between)])
        if any(captions):
            names = _columns([Text(caption) for caption in captions], widths, between=between)
            yield _stripped(Text.assemble(" " * (self.gutter + 1), names))


def _place(labels: Labels, *, start: int, step: int, width: int) -> list[_Label]:
    """From right to left, each label just above those that its text reaches over."""
    placed: list[_Label] = []
    for position, text in reversed(list(enumerate(labels))):
        column = start + position * step
        lines = _folded(text, width=width - column)
        end = _Label(column, lines, 0).end
        bottom = 1 + max((other.top for other in placed if other.column < end), default=0)
        placed.insert(0, _Label(column, lines, bottom))
    return placed


def _packed(blocks: Sequence[list[Text]], *, width: int) -> Iterator[list[list[Text]]]:
    """The blocks in groups that fit beside each other; one that is too wide stands alone."""
    group: list[list[Text]] = []
    used = 0
    for block in blocks:
        size = max((line.cell_len for line in block), default=0)
        if group and used + _GAP + size > width:
            yield group
            group = []
        used = used + _GAP + size if group else size
        group.append(block)
    if group:
        yield group


def _columns(parts: Sequence[Text], widths: Sequence[int], *, between: str = " " * _GAP) -> Text:
    """Texts beside each other, each but the last filled up to its width."""
    line = Text()
    for part, width in zip(parts[:-1], widths, strict=False):
        line.append_text(part).append(" " * (width - part.cell_len) + between)
    return line.append_text(parts[-1])


def _blocks(columns: int, *, capacity: int) -> list[tuple[int, int]]:
    """The fewest blocks of at most `capacity` columns, as equal as they can be."""
    count = max(1, -(-columns // capacity))
    return list(pairwise(columns * i // count for i in range(count + 1)))


def _folded(label: str, *, width: int) -> list[str]:
    return chop_cells(label, width) if label else [""]


def _words(text: str) -> list[Text]:
    return [Text(word) for word in text.split(" ")]


def wrap_words(words: Sequence[Text], *, width: int) -> list[Text]:
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
