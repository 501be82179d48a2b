"""`tmt plot`: training curves, schedules and position encodings, drawn with characters, or by matplotlib."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from rich.columns import Columns
from rich.text import Text

from transformer_mt.attention.positions import sinusoids
from transformer_mt.config.sections import CrossEntropyConfig
from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.runs.directory import Run
from transformer_mt.text.terminal import JsonObject, escape_controls
from transformer_mt.training.objective import entropy_of_targets
from transformer_mt.views.matrix_figure import drawing, file_content
from transformer_mt.views.rendering import rendered
from transformer_mt.views.serialise import to_json

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
    return points | {FLOOR: [(step, floor) for step, _ in trained[:1] + trained[-1:] if floor]}


def _training_floor(run: Run) -> float:
    """The least possible training loss of a run, above zero with label smoothing; 0 if unknown."""
    with suppress(TmtError):
        objective = run.config().objective
        if type(objective) is CrossEntropyConfig:  # a plugin may have other targets
            return entropy_of_targets(objective.label_smoothing, run.tokenizer().size)
    return 0.0


def answer_curves(run: Run, name: str) -> JsonObject:
    """`tmt plot --json` of a run."""
    return to_json(plot_runs({name: read_curves(run)}).data)


@dataclass(frozen=True)
class Series:
    """A curve. Curves of the same `group` (a run) share a colour; secondary ones are `dashed`."""

    name: str
    points: Points
    group: int = 0
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """Curves over a common horizontal axis; the title has the quantity and its unit."""

    title: str
    series: Sequence[Series]
    across: str = "step"

    def extent(self, axis: int) -> tuple[float, float]:
        """The ends of an axis (0: horizontal); they differ even if all values are the same."""
        values = [float(point[axis]) for curve in self.series for point in curve.points]
        low = min(values)
        high = max(values)
        return (low, high) if high > low else (low - abs(low) / 2, high + (abs(high) / 2 or 1.0))


@dataclass(frozen=True)
class Plot:
    """A plot: data for JSON, lines of text for a `width`, and a picture for a `path`."""

    data: Mapping[str, Any]
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
    """Plot loss, learning rate and BLEU of runs by name, if measured."""
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
    return _plot_panels(panels, {"runs": [{"run": run, **curves} for run, curves in runs.items()]})


def plot_schedules(schedules: Mapping[str, Points]) -> Plot:
    """Plot learning-rate schedules by name over training steps."""
    series = [Series(name, points, group) for group, (name, points) in enumerate(schedules.items())]
    data = {"curves": [{"name": name, "points": points} for name, points in schedules.items()]}
    return _plot_panels([Panel("learning rate", series)], data)


def _plot_panels(panels: Sequence[Panel], data: Mapping[str, Any]) -> Plot:
    return Plot(data, partial(chart_lines, panels), partial(curves_figure, panels))


def plot_positions(features: int) -> Plot:
    """Plot the sinusoidal encoding (Vaswani et al. 2017, §3.5): a row per position, a column per feature."""
    rows = sinusoids(SHOWN_POSITIONS, features, torch.device("cpu"), torch.float64).numpy()
    title = f"sinusoidal encoding: {SHOWN_POSITIONS} positions down, {features} features across"
    lines = partial(heat_map_lines, rows, title=title)
    return Plot({"rows": rows}, lines, partial(positions_figure, rows, title=title))


def chart_lines(panels: Sequence[Panel], *, width: int) -> Iterator[str]:
    """Yield the panels, one below the other; each curve is drawn with its own letter."""
    for place, panel in enumerate(panels):
        yield from [""] * (place > 0)
        yield from _chart(panel, max(width, NARROWEST_CHART))


def _chart(panel: Panel, width: int) -> Iterator[str]:
    low, high = panel.extent(1)
    numbers = [""] * CHART_ROWS
    for tick in ticks(low, high, most=4):
        numbers[min(CHART_ROWS - 1, int((high - tick) / (high - low) * CHART_ROWS))] = f"{tick:,.6g}"
    gutter = max(map(len, numbers))
    columns = width - gutter - 2
    yield escape_controls(panel.title)
    for number, line in zip(numbers, _canvas(panel, columns).tolist(), strict=True):
        yield f"{number:>{gutter}} │{''.join(line)}".rstrip()
    below = " " * gutter
    yield f"{below} └{'─' * columns}"
    yield f"{below}  {_horizontal_axis(panel, columns)}".rstrip()
    if len(panel.series) > 1:
        letters = cycle(ascii_lowercase)
        names = [Text(f"{next(letters)} {escape_controls(curve.name)}") for curve in panel.series]
        yield from (f"{below}  {line}" for line in rendered(Columns(names, padding=(0, 3)), width=columns))


def _canvas(panel: Panel, columns: int) -> np.ndarray:
    """The characters of a panel: each curve in its letter, with straight lines between its points."""
    left, right = panel.extent(0)
    low, high = panel.extent(1)
    canvas = np.full((CHART_ROWS, columns), " ")
    for letter, curve in zip(cycle(ascii_lowercase), panel.series, strict=False):
        xs, ys = np.reshape(curve.points, (-1, 2)).T
        xs = (xs - left) / (right - left) * (columns - 1)
        across = np.arange(round(xs[0]), round(xs[-1]) + 1)
        heights = (np.interp(across, xs, ys) - low) / (high - low)
        canvas[np.minimum(CHART_ROWS - 1, ((1 - heights) * CHART_ROWS).astype(int)), across] = letter
    return canvas


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
    for factor in (1, 2, 5, 10, 20):
        step = factor * power
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


_PANEL = (7.0, 2.6)  # inches


def curves_figure(panels: Sequence[Panel], *, path: Path) -> bytes:
    """Draw panels of curves, one below the other; return the content of the file."""
    with drawing(_PANEL[0], _PANEL[1] * len(panels)) as figure:
        for axes, panel in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
            for curve in panel.series:
                style = {"color": f"C{curve.group % 10}", "linestyle": "--" if curve.dashed else "-"}
                axes.plot(*zip(*curve.points, strict=True), label=f" {escape_controls(curve.name)}", **style)
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
