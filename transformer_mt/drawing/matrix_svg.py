"""Matrices as a picture in SVG 1.1: for slides and papers, light and dark, readable without telling colours apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, radians, sin

from transformer_mt.drawing.numbers import Scale
from transformer_mt.drawing.svg import FONT, document, escaped, text_width
from transformer_mt.inspection.matrices import Matrix
from transformer_mt.views.text import format_weight

# Shades from none to most as (background, ink of numbers); lightness falls in light pictures and rises in dark ones.
_LIGHT: tuple[tuple[str, str], ...] = (
    ("#ffffff", "#555555"),
    ("#dbe9f6", "#000000"),
    ("#a6c8e8", "#000000"),
    ("#5f9bd1", "#000000"),
    ("#2767ae", "#ffffff"),
    ("#0b3c7d", "#ffffff"),
    ("#051d42", "#ffffff"),
)
_DARK: tuple[tuple[str, str], ...] = (
    ("#14181f", "#9aa4b2"),
    ("#1c2f4d", "#ffffff"),
    ("#27507f", "#ffffff"),
    ("#3a78b5", "#ffffff"),
    ("#6ba6dc", "#000000"),
    ("#a9d0f5", "#000000"),
    ("#e8f4ff", "#000000"),
)
# The shares of the largest number from which each next shade holds.
_SHARES = (0.05, 0.15, 0.3, 0.45, 0.6, 0.8)

_MARGIN = 12
_PLACES = ".row{text-anchor:end}.n text{text-anchor:middle;font-size:11px}.title{font-weight:bold}"


def render_svg(matrices: Sequence[Sequence[Matrix]], *, meaning: str) -> str:
    """A picture of lines of matrices, as a complete file; a single matrix has its numbers in it.

    The shades are those of all matrices together. For screen readers the picture has a title and a description, which
    gives the largest number of each row and then the `meaning` of numbers.
    """
    scale = Scale.of(matrix.numbers for line in matrices for matrix in line)
    titles = [matrix.title for line in matrices for matrix in line]
    single = len(titles) == 1
    described = _described(matrices[0][0], scale) if single else ""
    body, width, height = [], 0.0, float(_MARGIN)
    for line in matrices:
        left, bottom = float(_MARGIN), height
        for matrix in line:
            panel = _Panel(matrix, scale, cell=34 if single else 14, numbers=single)
            body += [f'<g transform="translate({left:.0f} {height:.0f})">', *panel.parts(), "</g>"]
            left += panel.width + _MARGIN
            bottom = max(bottom, height + panel.height + 2 * _MARGIN)
        width, height = max(width, left), bottom
    if single and scale.unit != 1.0:
        body.append(f'<text x="{_MARGIN}" y="{height:.0f}">{_in_units(scale)}</text>')
        height += _MARGIN + FONT / 2
    return document(
        body,
        width=width,
        height=height,
        title=titles[0] if single else f"{titles[0]}, and {len(titles) - 1} more",
        description=f"{described}{meaning}",
        light=f"{_PLACES}{_theme(_LIGHT)}",
        dark=_theme(_DARK),
    )


def _in_units(scale: Scale) -> str:
    return f"in units of {scale.unit:g}"


@dataclass(frozen=True)
class _Panel:
    """One matrix: its title, the columns' labels, then rows of cells."""

    matrix: Matrix
    scale: Scale
    cell: int
    numbers: bool

    @property
    def angle(self) -> int:
        """How far labels of columns lean: small cells need them steep, or they would overlap."""
        return 45 if self.numbers else 62

    @property
    def left(self) -> float:
        """Where cells begin."""
        return max(map(text_width, self.matrix.rows), default=0.0) + 6

    @property
    def top(self) -> float:
        """Where cells begin, below the title and the leaning labels."""
        return 20 + max(map(text_width, self.matrix.columns), default=0.0) * sin(radians(self.angle)) + FONT

    @property
    def width(self) -> float:
        """Labels of the last columns reach over the cells."""
        ends = (
            (j + 0.5) * self.cell + text_width(label) * cos(radians(self.angle))
            for j, label in enumerate(self.matrix.columns)
        )
        cells = self.left + max(max(ends, default=0.0) + FONT, len(self.matrix.columns) * self.cell)
        return max(cells, text_width(self.matrix.title))

    @property
    def height(self) -> float:
        return self.top + len(self.matrix.rows) * self.cell

    def parts(self) -> Iterator[str]:
        """The elements of the panel; its left upper corner is at 0 0."""
        yield f'<text class="title" x="0" y="{FONT}">{escaped(self.matrix.title)}</text>'
        for j, label in enumerate(self.matrix.columns):
            place = f"translate({self.left + (j + 0.5) * self.cell:.0f} {self.top - 6:.0f}) rotate(-{self.angle})"
            yield f'<text transform="{place}">{escaped(label)}</text>'
        for i, label in enumerate(self.matrix.rows):
            y = self.top + (i + 0.5) * self.cell + 4
            yield f'<text class="row" x="{self.left - 6:.0f}" y="{y:.0f}">{escaped(label)}</text>'
        yield f'<g transform="translate({self.left:.0f} {self.top:.0f})">'
        yield from self._cells()
        yield "</g>"

    def _cells(self) -> Iterator[str]:
        """One path a shade, with neighbours of a row joined; then what is masked or negative; then numbers."""
        size = self.cell
        shades = [[_level(number, self.scale) for number in row] for row in self.matrix.numbers]
        frame = f"M0 0h{size * len(self.matrix.columns)}v{size * len(shades)}H0z"
        yield f'<path class="c0" d="{frame}"/>'
        for level in range(1, len(_LIGHT)):
            yield from _path(f"c{level}", (self._run(*run) for run in _runs(shades, level)))
        masked = [[int(number is None) for number in row] for row in self.matrix.numbers]
        yield from _path("masked", (self._run(*run) for run in _runs(masked, 1)))
        yield f'<path class="frame" d="{frame}"/>'
        if self.numbers:
            yield from ('<g class="n">', *self._numbers(shades), "</g>")
        else:
            yield from self._signs(shades)

    def _run(self, row: int, first: int, end: int) -> str:
        size = self.cell
        return f"M{first * size} {row * size}h{(end - first) * size}v{size}h-{(end - first) * size}z"

    def _signs(self, shades: list[list[int]]) -> Iterator[str]:
        """A minus sign in each cell that is shaded and negative, in the ink of its shade."""
        for level in range(1, len(_LIGHT)):
            negative = (
                f"M{j * self.cell + 4} {i * self.cell + self.cell // 2}h{self.cell - 8}"
                for i, (row, levels) in enumerate(zip(self.matrix.numbers, shades, strict=True))
                for j, (number, found) in enumerate(zip(row, levels, strict=True))
                if number is not None and number < 0.0 and found == level
            )
            yield from _path(f"s{level}", negative)

    def _numbers(self, shades: list[list[int]]) -> Iterator[str]:
        """Every number that does not round to zero, in the ink of its shade."""
        for i, (row, levels) in enumerate(zip(self.matrix.numbers, shades, strict=True)):
            for j, (number, level) in enumerate(zip(row, levels, strict=True)):
                text = "" if number is None else format_weight(number / self.scale.unit).strip()
                if text not in ("", ".00"):
                    x, y = (j + 0.5) * self.cell, (i + 0.5) * self.cell + 4
                    yield f'<text class="n{level}" x="{x:.0f}" y="{y:.0f}">{text}</text>'


def _described(matrix: Matrix, scale: Scale) -> str:
    """For each row, the column with its largest number."""
    found = []
    for label, row in zip(matrix.rows, matrix.numbers, strict=True):
        numbers = [(number, j) for j, number in enumerate(row) if number is not None]
        if numbers:
            number, j = max(numbers, key=lambda pair: abs(pair[0]))
            found.append(f"{label}: {matrix.columns[j]} {format_weight(number / scale.unit).strip()}. ")
    unit = f"Numbers are {_in_units(scale)}. " if scale.unit != 1.0 else ""
    return "".join([*found, unit])


def _level(number: float | None, scale: Scale) -> int:
    """How many shades the number reaches by its size."""
    return 0 if number is None else sum(abs(number) >= share * scale.largest for share in _SHARES)


def _runs(levels: Sequence[Sequence[int]], level: int) -> Iterator[tuple[int, int, int]]:
    """(row, first, end) of neighbouring cells of that level."""
    for i, row in enumerate(levels):
        first = 0
        for j in range(len(row) + 1):
            if j == len(row) or row[j] != level:
                if j > first:
                    yield i, first, j
                first = j + 1


def _path(name: str, steps: Iterator[str]) -> Iterator[str]:
    if drawn := "".join(steps):
        yield f'<path class="{name}" d="{drawn}"/>'


def _theme(shades: Sequence[tuple[str, str]]) -> str:
    (page, faint), ink = shades[0], shades[-1][0]
    rules = [
        f".page{{fill:{page}}}text{{fill:{ink}}}.c0{{fill:{page}}}.frame{{fill:none;stroke:{faint}}}.n0{{fill:{faint}}}"
    ]
    rules += [f".masked{{fill:{faint};opacity:.3}}"]
    rules += [
        f".c{i}{{fill:{fill}}}.n{i}{{fill:{text}}}.s{i}{{stroke:{text}}}" for i, (fill, text) in enumerate(shades) if i
    ]
    return "".join(rules)
