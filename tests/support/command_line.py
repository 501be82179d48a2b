"""The command line in this process, called as from a shell, and the options of a tiny training."""

import hashlib
import json
import os
import pty
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from transformer_mt.cli.app import commands
from transformer_mt.cli.main import run
from transformer_mt.runs.lock import LOCK

# The page that documents the keys of `--json`.
VIEWS_PAGE = Path(__file__).parents[2].joinpath("docs/json.md").read_text("utf-8")


def present(*rows: str) -> list[str]:
    """The rows that start with a command of the core or of an extension that is there."""
    return [row for row in rows if row.split()[0] in commands()]


PROGRAM = [sys.executable, "-c", "from transformer_mt.cli.main import main; main()"]

NOUNS = ("Hund", "Mann", "Baum", "Tisch", "Vogel")
VERBS = ("schläft", "wartet", "fällt")
ENGLISH = dict(zip((*NOUNS, *VERBS), ("dog", "man", "tree", "table", "bird", "sleeps", "waits", "falls"), strict=True))
PAIRS = [(f"Der {noun} {verb}.", f"The {ENGLISH[noun]} {ENGLISH[verb]}.") for noun in NOUNS for verb in VERBS]

SIZES = {
    "data.builtin.train": "40",
    "data.builtin.validation": "11",
    "data.builtin.test": "7",
    "tokenizer.vocabulary_size": "310",
    "model.width": "16",
    "model.encoder_layers": "1",
    "model.decoder_layers": "1",
    "model.feed_forward_width": "16",
    "model.attention.heads": "2",
    "model.max_length": "96",
    "training.steps": "6",
    "training.batch_tokens": "128",
    "training.validate_every": "3",
    "training.checkpoint_every": "2",
    "training.log_every": "2",
    "training.device": "cpu",
    "training.precision": "float32",
    "search.beam": "2",
    "search.max_length": "12",
}


@dataclass(frozen=True)
class Outcome:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of stdout, split only at newlines."""
        return self.out.removesuffix("\n").split("\n") if self.out else []

    @property
    def mistake(self) -> str:
        """The message of a usage error; only notes may precede it."""
        assert (self.code, self.out) == (2, "")
        *_, line = self.err.splitlines()
        assert line.startswith("tmt: error: ")
        return line.removeprefix("tmt: error: ")

    @property
    def json(self) -> Any:
        """The object that `--json` printed."""
        return json.loads(self.out)

    @property
    def records(self) -> list[Any]:
        """The objects that `--json` printed, one per line."""
        return [json.loads(line) for line in self.lines]


Tmt = Callable[..., Outcome]
# Calls `tmt` on a terminal; returns the exit code and the screen.
OnTerminal = Callable[..., tuple[int, str]]


@pytest.fixture
def tmt(capsys: pytest.CaptureFixture[str]) -> Tmt:
    """Return a function that calls `tmt` with its arguments."""

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run(list(arguments))
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


def settings(**changes: str) -> list[str]:
    """The options of a tiny training; `training__steps="9"` changes one."""
    chosen = SIZES | {key.replace("__", "."): value for key, value in changes.items()}
    return [part for key, value in chosen.items() for part in ("--set", f"{key}={value}")]


def write_corpus(folder: Path) -> Path:
    """A folder with three splits of the same few pairs, repeated in training so that no word is rare."""
    folder.mkdir()
    for split, often in (("train", 4), ("validation", 1), ("test", 1)):
        (folder / f"{split}.de-en.tsv").write_text("".join(f"{de}\t{en}\n" for de, en in PAIRS * often), "utf-8")
    return folder


def contents(root: Path) -> dict[str, bytes | None]:
    """Everything below a directory except locks: the bytes of files, None for directories."""
    paths = sorted(path for path in root.rglob("*") if path.name != LOCK)
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in paths}


def weights(run: Path) -> str:
    """A digest of the final weights of a run."""
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()


class Terminal:
    """A pseudo-terminal as stdin, stdout and stderr."""

    def __init__(self, *, typed: str, patch: pytest.MonkeyPatch) -> None:
        self.master, slave = pty.openpty()
        os.write(self.master, typed.encode())
        self.screen = b""
        self._reader = Thread(target=self._read)
        self._files = [
            open(os.dup(slave), mode, encoding="utf-8", buffering=1)  # noqa: SIM115
            for mode in ("r", "w", "w")
        ]
        os.close(slave)
        for name, file in zip(("stdin", "stdout", "stderr"), self._files, strict=True):
            patch.setattr(sys, name, file)

    def tmt(self, *arguments: str) -> tuple[int, str]:
        """Call `tmt`; return the exit code and the screen."""
        self._reader.start()
        try:
            code = run(list(arguments))
        finally:
            for file in self._files:
                file.close()
            self._reader.join()
            os.close(self.master)
        return code, self.screen.decode().replace("\r\n", "\n")

    def _read(self) -> None:
        try:
            while chunk := os.read(self.master, 65536):
                self.screen += chunk
        except OSError:  # Linux, once the other side is closed
            return
