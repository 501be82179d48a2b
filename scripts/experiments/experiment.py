"""An experiment, a variant trained with one seed in its own processes, and its measurement."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import load_config
from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.ground.plugins import load_file
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.directory import Run

PLUGINS = Path(__file__).parents[1] / "plugins"
SPLITS = ("test", "test_composition", "test_length")
Item = TypeVar("Item")
Result = TypeVar("Result")


def load_plugins(names: str = "*") -> tuple[str, ...]:
    """Load plugins of this folder into this process; return the options that load them into `tmt`."""
    paths = sorted(PLUGINS.glob(f"{names}.py"))
    for path in paths:
        load_file(path)
    return tuple(part for path in paths for part in ("--plugin", str(path)))


@dataclass(frozen=True)
class Experiment:
    """A variant's configuration file and a seed; `settings` are the `--set` values of its training.

    It starts from the weights of `parent`, if any. `label` names a variant that shares its file with others.
    """

    file: Path
    seed: int
    settings: tuple[str, ...]
    runs: Path
    label: str = ""
    parent: "Experiment | None" = None

    @property
    def variant(self) -> str:
        """The label, or the name of the file."""
        return self.label or self.file.stem

    @property
    def description(self) -> str:
        """The first line of the file, a comment."""
        return self.file.read_text("utf-8").splitlines()[0].removeprefix("# ")

    @property
    def name(self) -> str:
        """The variant with its seed."""
        return f"{self.variant}-seed{self.seed}"

    @property
    def run(self) -> Path:
        """The run directory."""
        return self.runs / self.name

    def config(self) -> Config:
        """The full configuration. Raises `InputError` naming the variant."""
        try:
            return load_config(self.parent.config() if self.parent else self.file, self.settings)
        except InputError as error:
            raise InputError(self.variant, str(error)) from None


class TrainingSummary(BaseModel):
    """A finished training; `tokens_per_second` is the median of the logged windows, None without any."""

    parameters: int
    target_tokens: int
    tokens_per_second: float | None
    seconds: float


class Measurement(BaseModel):
    """The results of an experiment: `scores` holds the output of `tmt evaluate --json` for each split."""

    variant: str
    seed: int
    config: dict[str, Any]
    trained: TrainingSummary
    scores: dict[str, dict[str, Any]]
    jobs: int
    threads: int


@dataclass
class Runner:
    """Runs `tmt`, `jobs` at once with `threads` each, stderr in NAME.log; raises `TmtError` if one fails.

    `options` come before each command.
    """

    jobs: int
    threads: int
    options: Sequence[str] = ()
    running: set["subprocess.Popen[str]"] = field(default_factory=set)

    def train(self, experiment: Experiment) -> TrainingSummary:
        """Train to the end, resuming an earlier start."""
        print(f"{experiment.name}: training, notes in {experiment.run}.log", file=sys.stderr, flush=True)
        settings = [part for setting in experiment.settings for part in ("--set", setting)]
        start = [str(experiment.file)]
        if experiment.parent:
            corpus = experiment.config().data.corpus
            start = ["--from", str(experiment.parent.run), "--data", corpus, "--only-own"]
        self._tmt(experiment, "train", *start, "--run-dir", str(experiment.run), *settings)
        run, steps = Run.open(experiment.run), experiment.config().training.steps
        progress = newest_progress(run)
        if progress.step != steps:
            remedy = f"choose another --runs{', or raise training.patience' * (progress.step < steps)}"
            raise InputError(run.path, f"trained for {progress.step} steps, not {steps}", remedy)
        windows = [line["tokens_per_second"] for line in run.metrics() if line["kind"] == "training"]
        return TrainingSummary(
            parameters=sum(parameter.numel() for parameter in run.network().parameters()),
            target_tokens=progress.target_tokens,
            tokens_per_second=statistics.median(windows) if windows else None,
            seconds=progress.seconds,
        )

    def evaluate(self, experiment: Experiment, split: str) -> dict[str, Any]:
        """The output of `tmt evaluate --json` for a split, on the training device."""
        config = experiment.config()
        options = ("--data", config.data.corpus, "--split", split, "--device", config.training.device, "--json")
        return json.loads(self._tmt(experiment, "evaluate", "--model", str(experiment.run), *options))

    def translate(self, experiment: Experiment, sources: Sequence[str]) -> list[str]:
        """The translation of each source, none with a line break, on the training device."""
        file = experiment.runs / f"{experiment.name}.source"
        file.write_text("".join(f"{source}\n" for source in sources), "utf-8")
        options = ("--input", str(file), "--device", experiment.config().training.device)
        return self._tmt(experiment, "translate", "--model", str(experiment.run), *options).split("\n")[:-1]

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply a function to all items, `jobs` at once; after an error or Ctrl-C, start nothing new."""
        pool = ThreadPoolExecutor(self.jobs)
        try:
            return list(pool.map(function, items))
        finally:
            pool.shutdown(cancel_futures=True)

    def stop(self, *_: object) -> None:
        """Handle SIGTERM like Ctrl-C, and pass it on: a terminal sends only Ctrl-C to the child processes."""
        for process in tuple(self.running):  # other threads change the set
            process.terminate()
        raise KeyboardInterrupt

    def _tmt(self, experiment: Experiment, *arguments: str) -> str:
        """Run a command and return its stdout."""
        path = experiment.runs / f"{experiment.name}.log"
        with path.open("a", encoding="utf-8") as log:
            before = log.tell()
            process = subprocess.Popen(
                [sys.executable, "-m", "transformer_mt", *self.options, *arguments],
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
                env=os.environ | {"OMP_NUM_THREADS": str(self.threads), "PYTHONIOENCODING": "utf-8"},
            )
            self.running.add(process)
            output, _ = process.communicate()
            self.running.discard(process)
        if process.returncode:
            notes = path.read_bytes()[before:].decode().splitlines() or ["no message"]
            raise TmtError(path, f"{notes[-1]} (exit code {process.returncode})")
        return output
