"""How the cross-attention to a watched sentence changed while a model learned."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer_mt.errors import InputError
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
    """What the run has kept. Raises `InputError` where nothing was watched, `MachineError` for damaged frames."""
    frames = read_frames(run.path)
    if not frames:
        raise InputError(f"{run.path}: nothing was watched")
    return WatchedSentence(tuple(frames))
