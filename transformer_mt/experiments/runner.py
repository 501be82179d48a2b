"""Running experiments, each in a process of its own, several side by side."""

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from transformer_mt.errors import InputError, TmtError
from transformer_mt.experiments.experiment import Experiment, TrainingSummary
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.directory import Run


@dataclass
class Runner:
    """Runs `tmt`, `jobs` at once with `threads` each, stderr in NAME.log; raises `TmtError` where one fails."""

    jobs: int
    threads: int
    running: set["subprocess.Popen[str]"] = field(default_factory=set)

    def train(self, experiment: Experiment) -> TrainingSummary:
        """Train to the end, from wherever an earlier start stopped."""
        print(f"{experiment.name}: training, notes in {experiment.run}.log", file=sys.stderr, flush=True)
        settings = [part for setting in experiment.settings for part in ("--set", setting)]
        self._tmt(experiment, "train", str(experiment.file), "--run-dir", str(experiment.run), *settings)
        run, steps = Run.open(experiment.run), experiment.config().training.steps
        progress = newest_progress(run)
        if progress.step != steps:
            raise InputError(f"{run.path}: trained for {progress.step} steps, not {steps}; choose another --runs")
        windows = [line["tokens_per_second"] for line in run.metrics() if line["kind"] == "training"]
        return TrainingSummary(
            parameters=sum(parameter.numel() for parameter in run.load().model.parameters()),
            target_tokens=progress.target_tokens,
            tokens_per_second=statistics.median(windows) if windows else None,
        )

    def evaluate(self, experiment: Experiment, split: str) -> dict[str, Any]:
        """The output of `tmt evaluate --json` for a split, on the device of the training."""
        print(f"{experiment.name}: evaluating on {split}", file=sys.stderr, flush=True)
        device = ("--device", experiment.config().training.device)
        printed = self._tmt(experiment, "evaluate", "--model", str(experiment.run), "--split", split, *device, "--json")
        return json.loads(printed)

    def stop(self, *_: object) -> None:
        """A handler of SIGTERM: end as after Ctrl-C, which a terminal, unlike SIGTERM, sends to the processes too."""
        for process in tuple(self.running):  # other threads change the set
            process.terminate()
        raise KeyboardInterrupt

    def _tmt(self, experiment: Experiment, *arguments: str) -> str:
        """Run a command; its stdout."""
        path = experiment.runs / f"{experiment.name}.log"
        with path.open("a", encoding="utf-8") as log:
            before = log.tell()
            process = subprocess.Popen(
                [sys.executable, "-m", "transformer_mt", *arguments],
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
            raise TmtError(f"{notes[-1]} (exit code {process.returncode}, see {path})")
        return output
