"""Checkpoints from which training goes on bit for bit: weights, optimizer, averages, random states, data position."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from transformer_mt.errors import EnvironmentProblem
from transformer_mt.processes import Processes
from transformer_mt.runs.files import (
    read_sealed_directory,
    remove_sealed_directory,
    sealed_directories,
    write_sealed_directory,
    writing,
)
from transformer_mt.runs.weights import pack, unpack


@dataclass
class Progress:
    """Where training stands: the next batch, and what validations have found (score: higher is better)."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    target_tokens: int = 0
    seconds: float = 0.0
    validated_step: int = 0
    best_step: int = 0
    best_score: float | None = None
    validations_without_improvement: int = 0
    history: list[tuple[int, float]] = dataclasses.field(default_factory=list)


@dataclass(frozen=True)
class Checkpoint:
    """One moment of training. `averaged` is empty where no running average is kept."""

    progress: Progress
    weights: dict[str, Tensor]
    averaged: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    random: dict[str, Tensor]


class Checkpoints:
    """The checkpoints of a run, `step-N` each, below one directory. Of several processes, only the first writes."""

    def __init__(self, directory: Path, *, processes: Processes) -> None:
        self.directory = directory
        self.processes = processes

    def path(self, step: int) -> Path:
        """Where the checkpoint of a step stands."""
        return self.directory / f"step-{step}"

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, the newest last."""
        names = [name.partition("step-") for name in sealed_directories(self.directory)]
        return sorted(int(number) for before, _, number in names if not before and number.isdecimal())

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint; it is there whole or not at all."""
        if not self.processes.is_first:
            return
        files = {
            "progress.json": json.dumps(dataclasses.asdict(checkpoint.progress), indent=1).encode(),
            "weights.safetensors": pack(checkpoint.weights),
            "averaged.safetensors": pack(checkpoint.averaged),
            "optimizer.safetensors": pack(checkpoint.optimizer),
            "random.safetensors": pack(checkpoint.random),
        }
        write_sealed_directory(self.path(checkpoint.progress.step), files)

    def load(self, step: int) -> Checkpoint:
        """Read a checkpoint. Raises `EnvironmentProblem` that names the damaged file."""
        path = self.path(step)
        files = read_sealed_directory(path)
        try:
            record = json.loads(files["progress.json"])
            history = [(int(step), float(score)) for step, score in record.pop("history")]
            progress = Progress(**record, history=history)
            tensors = {
                name: unpack(files[f"{name}.safetensors"], path=path / f"{name}.safetensors")
                for name in ("weights", "averaged", "optimizer", "random")
            }
        except (KeyError, TypeError, ValueError):
            raise EnvironmentProblem(
                f"{path}: not a checkpoint of this version of tmt; start anew: --overwrite"
            ) from None
        return Checkpoint(progress, **tensors)

    def weights(self, step: int) -> dict[str, Tensor]:
        """Only the weights of a checkpoint."""
        return self.load(step).weights

    def keep(self, steps: set[int]) -> None:
        """Delete all checkpoints but these."""
        if not self.processes.is_first:
            return
        with writing(self.directory):
            for step in set(self.steps()) - steps:
                remove_sealed_directory(self.path(step))
