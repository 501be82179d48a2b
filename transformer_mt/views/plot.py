"""`tmt plot`: training curves, schedules and position encodings, drawn with characters.

Also draws figures, of matrices too, with matplotlib (extra `plot`), imported on demand.
"""

import io
import logging
import math
import os
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, cycle, zip_longest
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from rich.columns import Columns
from rich.text import Text

from transformer_mt.attention.positions import sinusoids
from transformer_mt.errors import InputError, MachineError, TmtError
from transformer_mt.runs.directory import Run
from transformer_mt.text.terminal import escape_controls
from transformer_mt.training.objective import entropy_of_targets
from transformer_mt.views.matrix import LabelledMatrix, Scale
from transformer_mt.views.rendering import rendered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_LOG = logging.getLogger(__name__)

Coordinate = int | float
Points = Sequence[tuple[Coordinate, Coordinate]]

CHART_ROWS = 10
NARROWEST_CHART = 40
# Positions to show.
SHOWN_POSITIONS = 24
_SHADES = " ░▒▓█"

# The curves of a run: name, kind of record in the metrics, and key.
CURVES = {
    "training_loss": ("training", "loss"),
    "validation_loss": ("validation", "loss"),
    "learning_rate": ("training", "learning_rate"),
    "bleu": ("validation", "bleu"),
}
# Also among the curves: the least possible training loss, at the ends of that curve; empty if unknown.
FLOOR = "training_floor"
Curves = Mapping[str, Points]


def read_curves(run: Run) -> Curves:
    """Read the `CURVES` and `FLOOR` of a run. Raises `InputError` if there are no measurements."""
    points: dict[str, list[tuple[Coordinate, Coordinate]]] = {name: [] for name in CURVES}
    for record in run.metrics():
        for name, (kind, key) in CURVES.items():
            value: Any = record.get(key)
            # Skip bools, NaN, and numbers beyond these bounds: they aren't measurements.
            if record["kind"] == kind and type(value) in (int, float) and (not value or 1e-30 < abs(value) < 1e30):
                points[name].append((record["step"], float(value)))
    if not any(points.values()):
        raise InputError(run.path, "nothing has been measured yet", "train it with tmt train")
    trained = points["training_loss"]
    floor = _training_floor(run)
    return points | {FLOOR: [(step, floor) for step, _ in (trained[0], trained[-1])] if trained and floor else []}


def _training_floor(run: Run) -> float:
    """The least possible training loss of a run, above zero with label smoothing; 0 if unknown."""
    with suppress(TmtError):
        objective = run.config().objective
        if objective.name in ("cross_entropy", "r_drop", "simcut"):  # with a teacher, the targets are its own
            return entropy_of_targets(objective.label_smoothing, run.tokenizer().size)
    return 0.0


@dataclass(frozen=True)
class Series:
    """A curve. Curves of the same `group` (a run) share a colour; secondary ones are `dashed`.

    `margins` are half the intervals of the points, for figures.
    """

    name: str
    points: Points
    group: int = 0
    dashed: bool = False
    margins: Sequence[float] | None = None


@dataclass(frozen=True)
class Panel:
    """Curves over a common horizontal axis; the title has the quantity and its unit.

    `names` are labels of the places 0, 1, … on that axis, for figures.
    """

    title: str
    series: Sequence[Series]
    across: str = "step"
    names: Sequence[str] = ()

    def extent(self, axis: int) -> tuple[float, float]:
        """The ends of an axis (0: horizontal); they differ even if all values are the same."""
        values = [float(point[axis]) for curve in self.series for point in curve.points]
        low = min(values)
        high = max(values)
        if high > low:
            return low, high
        return (low - abs(low) / 2, high + abs(high) / 2) if low else (0.0, 1.0)


@dataclass(frozen=True)
class Plot:
    """A plot: data for JSON, arrays for numpy, lines of text for a `width`, and a picture for a `path`."""

    data: Mapping[str, Any]
    arrays: Mapping[str, Any]
    lines: Callable[..., Iterator[str]]
    picture: Callable[..., bytes]


# The panels of runs: the curves in each, and their names.
_PANELS = {
    "loss, nats per target token": {
        "training_loss": "training",
        "validation_loss": "validation",
        FLOOR: "floor of the smoothed training loss",
    },
    "learning rate": {"learning_rate": ""},
    "BLEU on validation": {"bleu": ""},
}


def plot_runs(runs: Mapping[str, Curves]) -> Plot:
    """Plot loss, learning rate and BLEU of runs by name, if measured.

    Arrays: `runs`, the names; for run n (from 0), `n.training_loss` and so on, pairs of step and value.
    """
    panels = []
    for title, names in _PANELS.items():
        series = [
            Series(f"{run if len(runs) > 1 else ''} {name}".strip(), curves[curve], group, curve.startswith("training"))
            for group, (run, curves) in enumerate(runs.items())
            for curve, name in names.items()
            if curves.get(curve)
        ]
        if series:
            panels.append(Panel(title, series))
    arrays: dict[str, Any] = {"runs": list(runs)}
    for number, curves in enumerate(runs.values()):
        arrays |= {f"{number}.{name}": np.reshape(points, (-1, 2)) for name, points in curves.items()}
    return _plot_panels(panels, {"runs": [{"run": run, **curves} for run, curves in runs.items()]}, arrays)


def plot_schedules(schedules: Mapping[str, Points]) -> Plot:
    """Plot learning-rate schedules by name over training steps; arrays: `names`, and `n` for curve n (from 0)."""
    series = [Series(name, points, group) for group, (name, points) in enumerate(schedules.items())]
    data = {"curves": [{"name": name, "points": points} for name, points in schedules.items()]}
    arrays = {"names": list(schedules), **{str(curve.group): np.array(curve.points) for curve in series}}
    return _plot_panels([Panel("learning rate", series)], data, arrays)


def _plot_panels(panels: Sequence[Panel], data: Mapping[str, Any], arrays: Mapping[str, Any]) -> Plot:
    return Plot(data, arrays, partial(chart_lines, panels), partial(curves_figure, panels))


def plot_positions(features: int) -> Plot:
    """Plot the sinusoidal encoding (Vaswani et al. 2017, §3.5): a row per position, a column per feature."""
    rows = sinusoids(SHOWN_POSITIONS, features, torch.device("cpu"), torch.float64).numpy()
    title = f"sinusoidal encoding: {SHOWN_POSITIONS} positions down, {features} features across"
    draw = partial(heat_map_lines, rows, title=title), partial(positions_figure, rows, title=title)
    return Plot({"rows": rows}, {"rows": rows}, *draw)


def chart_lines(panels: Sequence[Panel], *, width: int) -> Iterator[str]:
    """Yield the panels, one below the other; each curve is drawn with its own letter."""
    for place, panel in enumerate(panels):
        yield from [""] * (place > 0)
        yield from _chart(panel, max(width, NARROWEST_CHART))


def _chart(panel: Panel, width: int) -> Iterator[str]:
    left, right = panel.extent(0)
    low, high = panel.extent(1)
    numbers = [""] * CHART_ROWS
    for tick in ticks(low, high, most=4):
        numbers[min(CHART_ROWS - 1, int((high - tick) / (high - low) * CHART_ROWS))] = f"{tick:,.6g}"
    gutter = max(map(len, numbers))
    columns = width - gutter - 2
    canvas = np.full((CHART_ROWS, columns), " ")
    names = []
    for letter, curve in zip(cycle(ascii_lowercase), panel.series, strict=False):
        names.append(Text(f"{letter} {escape_controls(curve.name)}"))
        # Interpolates linearly between points.
        xs, ys = np.reshape(curve.points, (-1, 2)).T
        xs = (xs - left) / (right - left) * (columns - 1)
        across = np.arange(round(xs[0]), round(xs[-1]) + 1)
        heights = (np.interp(across, xs, ys) - low) / (high - low)
        canvas[np.minimum(CHART_ROWS - 1, ((1 - heights) * CHART_ROWS).astype(int)), across] = letter
    yield escape_controls(panel.title)
    for number, line in zip(numbers, canvas.tolist(), strict=True):
        yield f"{number:>{gutter}} │{''.join(line)}".rstrip()
    below = " " * gutter
    yield f"{below} └{'─' * columns}"
    yield f"{below}  {_horizontal_axis(panel, columns)}".rstrip()
    if len(names) > 1:
        yield from (f"{below}  {line}" for line in rendered(Columns(names, padding=(0, 3)), width=columns))


def heat_map_lines(rows: Float[np.ndarray, "N D"], *, title: str, width: int) -> Iterator[str]:
    """Yield a heat map of numbers from -1 (blank) to 1 (full), with row numbers; columns that do not fit are cut."""
    yield f"{title}; blank -1, full 1"
    gutter = len(str(len(rows) - 1))
    levels = np.rint((rows[:, : width - gutter - 1] + 1) / 2 * (len(_SHADES) - 1)).astype(int)
    for number, row in enumerate(levels.tolist()):
        yield f"{number:>{gutter}} {''.join(_SHADES[level] for level in row)}".rstrip()


def ticks(low: Coordinate, high: Coordinate, *, most: int) -> list[float]:
    """At most `most` round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (power, 2 * power, 5 * power, 10 * power, 20 * power):
        first = math.ceil(low / step - 1e-9)
        last = math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            return [number * step for number in range(first, last + 1)]
    return []


def _horizontal_axis(panel: Panel, columns: int) -> str:
    """The labels of the axis, each under its place without touching, and the axis name."""
    left, right = panel.extent(0)
    line = ""
    name = f" {escape_controls(panel.across)}"
    for value in ticks(left, right, most=max(2, columns // 14)):
        label = f"{value:,.6g}"
        start = max(0, round((value - left) / (right - left) * (columns - 1)) - len(label) // 2)
        if start + len(label) <= columns - len(name):
            line = f"{line:<{start}}{label}"
    return f"{line:<{columns - len(name)}}{name}"


# Figures for slides and papers

# For each format, the metadata to remove so that files are reproducible.
_FORMATS: dict[str, dict[str, None]] = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
# No math in text, and reproducible ids inside an SVG.
_SETTINGS: Any = {"text.parse_math": False, "text.usetex": False, "svg.hashsalt": "tmt", "svg.fonttype": "none"}
# Inches per cell, and for the labels and title around a matrix.
_CELL = 0.42
_AROUND = 1.6
_PANEL = (7.0, 2.6)
_LARGEST = 60.0
# Larger matrices are drawn without numbers: they would be too small to read.
_MOST_NUMBERS = 1_000


def check_figure(path: Path, *, npz: Path | None) -> None:
    """Raise `InputError` unless the name ends in .png, .pdf or .svg, and if --npz names the same file.

    Raises `MachineError` if matplotlib is not installed.
    """
    if npz and os.path.realpath(npz) == os.path.realpath(path):
        raise InputError("npz", f"{npz} is also the file of the figure", "give another name")
    if path.suffix.lower() not in _FORMATS:
        raise InputError("figure", f"{path} has no known format", "end it in .png, .pdf or .svg")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MachineError("figure", "needs matplotlib", "pip install 'transformer_mt[plot]'") from None


def matrix_figure(
    rows: Sequence[Sequence[LabelledMatrix]],
    *,
    meaning: str,
    path: Path,
    framed: Iterable[tuple[int, int]] = (),
    texts: Sequence[Sequence[str]] | None = None,
) -> bytes:
    """Draw rows of matrices with a common colour scale and its meaning below; return the content of the file.

    `framed` are cells to put a frame around, as row and column. `texts` are shown in the cells in place of numbers.
    """
    from matplotlib.patches import Rectangle

    columns = max(map(len, rows))
    matrices = list(chain(*rows))
    scale = Scale.of(matrix.numbers for matrix in matrices)
    low = -scale.largest if any(matrix.negative for matrix in matrices) else 0.0
    cell = _CELL * (3 if texts else 1)
    width = columns * (_AROUND + cell * max(len(matrix.columns) for matrix in matrices))
    height = sum(_AROUND + _CELL * max(len(matrix.rows) for matrix in row) for row in rows)
    shown = ((one.title, *one.rows, *one.columns) for one in matrices)
    with drawing(width, height + 0.6, *shown, *(texts or ())) as figure:
        axes = figure.subplots(len(rows), columns, squeeze=False)
        for row, places in zip(rows, axes, strict=True):
            for place, matrix in zip_longest(places, row):
                if matrix is None:
                    place.set_axis_off()
                else:
                    image = _draw_matrix(place, matrix, texts, low=low, scale=scale)
                    for i, j in framed:
                        place.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="red", linewidth=2))
        bar = figure.colorbar(image, ax=axes, location="bottom", shrink=min(1.0, 4.0 / width), pad=0.02)
        units = "" if scale.unit == 1.0 else f" Numbers are in units of {scale.unit:g}."
        bar.set_label(textwrap.fill(escape_controls(meaning + units), int(10 * width)))
        return file_content(figure, path)


def curves_figure(panels: Sequence[Panel], *, path: Path) -> bytes:
    """Draw panels of curves, one below the other; return the content of the file."""
    with drawing(_PANEL[0], _PANEL[1] * len(panels), [one.name for each in panels for one in each.series]) as figure:
        for axes, panel in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
            for curve in panel.series:
                style = {"color": f"C{curve.group % 10}", "linestyle": "--" if curve.dashed else "-"}
                style["label"] = f" {escape_controls(curve.name)}"
                axes.errorbar(*zip(*curve.points, strict=True), yerr=curve.margins, capsize=3, **style)
            if panel.names:
                axes.set_xticks(range(len(panel.names)), panel.names)
            axes.set_title(escape_controls(panel.title), fontsize="medium")
            axes.set_xlabel(escape_controls(panel.across))
            axes.grid(alpha=0.3)
            if len(panel.series) > 1:
                axes.legend(fontsize="small")
        return file_content(figure, path)


def positions_figure(rows: Float[np.ndarray, "N D"], *, title: str, path: Path) -> bytes:
    """Draw numbers from -1 to 1, positions down and features across; return the content of the file."""
    with drawing(_PANEL[0], max(_PANEL[1], 0.12 * len(rows) + 1.0)) as figure:
        axes = figure.subplots()
        image = axes.imshow(rows, cmap="RdBu_r", vmin=-1.0, vmax=1.0, aspect="auto", interpolation="nearest")
        axes.set(title=title, xlabel="feature", ylabel="position")
        figure.colorbar(image, ax=axes)
        return file_content(figure, path)


def _draw_matrix(
    axes: "Axes", matrix: LabelledMatrix, texts: Sequence[Sequence[str]] | None, *, low: float, scale: Scale
) -> "AxesImage":
    numbers = np.array(matrix.numbers, float)  # None becomes NaN
    colours: dict[str, Any] = {"cmap": "RdBu_r" if low else "viridis", "vmin": low, "vmax": scale.largest}
    image = axes.imshow(numbers, aspect="auto" if texts else "equal", **colours)
    axes.set_facecolor("0.92")  # masked cells
    room = 14 + 5 * len(matrix.columns)
    title = "\n".join(textwrap.fill(escape_controls(part), room) for part in (matrix.place, matrix.name))
    axes.set_title(title, fontsize="medium")
    axes.set_xticks(range(len(matrix.columns)), map(escape_controls, matrix.columns), rotation=45, ha="left")
    axes.set_yticks(range(len(matrix.rows)), map(escape_controls, matrix.rows))
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
    for (i, j), number in np.ndenumerate(numbers):
        if math.isfinite(number) and numbers.size <= _MOST_NUMBERS:
            share = number / scale.largest
            dark = abs(share) > 0.6 if low else share < 0.6
            style: dict[str, Any] = {"color": "white" if dark else "black", "fontsize": "x-small"}
            text = escape_controls(texts[i][j]) if texts else scale.printed(number).strip()
            axes.text(j, i, text, ha="center", va="center", **style)
    return image


@contextmanager
def drawing(width: float, height: float, *texts: Iterable[str]) -> Iterator["Figure"]:
    """A figure of this size in inches, or smaller if that is too large, in fonts that have the letters of the texts."""
    import matplotlib
    from matplotlib.figure import Figure

    families = _families({letter for letter in chain(*chain(*texts)) if letter.isprintable()})
    with matplotlib.rc_context(_SETTINGS | {"font.family": families}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # missing glyphs, labels that do not fit
        smaller = min(1.0, _LARGEST / max(width, height))
        yield Figure(figsize=(smaller * width, smaller * height), layout="constrained")


def _families(letters: set[str]) -> list[str]:
    """matplotlib's default families plus installed ones with missing letters; warns if some are still missing."""
    from matplotlib import font_manager, rcParams

    families = list(rcParams["font.family"])
    usual = font_manager.findfont(font_manager.FontProperties())
    letters = letters - _letters_in(font_manager.FontEntry(usual), letters)
    # matplotlib's "Last Resort" font draws a box for every letter.
    fonts = [font for font in font_manager.fontManager.ttflist if letters and "Last Resort" not in font.name]
    found = [(font.name, _letters_in(font, letters)) for font in fonts]
    for name, of_font in sorted(found, key=lambda font: -len(font[1])):
        if letters & of_font:
            families.append(name)
            letters = letters - of_font
    if scripts := sorted({unicodedata.name(letter).split()[0] for letter in letters if letter.isalpha()}):
        _LOG.warning("tmt: --figure: no font with %s letters is installed; add one, such as Noto's", ", ".join(scripts))
    return families


def _letters_in(font: Any, letters: set[str]) -> set[str]:
    from matplotlib.ft2font import FT2Font

    with suppress(OSError, RuntimeError):  # the file is missing or damaged
        face = FT2Font(font.fname, face_index=font.index)
        return {letter for letter in letters if face.get_char_index(ord(letter))}
    return set()


def file_content(figure: "Figure", path: Path) -> bytes:
    """The content of the figure's file, in the format of the path's suffix."""
    file = io.BytesIO()
    ending = path.suffix.lower()
    figure.savefig(file, format=ending[1:], dpi=150, metadata=_FORMATS[ending])
    return file.getvalue()
