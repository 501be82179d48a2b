"""Concurrent trainings and readers in one run directory; some trainings overwrite it, and some processes are killed.

The two configurations have models of the same shapes, so that a mixture of both would load. Undisturbed trainings of
both provide reference snapshots, one per validation. Each reader must see one of these snapshots, and after resuming
training to its end, the run must match the undisturbed run byte for byte.
"""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from support.command_line import settings
from support.forked import start, tmt

from transformer_mt.cli.options import resolve_config
from transformer_mt.config.toml import dump_config
from transformer_mt.ground.errors import MachineError, TmtError
from transformer_mt.ground.files import read_regular
from transformer_mt.runs import directory
from transformer_mt.runs.checkpoints import STATE
from transformer_mt.runs.directory import CHECKPOINTS, CONFIG, METRICS, MODEL, PARTS, TOKENIZER, Run, saved_steps
from transformer_mt.runs.weights import digest, unpack, weights_of
from transformer_mt.training.reports import ValidationReport
from transformer_mt.training.session import open_training

STEPS = 16
# Seconds before a process counts as hung, on the slowest machine.
LONGEST = 120
# Seconds: window for process starts, maximum delay of the signal after that, and duration of reading.
BEGINNINGS, SIGNALS, READING = 1.5, 0.6, 2.5
# The last line of refused trainers and readers.
REFUSALS = r"is being trained by|another process has started training|belongs to another configuration"
NOTHING_TO_READ = r"missing; |not a run directory|not the one that model\.safetensors was saved with"


class Undisturbed:
    """A training without concurrent processes: its snapshots, and the states readers get of them."""

    def __init__(self, folder: Path, *, seed: int) -> None:
        every = {"training__validate_every": "2", "training__checkpoint_every": "1", "training__seed": str(seed)}
        self.options = settings(training__steps=str(STEPS), **every)
        folder.mkdir()
        session = open_training(resolve_config(None, data=None, overrides=self.options[1::2]), folder / "run")
        self.moments = [
            Path(shutil.copytree(folder / "run", folder / f"step-{report.step}"))
            for report in session.train()
            if isinstance(report, ValidationReport)
        ]
        self.moments.append(Path(shutil.copytree(folder / "run", folder / "end")))
        self.states = set(map(state, self.moments))  # only now, since building a model draws random numbers


def state(path: Path) -> str:
    """The digest of everything a reader gets of a run."""
    run = Run.open(path)
    network = run.network()  # verifies that the other files belong to it
    parts = (dump_config(run.config()), run.tokenizer().serialized.hex(), digest(weights_of(network)))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def keep_reading(*, slowly: bool) -> int:
    """Print the state of the run repeatedly; wait while there is none, and with `slowly` delay each file."""
    chance, end = random.Random(os.getpid()), time.monotonic() + READING

    def later(opening: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            time.sleep(chance.uniform(0.0, 0.9))  # lets others replace files not yet read
            return opening(*arguments, **named)

        return call

    if slowly:
        mock.patch.object(directory, "read_regular", later(read_regular)).start()
    while time.monotonic() < end:
        try:
            print(state(Path("run")))
        except TmtError as error:
            if not re.search(NOTHING_TO_READ, str(error)):
                raise
            time.sleep(0.02)
    return 0


@dataclass
class Participant:
    """A process: when it starts, when it gets a signal, and how it ended."""

    kind: str
    command: Callable[[], int]
    begins: float = 0.0
    signal: int | None = None
    signal_at: float = 0.0

    process: int | None = None
    code: int | None = None

    def look(self, place: Path, seconds: float) -> None:
        """Start the process, or send its signal if due after this many seconds; record how it ended."""
        if self.process is None:
            if seconds >= self.begins:
                self.files = [os.memfd_create("written"), os.memfd_create("errors")]
                self.process = start(lambda: self._run_in(place), out=self.files[0], err=self.files[1])
            return
        if self.signal is not None and seconds > self.signal_at:
            os.kill(self.process, self.signal)
            self.sent, self.signal = self.signal, None
        if seconds > LONGEST:
            os.kill(self.process, signal.SIGKILL)
        ended, status = os.waitpid(self.process, os.WNOHANG)
        if ended:
            self.code = os.waitstatus_to_exitcode(status)
            self.out, self.err = map(_content, self.files)

    sent: int | None = None

    def _run_in(self, place: Path) -> int:
        os.chdir(place)
        return self.command()

    def problem(self, states: set[str]) -> str | None:
        """The fault in its exit or its output, if any."""
        stopped = 128 + self.sent if self.sent else 0
        if self.sent == signal.SIGKILL:
            stopped = -signal.SIGKILL
        lines = self.err.split("\n")
        expected = NOTHING_TO_READ if self.kind == "read" else REFUSALS
        if self.code not in {0, 2, 3, stopped}:
            return f"ended with {self.code}"
        if "Traceback" in self.err or not all(line.startswith("tmt: ") for line in lines[:-1]):
            return "a foreign line on stderr"
        if self.code in (2, 3) and not re.match(rf"tmt: error: .*({expected})", lines[-2]):
            return "not refused as it should be"
        return None if self.kind != "read" or set(self.out.split("\n")[:-1]) <= states else "read a mixture"


def _content(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, "rb") as file:
        return file.read().decode("utf-8", "backslashreplace")


def together(participants: list[Participant], place: Path) -> int:
    """Run all of them to their ends; return the newest step saved meanwhile."""
    beginning, newest = time.monotonic(), 0
    while running := [one for one in participants if one.code is None]:
        for one in running:
            one.look(place, time.monotonic() - beginning)
        with suppress(MachineError, OSError):  # the directory may vanish between two looks
            newest = max(newest, *saved_steps(place / "run" / CHECKPOINTS), 0)
        time.sleep(0.003)
    return newest


class Contention:
    """Rounds of contention in folders below `folder`; `endings` counts exit codes by kind of participant."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known = [Undisturbed(folder / f"alone-{seed}", seed=seed) for seed in (1, 2)]
        self.states = self.known[0].states | self.known[1].states
        self.endings: Counter[tuple[str, int]] = Counter()
        self.counts: Counter[str] = Counter()

    def round(self, chance: random.Random) -> list[str]:
        """Run one round in a directory that is empty or holds a run; return all problems."""
        place = self.folder / "round"
        place.mkdir()
        if chance.random() < 0.8:
            shutil.copytree(chance.choice([one for known in self.known for one in known.moments]), place / "run")
        participants = self._participants(chance)
        newest = together(participants, place)
        problems = [
            f"{one.kind}: {problem}\n{one.err}" for one in participants if (problem := one.problem(self.states))
        ]
        self.endings.update((one.kind, one.code) for one in participants if one.code is not None)
        self.counts["states read"] += sum(one.out.count("\n") for one in participants if one.kind == "read")
        # Only a refused process has certainly deleted nothing.
        overwritten = any(one.code != 2 for one in participants if one.kind == "overwrite")
        problems += self._settled(place, at_least=0 if overwritten else newest)
        shutil.rmtree(place)
        return problems

    def _participants(self, chance: random.Random) -> list[Participant]:
        """Participants that start at random moments; some get a signal after a random time."""
        training, other = (["train", "--run-dir", "run", *one.options] for one in self.known)
        overwriting = [*(training if chance.random() < 0.3 else other), "--overwrite"]
        participants = [Participant("train", tmt(*training)) for _ in range(2)]
        participants += [Participant("overwrite", tmt(*overwriting)) for _ in range(3)]
        participants += [Participant("read", lambda: keep_reading(slowly=False))]
        for one in participants:
            one.signal = chance.choice((None, None, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        participants += [Participant("read", lambda: keep_reading(slowly=True)) for _ in range(3)]
        for one in participants:
            one.begins = chance.uniform(0.0, BEGINNINGS)
            one.signal_at = one.begins + chance.uniform(0.0, SIGNALS)
        return participants

    def _settled(self, place: Path, *, at_least: int) -> list[str]:
        """Resume the run to its end; return how it differs from the undisturbed training."""
        run = place / "run"
        configuration = (run / CONFIG).read_bytes() if (run / CONFIG).exists() else None
        own = [one for one in self.known if (one.moments[-1] / CONFIG).read_bytes() == configuration]
        if configuration is not None and not own:
            return ["the configuration is neither"]
        undisturbed = (own or self.known)[0]
        continuing = Participant("continue", tmt("train", "--run-dir", "run", *undisturbed.options))
        together([continuing], place)
        if continuing.code or continuing.problem(set()):
            return [f"cannot be continued: {continuing.code}\n{continuing.err}"]
        found = re.search(r"^tmt: continuing run from step (\d+)$", continuing.err, re.MULTILINE)
        step = int(found[1]) if found else 0
        self.counts["continued from a checkpoint"] += bool(found)
        problems = [f"lost: step {at_least} was saved, step {step} was left"] if step < at_least else []
        problems += [f"left behind: {name}" for name in {path.name for path in run.iterdir()} - set(PARTS)]
        problems += [f"left behind: {path}" for path in (run / CHECKPOINTS).iterdir() if path.name.startswith(".")]
        wanted, got = contents(undisturbed.moments[-1]), contents(run)
        return [*problems, *(f"{name} is not the undisturbed one" for name in wanted if got[name] != wanted[name])]


def contents(run: Path) -> dict[str, object]:
    """Everything that a finished training leaves, except times."""
    last = run / CHECKPOINTS / f"step-{STEPS}"
    files = [run / CONFIG, run / TOKENIZER, run / MODEL, last / MODEL]
    state = unpack(
        (last / STATE).read_bytes(), path=last
    )  # its header has the digest of the progress, and so of the time
    progress = json.loads((last / "progress.json").read_bytes())
    measured = [json.loads(line) for line in (run / METRICS).read_text("utf-8").splitlines()]
    return {
        **{str(path.relative_to(run)): path.read_bytes() for path in files},
        STATE: digest(state),
        "progress.json": {key: value for key, value in progress.items() if key != "seconds"},
        METRICS: sorted((line["step"], line["kind"]) for line in measured),
    }
