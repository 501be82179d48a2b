"""The pictures of `tmt plot`: what was measured in training, schedules, the encoding of positions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float

from transformer_mt.attention.positions import sinusoids
from transformer_mt.drawing.chart import Panel, Series
from transformer_mt.drawing.chart_svg import chart_svg, heat_map_svg
from transformer_mt.drawing.chart_text import chart_lines, heat_map_lines
from transformer_mt.runs.curves import CURVES, Curves


class Plot(Protocol):
    """A picture and its numbers."""

    def svg(self) -> str:
        """The picture as the content of a file."""

    def lines(self, *, width: int, fine: bool) -> Iterator[str]:
        """The picture as text, in ASCII unless `fine` characters can be printed."""

    def to_json(self) -> dict[str, Any]:
        """The numbers as plain lists, ready for `json.dumps`."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers for `numpy.savez`."""


@dataclass(frozen=True, slots=True)
class RunsPlot:
    """The curves of several runs, in panels: loss, learning rate, BLEU."""

    runs: tuple[Curves, ...]

    @property
    def panels(self) -> list[Panel]:
        """The panels for which anything was measured."""
        losses = [self._series("training_loss", "training", dashed=True), self._series("validation_loss", "validation")]
        loss = tuple(one for pair in zip(*losses, strict=True) for one in pair)
        panels = [
            Panel("loss, nats a target token", "step", loss),
            Panel("learning rate", "step", tuple(self._series("learning_rate", ""))),
            Panel("BLEU on validation", "step", tuple(self._series("bleu", ""))),
        ]
        kept = (Panel(one.title, one.across, tuple(s for s in one.series if s.points)) for one in panels)
        return [panel for panel in kept if panel.series]

    def _series(self, curve: str, name: str, *, dashed: bool = False) -> list[Series]:
        """A curve of every run; it is named after the run only where there are several."""
        several = len(self.runs) > 1
        return [
            Series(" ".join(filter(None, (run.run if several else "", name))), getattr(run, curve), group, dashed)
            for group, run in enumerate(self.runs)
        ]

    def svg(self) -> str:
        """As `Plot` says."""
        return chart_svg(self.panels)

    def lines(self, *, width: int, fine: bool) -> Iterator[str]:
        """As `Plot` says."""
        return chart_lines(self.panels, width=width, fine=fine)

    def to_json(self) -> dict[str, Any]:
        """Key: `runs`, each with what `Curves` has."""
        return {"runs": [run.to_json() for run in self.runs]}

    def arrays(self) -> dict[str, np.ndarray]:
        """`runs`, their names, and of run n `n.training_loss` and so on, pairs of step and value."""
        names = {"runs": np.array([run.run for run in self.runs])}
        return names | {
            f"{number}.{curve}": np.array(getattr(run, curve), np.float64).reshape(-1, 2)
            for number, run in enumerate(self.runs)
            for curve in CURVES
        }


@dataclass(frozen=True, slots=True)
class SchedulesPlot:
    """Learning rates over the steps of a training, each with its name."""

    curves: tuple[Series, ...]

    @property
    def panel(self) -> Panel:
        """All in one panel."""
        return Panel("learning rate", "step", self.curves)

    def svg(self) -> str:
        """As `Plot` says."""
        return chart_svg([self.panel])

    def lines(self, *, width: int, fine: bool) -> Iterator[str]:
        """As `Plot` says."""
        return chart_lines([self.panel], width=width, fine=fine)

    def to_json(self) -> dict[str, Any]:
        """Key: `curves`, each with its `name` and its `points`."""
        return {"curves": [{"name": one.name, "points": [[*point] for point in one.points]} for one in self.curves]}

    def arrays(self) -> dict[str, np.ndarray]:
        """`names`, and `n` for the pairs of curve n."""
        found = {"names": np.array([one.name for one in self.curves])}
        return found | {str(number): np.array(one.points) for number, one in enumerate(self.curves)}


@dataclass(frozen=True, slots=True)
class PositionsPlot:
    """The sinusoidal encoding: a row for each position, from 0, a column for each feature."""

    rows: Float[np.ndarray, "N D"]

    def svg(self) -> str:
        """As `Plot` says."""
        return heat_map_svg(self.rows, title="sinusoidal encoding", down="positions", across="features")

    def lines(self, *, width: int, fine: bool) -> Iterator[str]:
        """As `Plot` says, the features from the left as far as there is room."""
        length, features = self.rows.shape
        yield f"sinusoidal encoding: {length} positions down, {features} features across; blank -1, full 1"
        yield from heat_map_lines(self.rows, width=width, fine=fine)

    def to_json(self) -> dict[str, Any]:
        """Key: `rows`."""
        return {"rows": np.round(self.rows.astype(np.float64), 6).tolist()}

    def arrays(self) -> dict[str, np.ndarray]:
        """`rows`."""
        return {"rows": self.rows}


def plot_runs(runs: Sequence[Curves]) -> RunsPlot:
    """Loss, learning rate and BLEU of these runs."""
    return RunsPlot(tuple(runs))


def plot_positions(*, width: int, length: int) -> PositionsPlot:
    """The sinusoidal encoding (Vaswani et al. 2017, §3.5) of the first positions in a model of that width."""
    return PositionsPlot(sinusoids(0, length, width=width, device=torch.device("cpu")).numpy())
