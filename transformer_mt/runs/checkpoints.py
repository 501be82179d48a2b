"""Checkpoints from which training goes on bit for bit: weights, optimizer, averages, random states, data position."""

import dataclasses
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import torch
from pydantic import ConfigDict, Field, TypeAdapter
from torch import Tensor

from transformer_mt.config.sections import TrainingConfig
from transformer_mt.distributed import Distributed
from transformer_mt.errors import MachineError
from transformer_mt.files import open_regular, parse_json, read_regular, require_directory, write_errors
from transformer_mt.runs.checksummed import (
    checksummed_names,
    read_checksummed,
    remove_checksummed,
    remove_leftovers,
    write_checksummed,
)
from transformer_mt.runs.weights import Layout, layout_of, pack, read_header, size_limit, unpack

Count = Annotated[int, Field(ge=0, lt=2**53)]

CHECKPOINT_NAME = r"step-(0|[1-9][0-9]{0,15})"
_PROGRESS = "progress.json"
_PROGRESS_LIMIT = 2**24
# Beside the first process's generator of the CPU: those of other devices, and those of the other processes.
GENERATORS = ("cpu", "cuda", "mps")
_GENERATOR = re.compile(rf"({'|'.join(GENERATORS)})(\.[1-9][0-9]{{0,5}})?")
_WEIGHTS_LIMIT = 2**42
_RANDOM_LIMIT = 2**26  # more than ten thousand processes need


@dataclass
class Progress:
    """Where training stands: the next batch, and what validations have found (score: higher is better)."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    step: Count = 0
    epoch: Count = 0
    batch: Count = 0
    target_tokens: Count = 0
    seconds: Annotated[float, Field(ge=0.0)] = 0.0
    validated_step: Count = 0
    best_step: Count = 0
    best_score: float | None = None
    validations_without_improvement: Count = 0
    history: list[tuple[Count, float]] = dataclasses.field(default_factory=list)
    machine: Annotated[str, Field(max_length=500)] = ""  # on which the steps so far were made
    sums: dict[str, str] = dataclasses.field(default_factory=dict)  # of the run's files that they belong to
    loss_scale: Annotated[float | None, Field(gt=0.0)] = None  # where the loss is scaled
    steps_at_scale: Annotated[int, Field(ge=0, lt=2**31)] = 0  # without overflow, after which it grows

    def is_complete(self, training: TrainingConfig) -> bool:
        """Whether all steps are done, or all epochs where the configuration counts these."""
        return self.epoch >= training.epochs if training.epochs else self.step >= training.steps

    def reason_to_finish(self, training: TrainingConfig) -> str | None:
        """Why training ends here, None where it goes on."""
        if self.is_complete(training):
            return f"all {'epochs' if training.epochs else 'steps'} are done"
        if self.validations_without_improvement >= training.patience:
            return f"no progress in {training.patience} validations"
        return None

    def is_consistent(self) -> bool:
        """Whether training could have come here."""
        steps = [0, *(step for step, _ in self.history)]
        rising = all(before < after for before, after in zip(steps, [*steps[1:], self.step + 1], strict=True))
        validated = (self.validated_step == steps[-1]) and (self.best_step in steps[1:] or not self.history)
        return rising and validated and (self.best_score is None) == (not self.history)


@dataclass(frozen=True)
class Checkpoint:
    """One moment of training. `averaged` is empty where no running average is kept.

    `random` holds the states of the generators of all processes, by their names from `states_by_name`.
    """

    progress: Progress
    weights: dict[str, Tensor]
    averaged: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    random: dict[str, Tensor]


@dataclass(frozen=True)
class Layouts:
    """Which tensors a checkpoint of a training consists of."""

    weights: Layout
    averaged: Layout
    optimizer: Layout


class Checkpoints:
    """The checkpoints of a run, `step-N` each, below one directory. Of several processes, only the first writes.

    What is read fits `layouts`, or is refused before any of it is used.
    """

    def __init__(self, directory: Path, layouts: Layouts, *, distributed: Distributed) -> None:
        self.directory = directory
        self.layouts = {
            "weights": layouts.weights,
            "averaged": layouts.averaged,
            "optimizer": layouts.optimizer,
            "random": layout_of({"cpu": torch.get_rng_state()}),
        }
        self.distributed = distributed

    def path(self, step: int) -> Path:
        """Where the checkpoint of a step stands."""
        return self.directory / f"step-{step}"

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, the newest last."""
        return saved_steps(self.directory)

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint; it is there whole or not at all."""
        if not self.distributed.is_main:
            return
        progress = json.dumps(dataclasses.asdict(checkpoint.progress), indent=1).encode()
        tensors = {_file(part): pack(getattr(checkpoint, part)) for part in self.layouts}
        write_checksummed(self.path(checkpoint.progress.step), {_PROGRESS: progress, **tensors})

    def load(self, step: int) -> Checkpoint:
        """Read a checkpoint. Raises `MachineError` that names the file that is damaged or of another training."""
        path = self.path(step)
        limits = {_file(part): size_limit(layout) for part, layout in self.layouts.items()}
        limits[_file("random")] = _RANDOM_LIMIT
        files = read_checksummed(path, {_PROGRESS: _PROGRESS_LIMIT, **limits})
        progress = _parse_progress(files[_PROGRESS], step=step, path=path / _PROGRESS)
        parts = {}
        for part, layout in self.layouts.items():
            file = path / _file(part)
            free = _GENERATOR if part == "random" else None
            parts[part] = unpack(files[file.name], layout, path=file, free=free)
        for name, state in parts["random"].items():
            if name.startswith("cpu"):
                _require_generator(state, path=path)
        return Checkpoint(progress, **parts)

    def weights(self, step: int) -> dict[str, Tensor]:
        """Only the weights of a checkpoint."""
        return self.load(step).weights

    def keep(self, steps: set[int]) -> None:
        """Delete all checkpoints but these."""
        if not self.distributed.is_main:
            return
        with write_errors(self.directory):
            for step in set(self.steps()) - steps:
                remove_checksummed(self.path(step))

    def remove_leftovers(self) -> None:
        """Delete what crashes have left half-written."""
        if os.path.lexists(self.directory):
            require_directory(self.directory)
            remove_leftovers(self.directory, CHECKPOINT_NAME)


def states_by_name(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The states of every process's generators: `cpu` is the first process's, `cpu.1` the next one's."""
    return {_of_rank(name, rank): state for rank, own in enumerate(states) for name, state in own.items()}


def states_of(random: Mapping[str, Tensor], rank: int) -> dict[str, Tensor]:
    """The states of one process's generators; none where fewer processes have saved them."""
    return {name: random[key] for name in GENERATORS if (key := _of_rank(name, rank)) in random}


def _of_rank(name: str, rank: int) -> str:
    return f"{name}.{rank}" if rank else name


def saved_steps(directory: Path) -> list[int]:
    """The steps that have a checkpoint below a directory, the newest last."""
    return sorted(
        int(found[1]) for name in checksummed_names(directory) if (found := re.fullmatch(CHECKPOINT_NAME, name))
    )


def saved_progress(directory: Path, step: int) -> Progress:
    """Where the checkpoint of a step stands, without its tensors and their sums."""
    path = directory / f"step-{step}" / _PROGRESS
    return _parse_progress(read_regular(path, limit=_PROGRESS_LIMIT), step=step, path=path)


def saved_layout(directory: Path, step: int) -> Layout:
    """The tensors that the file of weights in the checkpoint of a step claims to hold."""
    path = directory / f"step-{step}" / _file("weights")
    with open_regular(path, limit=_WEIGHTS_LIMIT) as file:
        return read_header(file, path=path).layout


def saved_weights(directory: Path, step: int, layout: Layout) -> dict[str, Tensor]:
    """The weights of a checkpoint that were validated: its running average where it has one, else those in training.

    Raises `MachineError` for a file that is damaged, or holds other tensors than the model of that layout has.
    """
    path = directory / f"step-{step}"
    limit = size_limit(layout)
    wanted = {_file("weights"): limit, _file("averaged"): limit + 2**8}
    files = read_checksummed(path, wanted, unread={_PROGRESS, _file("optimizer"), _file("random")})
    averaged = files[_file("averaged")]
    if read_header(io.BytesIO(averaged), path=path / _file("averaged")).layout:
        counted = {**layout, "n_averaged": (torch.int64, ())}
        found = unpack(averaged, counted, path=path / _file("averaged"))
        return {name: found[name] for name in layout}
    return unpack(files[_file("weights")], layout, path=path / _file("weights"))


def _parse_progress(content: bytes, *, step: int, path: Path) -> Progress:
    try:
        if parse_json(content).keys() == {field.name for field in dataclasses.fields(Progress)}:
            progress = _PROGRESS_TYPE.validate_json(content)
            if progress.step == step and progress.is_consistent():
                return progress
    except (AttributeError, ValueError):
        pass
    raise MachineError(f"{path}: damaged, or not of this version of tmt; start anew: --overwrite")


def _require_generator(state: Tensor, *, path: Path) -> None:
    """Raise `MachineError` for a random state that torch refuses."""
    try:
        torch.Generator().set_state(state)
    except RuntimeError:
        raise MachineError(f"{path / _file('random')}: no state of a generator; restore it") from None


def _file(part: str) -> str:
    return f"{part}.safetensors"


_PROGRESS_TYPE = TypeAdapter(Progress)
