"""How the cross-attention to a watched sentence changed while a model learned."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.text import Text

from transformer_mt.errors import InputError
from transformer_mt.inspection.escape import escape_controls
from transformer_mt.inspection.rendering import Shading, map_title, render_map
from transformer_mt.runs.directory import Run
from transformer_mt.runs.watched import Frame, read_frames


@dataclass(frozen=True, slots=True)
class WatchedSentence:
    """What a run has kept of a sentence: a frame for each validation, the earliest first; there is at least one."""

    frames: tuple[Frame, ...]

    def to_json(self) -> dict[str, Any]:
        """Keys: `frames`, each with what a `Frame` has."""
        return {"frames": [frame.to_json() for frame in self.frames]}

    def arrays(self) -> dict[str, np.ndarray]:
        """For `numpy.savez`: `step` and `loss` of all, and of frame n `n.weights` (L H Q K), `n.rows`, `n.columns`.

        Layers with different numbers of heads stand apart, as `n.weights.1` and so on.
        """
        found = {
            "step": np.array([frame.step for frame in self.frames]),
            "loss": np.array([frame.loss for frame in self.frames]),
        }
        for number, frame in enumerate(self.frames):
            found |= {f"{number}.rows": np.array(frame.rows), f"{number}.columns": np.array(frame.columns)}
            if len({len(layer) for layer in frame.weights}) == 1:
                found[f"{number}.weights"] = np.array(frame.weights, np.float32)
            else:
                for layer, heads in enumerate(frame.weights, start=1):
                    found[f"{number}.weights.{layer}"] = np.array(heads, np.float32)
        return found


def read_history(run: Run) -> WatchedSentence:
    """What the run has kept. Raises `InputError` where nothing was watched, `EnvironmentProblem` for damaged frames."""
    frames = read_frames(run.path)
    if not frames:
        raise InputError(f"{run.path}: nothing was watched; train with: tmt train --watch")
    return WatchedSentence(tuple(frames))


def frame_lines(frame: Frame, *, layer: int | None, head: int | None, width: int, shading: Shading) -> Iterator[Text]:
    """A frame as text: step and validation loss, the sentence and its translation then, and a matrix for `target`.

    Layer and head count from 1; without a layer it is the last, without a head the mean over all.
    """
    layers = len(frame.weights)
    chosen = layers if layer is None else layer
    heads = np.array(_of(frame.weights, chosen, option="--layer"))
    matrix = heads.mean(axis=0) if head is None else _of(heads, head, option="--head")
    yield Text(f"step {frame.step}  validation loss {frame.loss:.3f}")
    yield Text(escape_controls(frame.source))
    yield Text(escape_controls(frame.translation))
    yield Text()
    yield from render_map(
        matrix.tolist(),
        title=map_title("cross", layer=chosen, layers=layers, head=head, heads=len(heads)),
        rows=frame.rows,
        columns=frame.columns,
        width=width,
        shading=shading,
    )


def _of(several: Any, number: int, *, option: str) -> Any:
    """The one of that number, from 1. Raises `InputError` that says how many there are."""
    if not 1 <= number <= len(several):
        raise InputError(f"{option}: there is no {number}; give a number from 1 to {len(several)}")
    return several[number - 1]
