"""The checkpoints of a run: `checkpoints/step-N/`, from the weights alone to everything that exact resumption needs.

    model.safetensors     the weights that are validated and used at that step, as in the run itself
    progress.json         where training stood
    optimizer.json        the optimizer's state; its tensors are named there
    state.safetensors     these tensors, random states, the trained weights behind an average, and the sums of all four

A checkpoint is complete, and training can continue from it, as long as it has its state.
"""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import from_json
from torch import Tensor

from transformer_mt.config.sections import TrainingConfig
from transformer_mt.device import DEVICES, require_memory
from transformer_mt.errors import InputError, MachineError
from transformer_mt.files import (
    make_directory,
    read_regular,
    remove,
    require_directory,
    write_directory,
    write_errors,
)
from transformer_mt.runs.checksums import declared_size, saved_sums, sha256
from transformer_mt.runs.directory import CHECKPOINTS, MODEL, Run, saved_steps
from transformer_mt.runs.weights import pack, require_specs, specs_of, unpack

Count = Annotated[int, Field(ge=0, lt=2**53)]
PROGRESS, OPTIMIZER, STATE = "progress.json", "optimizer.json", "state.safetensors"
_LIMITS = {PROGRESS: 2**24, OPTIMIZER: 2**30}


class Progress(BaseModel):
    """The state of a training in numbers: the next batch, the results of validations (score: higher is better)."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    step: Count = 0
    epoch: Count = 0
    batch: Count = 0
    target_tokens: Count = 0
    seconds: Annotated[float, Field(ge=0.0)] = 0.0
    validated_step: Count = 0
    best_step: Count = 0
    best_score: float | None = None
    validations_without_improvement: Count = 0
    history: list[tuple[Count, float]] = []
    machine: Annotated[str, Field(max_length=500)] = ""  # that made the steps so far
    steps: Count = 0  # in all, as the last start of the training has it; 0 in checkpoints that do not say
    epochs: Count = 0

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch, counted from 1; 0 before the first."""
        return self.epoch + (self.batch > 0)

    def aims(self, training: TrainingConfig) -> TrainingConfig:
        """The run's section with the end that the last start of the training set."""
        changes = {"steps": self.steps, "epochs": self.epochs} if self.steps else {}
        return training.model_copy(update=changes)

    def is_complete(self, training: TrainingConfig) -> bool:
        """True once all steps are done, or all epochs where the configuration counts these."""
        return self.epoch >= training.epochs if training.epochs else self.step >= training.steps

    def reason_to_finish(self, training: TrainingConfig) -> str | None:
        """The reason for training to end here, None where it goes on."""
        if self.is_complete(training):
            return f"all {'epochs' if training.epochs else 'steps'} are done"
        if self.validations_without_improvement >= training.patience:
            return f"no progress in {training.patience} validations"
        return None

    def add_validation(self, score: float) -> bool:
        """Note the score of a validation at this step; True if it is the best so far."""
        best = self.best_score is None or score > self.best_score
        if best:
            self.best_step, self.best_score = self.step, score
        self.validations_without_improvement = 0 if best else self.validations_without_improvement + 1
        self.history.append((self.step, score))
        self.validated_step = self.step
        return best


@dataclass(frozen=True)
class Checkpoint:
    """One moment of training: the weights to validate and use, further tensors by part, and the optimizer's state."""

    progress: Progress
    weights: dict[str, Tensor]
    state: dict[str, dict[str, Tensor]]
    optimizer: Any


class Checkpoints:
    """The checkpoints of a run. A checkpoint that is read fits `weights` and `averaging`, or nothing of it is used."""

    def __init__(self, run: Run, weights: Mapping[str, Tensor], averaging: Mapping[str, Tensor]) -> None:
        """Tensors like those of the model, and of the state of its averaging."""
        self.run, self.directory, self.weights = run, run.path / CHECKPOINTS, specs_of(weights)
        self.state = specs_of(_flat({"averaging": averaging, "random": {"cpu": torch.get_rng_state()}}))

    def path(self, step: int) -> Path:
        return self.directory / f"step-{step}"

    def steps(self) -> list[int]:
        """The steps with a complete checkpoint, the newest last."""
        return [step for step in saved_steps(self.directory) if os.path.lexists(self.path(step) / STATE)]

    def save(self, checkpoint: Checkpoint, complete: int | None = None, *, weights: Collection[int] = ()) -> None:
        """Write a checkpoint; it is there whole or not at all. Then delete the others as far as nothing needs them.

        The newest `complete` stay as they are (all for None), other steps in `weights` without their state. Later steps
        go: a resumption that started before them has found them damaged. Raises `InputError` for an optimizer's state
        that cannot be saved.
        """
        step, tensors = checkpoint.progress.step, _flat(checkpoint.state)
        try:
            values = take_tensors(checkpoint.optimizer, tensors, "optimizer")
        except TypeError as error:  # it has come later than the trial before the first step could see
            raise InputError("optimizer.name", f"its state cannot be saved ({error})", "choose another") from None
        files = {
            MODEL: self.run.pack_model(checkpoint.weights),
            PROGRESS: checkpoint.progress.model_dump_json(indent=1).encode(),
            OPTIMIZER: json.dumps(values).encode(),
        }
        sums = {MODEL: saved_sums(files[MODEL])["tensors"]} | {name: sha256(files[name]) for name in _LIMITS}
        write_checkpoint(self.path(step), files | {STATE: pack(tensors, sums)})
        kept = [saved for saved in self.steps() if saved <= step][-(complete or 0) :]
        with write_errors(self.directory):
            for saved in saved_steps(self.directory):
                path = self.path(saved)
                if saved in weights and not path.is_symlink():
                    path = path / STATE
                if saved not in kept:
                    remove(path)

    def load(self, step: int) -> Checkpoint:
        """Read a complete checkpoint. Raises `MachineError` that names the damaged or foreign file."""
        path = self.path(step)
        require_directory(path)
        files = {name: read_regular(path / name, limit=limit) for name, limit in _LIMITS.items()}
        content = _read_state(path / STATE)
        tensors, sums = unpack(content, path=path / STATE), saved_sums(content)
        weights, theirs = self.read_weights(step), Run(self.run.path, step).sums()
        read = {MODEL: theirs["tensors"]} | {name: sha256(own) for name, own in files.items()}
        if damaged := [name for name, own in read.items() if sums.get(name) != own]:
            raise MachineError(path / damaged[0], f"damaged (its SHA-256 is not the one in {STATE})", "restore both")
        # The names of further generators depend on the processes and devices.
        free = {name for name in tensors if name.startswith(("optimizer.", "random."))} - self.state.keys()
        require_specs({name: tensors[name] for name in tensors if name not in free}, self.state, path=path / STATE)
        state: dict[str, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            part, _, own = name.partition(".")
            state.setdefault(part, {})[own] = tensor
        progress = _parse_progress(files[PROGRESS], step=step, path=path / PROGRESS)
        try:
            optimizer = put_tensors(from_json(files[OPTIMIZER]), tensors, "optimizer")
        except (KeyError, ValueError):  # a name without a tensor, or no JSON
            raise MachineError(path / OPTIMIZER, "damaged", "restore it, or overwrite the run") from None
        return Checkpoint(progress, weights, state, optimizer)

    def read_weights(self, step: int) -> dict[str, Tensor]:
        return Run(self.run.path, step).read_weights(self.weights)


def write_checkpoint(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a directory of these files; `Run.remove_leftovers` mends a crash at any time."""
    with write_errors(path):
        make_directory(path.parent)
    require_directory(path.parent)
    write_directory(path, files)


def take_tensors(tree: Any, tensors: dict[str, Tensor], name: str) -> Any:
    """Nested dicts and lists as JSON, whose tensors go into `tensors` under names that begin with `name`.

    Raises `TypeError` for any other value than tensors, numbers, strings, truth values and None.
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


def put_tensors(tree: Any, tensors: Mapping[str, Tensor], name: str) -> Any:
    """What `take_tensors` has taken apart; keys that are numbers become numbers again.

    Raises `ValueError` for a tensor at another place than its own.
    """
    if isinstance(tree, list):
        return [put_tensors(value, tensors, f"{name}.{index}") for index, value in enumerate(tree)]
    if isinstance(tree, dict):
        if tree == {"tensor": name}:
            return tensors[name]
        if tree.keys() == {"tensor"}:
            raise ValueError(f"another tensor than {name}")
        return {_key(key): put_tensors(value, tensors, f"{name}.{key}") for key, value in tree.items()}
    return tree


def _key(key: str) -> str | int:
    return int(key) if key.isdecimal() and str(int(key)) == key else key


def _read_state(path: Path) -> bytes:
    """The content of a file of tensors that is as long as its head says, and fits into memory."""
    size = declared_size(read_regular(path, limit=2**27, head=True))
    if size is None or size != path.lstat().st_size:
        raise MachineError(path, f"{path.lstat().st_size} bytes, where its head tells {size}", "restore it")
    require_memory(2 * size, torch.device("cpu"), what=str(path), remedy="use a machine with more")
    return read_regular(path, limit=size)


def _flat(state: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    return {f"{part}.{name}": tensor for part, own in state.items() for name, tensor in own.items()}


def newest_progress(run: Run) -> Progress:
    """The numbers of the last checkpoint, whose other files are not read; those of a start without any."""
    steps = saved_steps(run.path / CHECKPOINTS)
    return _read_progress(run, steps[-1]) if steps else Progress()


def last_aims(run: Run) -> TrainingConfig:
    """The run's section with the end that its last start set; damaged checkpoints are passed over."""
    training = run.config().training
    for step in reversed(saved_steps(run.path / CHECKPOINTS)):
        with suppress(MachineError):
            return _read_progress(run, step).aims(training)
    return training


def _read_progress(run: Run, step: int) -> Progress:
    path = run.path / CHECKPOINTS / f"step-{step}" / PROGRESS
    return _parse_progress(read_regular(path, limit=_LIMITS[PROGRESS]), step=step, path=path)


def states_by_name(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The states of every process's generators: `cpu` is the main process's, `cpu.1` the next one's."""
    return {f"{name}.{rank}" if rank else name: own[name] for rank, own in enumerate(states) for name in own}


def states_of(random: Mapping[str, Tensor], rank: int) -> dict[str, Tensor]:
    """The states of one process's generators; none where fewer processes have saved them."""
    names = {f"{name}.{rank}" if rank else name: name for name in DEVICES}
    return {name: random[key] for key, name in names.items() if key in random}


def _parse_progress(content: bytes, *, step: int, path: Path) -> Progress:
    with suppress(ValueError):
        progress = Progress.model_validate_json(content)
        if progress.step == step and progress.model_fields_set >= set(Progress.model_fields) - {"steps", "epochs"}:
            return progress
    raise MachineError(path, "damaged, or not of this version of tmt", "overwrite the run")
