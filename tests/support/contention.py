"""Many commands at once in one run directory: trainers, one that overwrites, readers, writers, and signals in between.

Two configurations take part whose models have the same shapes, so that a mixture of the two would load. All that
undisturbed trainings of both leave at their validations is known: what a reader gets is one of these moments, and what
stays in the end, once training has been continued, is what the undisturbed training left, byte for byte.
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
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.command_line import settings
from support.forked import start, tmt
from transformer_mt.cli.options import resolve_config
from transformer_mt.config.toml import dump_config
from transformer_mt.errors import MachineError, TmtError
from transformer_mt.runs import directory
from transformer_mt.runs.directory import CHECKPOINTS, CONFIG, METRICS, MODEL, PARTS, TOKENIZER, Run, saved_steps
from transformer_mt.runs.weights import digest, weights_of
from transformer_mt.training.reports import ValidationReport
from transformer_mt.training.session import open_training

STEPS = 16
SENTENCES = "Der Hund schläft.\nDie Frau sieht den alten Baum.\nJa.\n"
WRITTEN = "out.txt"
# Seconds after which a process hangs, on the slowest machine.
LONGEST = 120
# Seconds in which everybody begins, and in which a signal comes after that.
BEGINNINGS, SIGNALS = 1.5, 0.6
READING = 2.5
# What the last line may say: to trainers and to readers.
REFUSALS = r"is being trained by|another training has begun|belongs to another configuration"
NOTHING_TO_READ = r"missing; |no such directory|not a run directory"
STOPPED = {128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}


def options(*, seed: int) -> list[str]:
    """A training of half a second that saves and validates often."""
    return settings(
        training__steps=str(STEPS),
        training__validate_every="2",
        training__checkpoint_every="1",
        training__seed=str(seed),
    )


@dataclass
class Undisturbed:
    """What a training leaves when it is alone: its moments, as copies of the run and as what readers get of them."""

    options: list[str]
    moments: list[Path] = field(default_factory=list)
    states: set[str] = field(default_factory=set)
    translations: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, options: list[str], folder: Path) -> "Undisturbed":
        """Train alone; keep a copy of every validation, and of the end."""
        found, run = cls(options), folder / "run"
        session = open_training(resolve_config(None, data=None, overrides=options[1::2]), run)
        for report in session.train():
            if isinstance(report, ValidationReport):
                found.moments.append(Path(shutil.copytree(run, folder / f"step-{report.step}")))
        found.moments.append(Path(shutil.copytree(run, folder / "end")))
        for moment in found.moments:  # only now: building a model draws random numbers
            found.states.add(state(moment))
            translating = Participant("translate", tmt(*translate(moment)), begins=0.0)
            together([translating], folder)
            assert translating.code == 0, translating.err
            found.translations.add(translating.out)
        return found

    @property
    def end(self) -> Path:
        """The run after the last step."""
        return self.moments[-1]


def state(path: Path) -> str:
    """The sum of all that a reader gets of a run."""
    trained = Run.open(path).load()
    parts = (dump_config(trained.config), trained.tokenizer.serialized.hex(), digest(weights_of(trained.model)))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def translate(run: Path, *more: str) -> tuple[str, ...]:
    """The options that translate the sentences."""
    return ("translate", "--model", str(run), "--device", "cpu", "--input", "sentences", *more)


def keep_reading() -> int:
    """A reader that prints the state of the run again and again; where there is none to read, it waits."""
    end = time.monotonic() + READING
    while time.monotonic() < end:
        try:
            print(state(Path("run")))
        except TmtError as error:
            if not re.search(NOTHING_TO_READ, str(error)):
                raise
            time.sleep(0.02)
    return 0


def keep_reading_slowly() -> int:
    """The same, but before each file it waits, so that others have time to exchange what it has not yet read."""
    chance = random.Random(os.getpid())

    def later(opening: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            time.sleep(chance.uniform(0.0, 0.9))
            return opening(*arguments, **named)

        return call

    directory.read_regular = later(directory.read_regular)
    directory.open_regular = later(directory.open_regular)
    return keep_reading()


@dataclass
class Participant:
    """A process: when it begins, when it gets which signal, and how it ended."""

    kind: str
    command: Callable[[], int]
    begins: float
    signal: int | None = None
    signal_after: float = 0.0

    process: int | None = None
    code: int | None = None
    out: str = ""
    err: str = ""

    def begin(self, place: Path) -> None:
        """Start the process; what it writes goes to files that nobody else sees."""
        files = [os.memfd_create("written"), os.memfd_create("errors")]

        def command() -> int:
            os.chdir(place)
            return self.command()

        self.process = start(command, out=files[0], err=files[1])
        self._files = files

    def look(self, seconds: float) -> None:
        """Send what is due so many seconds after the beginning of all; note whether the process has ended."""
        assert self.process is not None
        if self.signal is not None and not self.signalled and seconds > self.begins + self.signal_after:
            os.kill(self.process, self.signal)
            self.signalled = True
        if seconds > LONGEST:
            os.kill(self.process, signal.SIGKILL)
        ended, status = os.waitpid(self.process, os.WNOHANG)
        if ended:
            self.code = os.waitstatus_to_exitcode(status)
            self.out, self.err = (_content(descriptor) for descriptor in self._files)

    signalled = False

    def problem(self, known: Iterable[Undisturbed]) -> str | None:
        """What is wrong with how it ended and with what it wrote."""
        possible = {0, 2, 3}
        if self.signalled:
            possible |= {-signal.SIGKILL} if self.signal == signal.SIGKILL else STOPPED
        lines = self.err.split("\n")
        if self.code not in possible:
            return f"ended with {self.code}"
        if "Traceback" in self.err or not all(line.startswith("tmt: ") for line in lines[:-1]):
            return "a foreign line on stderr"
        expected = REFUSALS if self.kind in ("train", "overwrite") else NOTHING_TO_READ
        if self.code in (2, 3) and not re.match(rf"tmt: error: .*({expected})", lines[-2]):
            return "not refused as it should be"
        if self.kind.startswith("load") and not set(self.out.split("\n")[:-1]) <= {
            s for one in known for s in one.states
        }:
            return "read a mixture"
        if self.kind == "translate" and self.out not in {"", *(text for one in known for text in one.translations)}:
            return "translated with a mixture"
        return None


def _content(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, "rb") as file:
        return file.read().decode("utf-8", "backslashreplace")


def together(participants: list[Participant], place: Path, watch: Callable[[], object] = lambda: None) -> None:
    """Run all of them to their ends, and watch meanwhile."""
    beginning = time.monotonic()
    while any(one.code is None for one in participants):
        seconds = time.monotonic() - beginning
        for one in participants:
            if one.process is None and one.begins <= seconds:
                one.begin(place)
            elif one.process is not None and one.code is None:
                one.look(seconds)
        watch()
        time.sleep(0.003)


class Contention:
    """Rounds of contention in folders below `folder`; `endings` counts exit codes by kind of participant."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "sentences").write_text(SENTENCES, "utf-8")
        self.known = [Undisturbed.of(options(seed=seed), self._part(f"alone-{seed}")) for seed in (1, 2)]
        self.endings: Counter[tuple[str, int]] = Counter()
        self.counts: Counter[str] = Counter()

    def _part(self, name: str) -> Path:
        part = self.folder / name
        part.mkdir()
        shutil.copy(self.folder / "sentences", part)
        return part

    def round(self, chance: random.Random) -> list[str]:
        """One round, in a directory that is empty or holds a run; what was wrong."""
        place = self._part("round")
        if chance.random() < 0.8:
            shutil.copytree(chance.choice([one for known in self.known for one in known.moments]), place / "run")
        participants = self._participants(chance)
        newest = 0

        def watch() -> None:
            nonlocal newest
            with suppress(MachineError, OSError):  # the directory may go between two looks at it
                newest = max(newest, *saved_steps(place / "run" / CHECKPOINTS), 0)

        together(participants, place, watch)
        problems = [f"{one.kind}: {found}\n{one.err}" for one in participants if (found := one.problem(self.known))]
        for one in participants:
            assert one.code is not None
            self.endings[one.kind, one.code] += 1
            self.counts["states read"] += one.out.count("\n") if one.kind.startswith("load") else 0
        problems += self._written(place)
        # Only who was refused has certainly deleted nothing.
        overwritten = any(one.code != 2 for one in participants if one.kind == "overwrite")
        problems += self._settled(place, at_least=0 if overwritten else newest)
        shutil.rmtree(place)
        return problems

    def _participants(self, chance: random.Random) -> list[Participant]:
        training, other = (["train", "--run-dir", "run", *one.options] for one in self.known)
        overwriting = [*(training if chance.random() < 0.3 else other), "--overwrite"]
        reading = translate(Path("run"))
        kinds: list[tuple[str, Callable[[], int]]] = [
            *[("train", tmt(*training))] * 2,
            *[("overwrite", tmt(*overwriting))] * 3,
            ("load", keep_reading),
            *[("load slowly", keep_reading_slowly)] * 3,
            ("translate", tmt(*reading)),
            *[("write", tmt(*reading, "--output", WRITTEN))] * 2,
        ]
        return [self._participant(kind, command, chance) for kind, command in kinds]

    def _participant(self, kind: str, command: Callable[[], int], chance: random.Random) -> Participant:
        """At a random moment, and for some a signal after a random time."""
        number = chance.choice((None, None, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        if command is keep_reading_slowly:  # it has to come to the end of a reading
            number = None
        return Participant(
            kind,
            command,
            begins=chance.uniform(0.0, BEGINNINGS),
            signal=number,
            signal_after=chance.uniform(0.0, SIGNALS),
        )

    def _written(self, place: Path) -> list[str]:
        """What several writers left of one file."""
        file = place / WRITTEN
        whole = {text for one in self.known for text in one.translations}
        return ["several writers mixed a file"] if file.exists() and file.read_text("utf-8") not in whole else []

    def _settled(self, place: Path, *, at_least: int) -> list[str]:
        """Continue what stands there to its end; how that differs from the undisturbed training."""
        run = place / "run"
        configuration = (run / CONFIG).read_bytes() if (run / CONFIG).exists() else None
        own = [one for one in self.known if (one.end / CONFIG).read_bytes() == configuration]
        if configuration is not None and not own:
            return ["the configuration is neither"]
        undisturbed = own[0] if own else self.known[0]
        self.counts[f"ended as training {self.known.index(undisturbed) + 1}"] += 1
        continuing = Participant("continue", tmt("train", "--run-dir", "run", *undisturbed.options), begins=0.0)
        together([continuing], place)
        if continuing.code or (problem := continuing.problem(self.known)):
            return [f"cannot be continued: {problem if not continuing.code else ''}\n{continuing.err}"]
        found = re.search(r"^tmt: continuing run from step (\d+)$", continuing.err, re.MULTILINE)
        step = int(found[1]) if found else 0
        self.counts["continued from a checkpoint"] += bool(found)
        lost = [f"lost: step {at_least} was saved, step {step} was left"] if step < at_least else []
        left = [f"left behind: {name}" for name in {path.name for path in run.iterdir()} - set(PARTS)]
        left += [f"left behind: {path}" for path in (run / CHECKPOINTS).iterdir() if path.name.startswith(".")]
        wanted, got = parts(undisturbed.end), parts(run)
        return [*lost, *left, *(f"{name} is not the undisturbed one" for name in wanted if got[name] != wanted[name])]


def parts(run: Path) -> Mapping[str, object]:
    """All that a training to its end leaves but times."""
    last = run / CHECKPOINTS / f"step-{STEPS}"
    files = [run / name for name in (CONFIG, TOKENIZER, MODEL)] + sorted(last.glob("*.safetensors"))
    progress = json.loads((last / "progress.json").read_bytes())
    measured = [json.loads(line) for line in (run / METRICS).read_text("utf-8").splitlines()]
    return {
        **{path.name: path.read_bytes() for path in files},
        "progress.json": {key: value for key, value in progress.items() if key != "seconds"},
        METRICS: sorted((line["step"], line["kind"]) for line in measured),
    }
