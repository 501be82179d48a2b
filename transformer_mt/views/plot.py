"""`tmt plot`: curves of training, schedules and the encoding of positions, drawn with characters."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from string import ascii_lowercase
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from rich.columns import Columns
from rich.text import Text

from transformer_mt.attention.positions import sinusoids
from transformer_mt.errors import InputError
from transformer_mt.runs.directory import Run
from transformer_mt.views.figure import curves_figure, positions_figure
from transformer_mt.views.text import escape_controls, rendered

# Steps are whole numbers.
Number = int | float
Points = Sequence[tuple[Number, Number]]
# Characters in rows.
Canvas = Shaped[np.ndarray, "N D"]

ROWS, NARROWEST = 10, 40
# Positions that are shown on a screen.
POSITIONS = 24
_SHADES = " ░▒▓█"

# The curves of a run: their name, the kind of line in the metrics, and the key in it.
CURVES = {
    "training_loss": ("training", "loss"),
    "validation_loss": ("validation", "loss"),
    "learning_rate": ("training", "learning_rate"),
    "bleu": ("validation", "bleu"),
}
# Losses in nats a target token, learning rate, BLEU, each by step.
Curves = Mapping[str, Points]


def read_curves(run: Run) -> Curves:
    """The `CURVES` of a run, of all measurements in its metrics. Raises `InputError` where there are none."""
    points: dict[str, list[tuple[Number, Number]]] = {name: [] for name in CURVES}
    for record in run.metrics():
        for name, (kind, key) in CURVES.items():
            value: Any = record.get(key)
            if record["kind"] == kind and type(value) in (int, float) and math.isfinite(value):  # a bool is no number
                points[name].append((record["step"], float(value)))
    if not any(points.values()):
        raise InputError(f"{run.path}: nothing has been measured yet; train it with tmt train")
    return points


@dataclass(frozen=True, slots=True)
class Series:
    """A curve. The curves of one `group` (a run) share a colour; a `dashed` one is the lesser of its group."""

    name: str
    points: Points
    group: int = 0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over one horizontal axis; the title says what is measured, and in which unit."""

    title: str
    series: Sequence[Series]
    across: str = "step"

    def extent(self, axis: int) -> tuple[float, float]:
        """The ends of an axis, 0 the horizontal one; they are apart even where all values are the same."""
        values = [float(point[axis]) for curve in self.series for point in curve.points]
        low, high = min(values), max(values)
        if high > low:
            return low, high
        return (low - abs(low) / 2, high + abs(high) / 2) if low else (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot as numbers for JSON and for numpy, as lines of text for a `width`, and as a picture for a `path`."""

    data: Mapping[str, Any]
    arrays: Mapping[str, Any]
    lines: Callable[..., Iterator[str]]
    picture: Callable[..., bytes]


# The panels of runs: the curves in each, and their names.
_PANELS = {
    "loss, nats a target token": {"training_loss": "training", "validation_loss": "validation"},
    "learning rate": {"learning_rate": ""},
    "BLEU on validation": {"bleu": ""},
}


def plot_runs(runs: Mapping[str, Curves]) -> Plot:
    """Loss, learning rate and BLEU of runs by their names, as far as they were measured.

    A curve is named after its run only where there are several. Arrays: `runs`, the names, and of run n, from 0,
    `n.training_loss` and so on, pairs of step and value.
    """
    panels = []
    for title, names in _PANELS.items():
        series = [
            Series(f"{run if len(runs) > 1 else ''} {name}".strip(), curves[curve], group, curve == "training_loss")
            for group, (run, curves) in enumerate(runs.items())
            for curve, name in names.items()
            if curves[curve]
        ]
        if series:
            panels.append(Panel(title, series))
    arrays: dict[str, Any] = {"runs": [*runs]}
    for number, curves in enumerate(runs.values()):
        arrays |= {f"{number}.{name}": np.reshape(points, (-1, 2)) for name, points in curves.items()}
    return _plot_panels(panels, {"runs": [{"run": run, **curves} for run, curves in runs.items()]}, arrays)


def plot_schedules(schedules: Mapping[str, Points]) -> Plot:
    """Learning rates over the steps of a training by their names; arrays: `names`, and `n` for curve n, from 0."""
    series = [Series(name, points, group) for group, (name, points) in enumerate(schedules.items())]
    data = {"curves": [{"name": name, "points": points} for name, points in schedules.items()]}
    arrays = {"names": [*schedules], **{str(curve.group): np.array(curve.points) for curve in series}}
    return _plot_panels([Panel("learning rate", series)], data, arrays)


def _plot_panels(panels: Sequence[Panel], data: Mapping[str, Any], arrays: Mapping[str, Any]) -> Plot:
    return Plot(data, arrays, partial(chart_lines, panels), partial(curves_figure, panels))


def plot_positions(features: int) -> Plot:
    """The sinusoidal encoding (Vaswani et al. 2017, §3.5) of the first positions: a row each, a column a feature."""
    rows = sinusoids(POSITIONS, features, torch.device("cpu"), torch.float64).numpy()
    title = f"sinusoidal encoding: {POSITIONS} positions down, {features} features across"
    draw = partial(heat_map_lines, rows, title=title), partial(positions_figure, rows, title=title)
    return Plot({"rows": rows}, {"rows": rows}, *draw)


def chart_lines(panels: Sequence[Panel], *, width: int) -> Iterator[str]:
    """The panels one above the other; every curve is drawn with a letter of its own."""
    for number, panel in enumerate(panels):
        yield from [""] * (number > 0)
        yield from _panel(panel, width=max(width, NARROWEST))


def heat_map_lines(rows: Float[np.ndarray, "N D"], *, title: str, width: int) -> Iterator[str]:
    """Numbers from -1 (blank) to 1 (full), rows with their number, the columns from the left as far as they fit."""
    yield f"{title}; blank -1, full 1"
    gutter = len(str(len(rows) - 1))
    levels = np.rint((rows[:, : width - gutter - 1] + 1) / 2 * (len(_SHADES) - 1)).astype(int)
    for number, row in enumerate(levels.tolist()):
        yield f"{number:>{gutter}} {''.join(_SHADES[level] for level in row)}".rstrip()


def ticks(low: Number, high: Number, *, most: int) -> list[float]:
    """At most this many round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (power, 2 * power, 5 * power, 10 * power, 20 * power):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            return [number * step for number in range(first, last + 1)]
    return []


def _panel(panel: Panel, *, width: int) -> Iterator[str]:
    low, high = panel.extent(1)
    labels = {min(ROWS - 1, int((high - tick) / (high - low) * ROWS)): tick for tick in ticks(low, high, most=4)}
    numbers = [f"{labels[row]:,.6g}" if row in labels else "" for row in range(ROWS)]
    gutter = max(map(len, numbers))
    columns = width - gutter - 2
    canvas = np.full((ROWS, columns), " ")
    for letter, curve in zip(cycle(ascii_lowercase), panel.series, strict=False):
        _draw(canvas, panel, curve, letter)
    yield escape_controls(panel.title)
    for number, line in zip(numbers, canvas.tolist(), strict=True):
        yield f"{number:>{gutter}} │{''.join(line)}".rstrip()
    yield f"{'':>{gutter}} └{'─' * columns}"
    yield f"{'':>{gutter}}  {_horizontal_axis(panel, columns)}".rstrip()
    if len(panel.series) > 1:
        letters = zip(cycle(ascii_lowercase), panel.series, strict=False)
        names = [Text(f"{letter} {escape_controls(curve.name)}") for letter, curve in letters]
        yield from (f"{'':>{gutter}}  {line}" for line in rendered(Columns(names, padding=(0, 3)), width=columns))


def _draw(canvas: Canvas, panel: Panel, curve: Series, letter: str) -> None:
    """Put the letter where the curve goes, straight between its points, in each column that it reaches."""
    (left, right), (low, high) = panel.extent(0), panel.extent(1)
    rows, columns = canvas.shape
    xs, ys = np.reshape(curve.points, (-1, 2)).T
    xs = (xs - left) / (right - left) * (columns - 1)
    across = np.arange(round(xs[0]), round(xs[-1]) + 1)
    heights = (np.interp(across, xs, ys) - low) / (high - low)
    canvas[np.minimum(rows - 1, ((1 - heights) * rows).astype(int)), across] = letter


def _horizontal_axis(panel: Panel, columns: int) -> str:
    """The numbers of the axis, each under its place and too few to touch, and its name."""
    left, right = panel.extent(0)
    line, name = "", f" {escape_controls(panel.across)}"
    for value in ticks(left, right, most=max(2, columns // 14)):
        label = f"{value:,.6g}"
        start = max(0, round((value - left) / (right - left) * (columns - 1)) - len(label) // 2)
        if start + len(label) <= columns - len(name):
            line = f"{line:<{start}}{label}"
    return f"{line:<{columns - len(name)}}{name}"
