"""What a run has measured while it trained, as curves over the steps."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transformer_mt.errors import InputError, MachineError
from transformer_mt.files import parse_json, read_regular
from transformer_mt.runs.directory import METRICS, METRICS_LIMIT, Run

Points = tuple[tuple[int, float], ...]

# The curves: their name, the kind of line in the metrics, and the key in it.
CURVES = {
    "training_loss": ("training", "loss"),
    "validation_loss": ("validation", "loss"),
    "learning_rate": ("training", "learning_rate"),
    "bleu": ("validation", "bleu"),
}


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of a run, each as pairs of step and number: losses in nats a target token, learning rate, BLEU."""

    run: str
    training_loss: Points
    validation_loss: Points
    learning_rate: Points
    bleu: Points

    def to_json(self) -> dict[str, Any]:
        """Keys: `run` and the names of the curves, each a list of pairs."""
        return {"run": self.run} | {name: [[*point] for point in getattr(self, name)] for name in CURVES}


def read_curves(run: Run) -> Curves:
    """The curves of a run.

    A last line that a crash has cut off does not count. Raises `MachineError` that names the line of any other
    that is no measurement, and `InputError` where nothing has been measured yet.
    """
    path = run.path / METRICS
    content = read_regular(path, limit=METRICS_LIMIT) if os.path.lexists(path) else b""
    *lines, _ = content.split(b"\n")
    found: dict[str, list[tuple[int, float]]] = {name: [] for name in CURVES}
    for number, line in enumerate(lines, start=1):
        try:
            record = parse_json(line)
            for name, (kind, key) in CURVES.items():
                if record["kind"] == kind:
                    found[name].append(_point(record, key))
        except (KeyError, TypeError, ValueError):
            raise MachineError(f"{path}:{number}: no measurement; delete the line, or restore the file") from None
    if not any(found.values()):
        raise InputError(f"{run.path}: nothing has been measured yet; train it with tmt train")
    return Curves(str(run.path), **{name: tuple(points) for name, points in found.items()})


def _point(record: Mapping[str, Any], key: str) -> tuple[int, float]:
    """Step and number of a line. Raises `KeyError` or `ValueError` for anything else."""
    step, value = record["step"], record[key]
    if type(step) is not int or not 0 <= step < 2**53 or type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError
    return step, float(value)
