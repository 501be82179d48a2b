"""The available runs, by names that are never paths; three stay in memory, with their newest weights."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import torch

from transformer_mt.extensions.serve.guard import Refusal
from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.models.build_model import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.alignment import ALIGNMENT
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.directory import CHECKPOINTS, CONFIG, MODEL, READY, TOKENIZER, Run, saved_steps
from transformer_mt.runs.doubt import DOUBT
from transformer_mt.runs.listing import describe_run
from transformer_mt.runs.words import WORDS
from transformer_mt.text.terminal import JsonObject
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator
from transformer_mt.views.methods import METHODS
from transformer_mt.views.serialise import to_json
from transformer_mt.views.subject import examples

RUNS_IN_MEMORY = 3
# The files that an opened run has read.
_FILES = (CONFIG, TOKENIZER, WORDS, MODEL, ALIGNMENT, DOUBT)
# Modification time, inode and size of a file, to detect changes; None for a missing one.
Stamp = tuple[int, int, int] | None
Moment = tuple[Stamp, ...]


@dataclass(frozen=True)
class ServedRun:
    """An opened run, and a function that opens it at a checkpoint."""

    translator: Translator
    checkpoint: Callable[[int], Translator]


class Runs:
    """The runs at `places`, a function called for every listing. Not thread-safe."""

    def __init__(self, places: Callable[[], Sequence[Path]], *, device: str, opened: Callable[[Seq2Seq], None]) -> None:
        """`opened` is called with every loaded model."""
        self._places = places
        self._device = device
        self._opened = opened
        self._paths: dict[str, Path] = {}
        self._newest = lru_cache(RUNS_IN_MEMORY)(self._open_newest)

    def describe(self) -> list[JsonObject]:
        """The fields of `tmt runs --json` for each run, newest first, with the fields of its model if it has one.

        The ready model is the last.
        """
        listed = []
        for name, path in self.find().items():
            found = describe_run(path) | {"run": name}
            if "error" not in found and Run(path).has_model():
                try:
                    found |= _describe_model(path, _moment(path)) | {"checkpoints": saved_steps(path / CHECKPOINTS)}
                except TmtError as error:
                    found["error"] = str(error)
            listed.append(found)
        return sorted(listed, key=lambda one: (self._paths[one["run"]] == READY, one["seconds_since"]))

    def find(self) -> dict[str, Path]:
        """The current runs by name. A name keeps belonging to its path."""
        known = {path: name for name, path in self._paths.items()}
        found = {}
        for path in self._places():
            name = known.get(path) or printable_name(path)
            while self._paths.get(name, path) != path:
                name += "′"
            found[name] = self._paths[name] = path
        return found

    def open(self, name: str | None) -> ServedRun:
        """Open the run, by default the newest with a model, with its newest weights.

        Raises `Refusal` if it is unknown, damaged or without weights.
        """
        if name is None:
            name = next((listed["run"] for listed in self.describe() if "stacks" in listed), "")
        path = self.path(name)
        with _unavailable():
            served = self._newest(path, _moment(path))
            # Read each time: training writes the weights before the checkpoint with their step.
            served.translator.model.step = newest_progress(Run(path)).best_step
        return served

    def _open_newest(self, path: Path, _: Moment) -> ServedRun:
        return ServedRun(self._load(Run(path)), partial(self._open_checkpoint, path))

    def _open_checkpoint(self, path: Path, step: int) -> Translator:
        """Open the run at a checkpoint. Raises `InputError` if that step has none."""
        steps = saved_steps(path / CHECKPOINTS)
        if not steps:
            raise InputError("checkpoint", "this run has none", "choose a run that keeps them")
        if step not in steps:
            raise InputError("checkpoint", f"no number {step}", "choose one that /v1/runs lists")
        with _unavailable():
            return self._load(Run(path, step))

    def path(self, name: str) -> Path:
        """The path of the run with this name. Raises `Refusal` if it does not exist."""
        if name not in self._paths:
            self.find()
        if name not in self._paths:
            raise Refusal(404, "run: unknown name; choose one that /v1/runs lists")
        return self._paths[name]

    def _load(self, run: Run) -> Translator:
        model = Model.open(run, device=self._device)
        self._opened(model.network)
        return Translator.of(model)


def printable_name(path: Path) -> str:
    """The name of a run's directory, as in commands; replaces bytes that are not UTF-8."""
    return "ready" if path == READY else os.fsencode(path.absolute().name).decode(errors="replace")


@contextmanager
def _unavailable() -> Iterator[None]:
    """Convert errors of a run that was deleted, is damaged or has no weights yet to a `Refusal`."""
    try:
        yield
    except TmtError as error:
        raise Refusal(503, str(error)) from None


def describe_model(run: Run) -> JsonObject:
    """The views that a model offers; does not load its weights."""
    config = run.config()
    with torch.device("meta"):  # allocates no memory
        model = build_model(config.model, vocabulary_size=run.tokenizer().size)
    masked = getattr(getattr(config.model, "attention", None), "head_mask", ())
    stacks = {
        stack: [
            [head for head in range(1, module.heads + 1) if str(HeadName(stack, layer, head)) not in masked]
            for layer, module in enumerate(modules, start=1)
        ]
        for stack, modules in model.attention_stacks().items()
    }
    sentences: list[str] = []
    with suppress(TmtError):
        sentences = examples(run.path, config.data)
    return {
        "stacks": stacks,
        "methods": {
            name: {"meaning": method.meaning, "whole": method.whole}
            for name, method in METHODS.items()
            if method().applies_to(model)
        },
        "search": to_json(config.search.model_dump()),
        "max_length": model.max_length,
        "example": next(iter(sentences), None),
        "examples": sentences,
        "has_links": any(stacks.get("cross", ())),
    }


@lru_cache(1_000)
def _describe_model(path: Path, _: Moment) -> JsonObject:
    return describe_model(Run(path))


def _moment(path: Path) -> Moment:
    return tuple(map(stamp, [path] if path.is_file() else map(path.joinpath, _FILES)))


def stamp(path: Path) -> Stamp:
    """What changes when the file at a path does; None without one."""
    with suppress(OSError):
        status = os.lstat(path)
        return status.st_mtime_ns, status.st_ino, status.st_size
    return None
