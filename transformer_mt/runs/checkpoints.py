"""The checkpoints of a run, `checkpoints/step-N/`: only the weights, or everything needed for exact resumption.

    model.safetensors     the weights to validate and use at that step, in the format of the run's own file
    progress.json         the progress of training
    state.json            the states of optimizer, average and random generators; refers to tensors by name
    state.safetensors     these tensors, and the checksums of all four files

A checkpoint is complete, and training can resume from it, while it has `state.safetensors`.
"""

import json
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from transformer_mt.config.sections import TrainingConfig
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.ground.files import (
    make_directory,
    read_regular,
    remove,
    require_directory,
    size_of,
    write_directory,
    write_errors,
)
from transformer_mt.ground.memory import free_memory, require
from transformer_mt.runs.checksums import saved_sums, sha256
from transformer_mt.runs.directory import CHECKPOINTS, MODEL, Run, saved_steps
from transformer_mt.runs.packed import PROGRESS
from transformer_mt.runs.weights import Tensors, digest, pack, specs_of, unpack

Natural = Annotated[int, Field(ge=0, lt=2**53)]
VALUES = "state.json"
STATE = "state.safetensors"
_LIMITS = {PROGRESS: 2**24, VALUES: 2**30}


class Progress(BaseModel):
    """The progress of training: the next batch and the validation scores (higher is better; a loss is negated)."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    step: Natural = 0
    epoch: Natural = 0
    batch: Natural = 0
    target_tokens: Natural = 0
    seconds: Annotated[float, Field(ge=0.0)] = 0.0
    validated_step: Natural = 0
    best_step: Natural = 0
    best_score: float | None = None
    validations_without_improvement: Natural = 0
    history: list[tuple[Natural, float]] = []
    machine: Annotated[str, Field(max_length=500)] = ""  # where the steps so far were computed
    steps: Natural = 0  # the goal set by the latest start of training
    epochs: Natural = 0  # likewise

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch, counted from 1; 0 before the first."""
        return self.epoch + (self.batch > 0)

    def aims(self, training: TrainingConfig) -> TrainingConfig:
        """Return the run's section with the number of steps and epochs that its latest start set."""
        return training.model_copy(update={"steps": self.steps, "epochs": self.epochs} if self.steps else {})

    def is_complete(self, training: TrainingConfig) -> bool:
        """True once all steps are done, or all epochs if the configuration counts epochs."""
        return self.epoch >= training.epochs if training.epochs else self.step >= training.steps

    def reason_to_finish(self, training: TrainingConfig) -> str | None:
        """The reason to stop training here, or None to go on."""
        if self.is_complete(training) and self.validated_step == self.step:
            return f"all {'epochs' if training.epochs else 'steps'} are done"
        if self.validations_without_improvement >= training.patience:
            return f"no better {training.choose_by} for training.patience={training.patience}"
        return None

    def add_validation(self, score: float) -> bool:
        """Record the validation score of this step; True if it is the best so far."""
        best = self.best_score is None or score > self.best_score
        if best:
            self.best_step = self.step
            self.best_score = score
        self.validations_without_improvement = 0 if best else self.validations_without_improvement + 1
        self.history.append((self.step, score))
        self.validated_step = self.step
        return best


@dataclass(frozen=True)
class Checkpoint:
    """A snapshot of training: progress, the weights to validate and use, and the rest as nested dicts and lists."""

    progress: Progress
    weights: Tensors
    state: Any


class Checkpoints:
    """The checkpoints of a run; `weights` gives the type and shape of each tensor."""

    def __init__(self, run: Run, weights: Tensors) -> None:
        self.run = run
        self.directory = run.path / CHECKPOINTS
        self.weights = specs_of(weights)

    def path(self, step: int) -> Path:
        """The directory of a step's checkpoint, whether it exists or not."""
        return self.directory / f"step-{step}"

    def steps(self) -> list[int]:
        """The steps with a complete checkpoint, newest last."""
        return [step for step in saved_steps(self.directory) if os.path.lexists(self.path(step) / STATE)]

    def save(self, checkpoint: Checkpoint, complete: int | None = None, *, weights: Collection[int] = ()) -> None:
        """Write a checkpoint atomically, then delete the ones no longer needed.

        Keeps the newest `complete` checkpoints (None: all); of the other steps in `weights`, only the weights. Deletes
        later checkpoints: we resumed from an earlier one because they were damaged. Raises `InputError` if the
        optimizer's state cannot be saved, `MachineError` if writing fails.
        """
        step = checkpoint.progress.step
        tensors = Tensors()
        try:
            values = take_tensors(checkpoint.state, tensors, "state")
        except TypeError as error:  # it appeared after the trial before the first step
            raise InputError("optimizer.name", f"its state cannot be saved ({error})", "choose another") from None
        files = {
            MODEL: self.run.pack_model(checkpoint.weights),
            PROGRESS: checkpoint.progress.model_dump_json(indent=1).encode(),
            VALUES: json.dumps(values).encode(),
        }
        sums = {MODEL: saved_sums(files[MODEL])["tensors"]} | {name: sha256(files[name]) for name in _LIMITS}
        with write_errors(self.directory):
            make_directory(self.directory)
        require_directory(self.directory)
        write_directory(self.path(step), files | {STATE: pack(tensors, sums)})
        kept = [saved for saved in self.steps() if saved <= step][-(complete or 0) :]
        with write_errors(self.directory):
            for saved in saved_steps(self.directory):
                path = self.path(saved)
                if saved in weights and not path.is_symlink():
                    path = path / STATE
                if saved not in kept:
                    remove(path)

    def load(self, step: int) -> Checkpoint:
        """Read a complete checkpoint.

        Raises `MachineError`, with the file, for damaged or foreign files, and `InputError` if memory is too small.
        """
        path = self.path(step)
        require_directory(path)
        files = {name: read_regular(path / name, limit=limit) for name, limit in _LIMITS.items()}
        size = size_of(path / STATE)
        require(2 * size, free_memory, what=str(path / STATE), remedy="use a machine with more")
        content = read_regular(path / STATE, limit=size)
        tensors = unpack(content, path=path / STATE)
        sums = saved_sums(content)
        weights = Run(self.run.path, step).read_weights(self.weights)
        read = {MODEL: digest(weights)} | {name: sha256(own) for name, own in files.items()}
        if damaged := [name for name, own in read.items() if sums.get(name) != own]:
            raise MachineError(path / damaged[0], f"damaged (its SHA-256 is not the one in {STATE})", "restore both")
        progress = _parse_progress(files[PROGRESS], step=step, path=path / PROGRESS)
        try:
            state = put_tensors(files[VALUES], tensors)
        except (KeyError, RecursionError, TypeError, ValueError):  # a name without a tensor, or invalid JSON
            raise MachineError(path / VALUES, "damaged", "restore it, or start over with --overwrite") from None
        return Checkpoint(progress, weights, state)


def take_tensors(tree: Any, tensors: Tensors, name: str) -> Any:
    """Convert nested dicts and lists to JSON values; move their tensors to `tensors`, under names prefixed with `name`.

    Raises `TypeError` for values other than tensors, numbers, strings, booleans and None.
    """
    if isinstance(tree, Tensor):
        tensors[name] = tree.detach()
        return {"tensor": name}
    if isinstance(tree, dict):
        return {str(key): take_tensors(value, tensors, f"{name}.{key}") for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [take_tensors(value, tensors, f"{name}.{index}") for index, value in enumerate(tree)]
    if tree is None or type(tree) in (bool, int, float, str):
        return tree
    raise TypeError(f"{name} is of type {type(tree).__name__}")


def put_tensors(content: bytes, tensors: Tensors) -> Any:
    """Invert `take_tensors`, from its values as JSON; numeric keys become integers again.

    Raises `KeyError` for a missing tensor, and `RecursionError`, `TypeError` or `ValueError` for other content.
    """

    def put(entry: dict[str, Any]) -> Any:
        if entry.keys() == {"tensor"}:
            return tensors[entry["tensor"]]
        return {int(key) if key.isdecimal() else key: value for key, value in entry.items()}

    return json.loads(content, object_hook=put)


def newest_progress(run: Run) -> Progress:
    """The progress saved in the last checkpoint, without reading its other files; step 0 without checkpoints."""
    if run.pack:
        return _parse_progress(run.pack.read(PROGRESS, limit=_LIMITS[PROGRESS]), step=None, path=run.path / PROGRESS)
    steps = saved_steps(run.path / CHECKPOINTS)
    return _read_progress(run, steps[-1]) if steps else Progress()


def last_aims(run: Run) -> TrainingConfig:
    """The run's section with the steps and epochs that its latest start set; skips damaged checkpoints."""
    training = run.config().training
    for step in reversed(saved_steps(run.path / CHECKPOINTS)):
        with suppress(MachineError):
            return _read_progress(run, step).aims(training)
    return training


def _read_progress(run: Run, step: int) -> Progress:
    path = run.path / CHECKPOINTS / f"step-{step}" / PROGRESS
    return _parse_progress(read_regular(path, limit=_LIMITS[PROGRESS]), step=step, path=path)


def _parse_progress(content: bytes, *, step: int | None, path: Path) -> Progress:
    with suppress(ValueError):
        progress = Progress.model_validate_json(content)
        if step in (None, progress.step) and progress.model_fields_set == Progress.model_fields.keys():
            return progress
    raise MachineError(path, "damaged, or not of this version of tmt", "start over with --overwrite")
