"""Fixtures: a tiny trained run, an empty working directory, and the command line."""

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from support.command_line import OnTerminal, Terminal, Tmt, settings, write_corpus
from support.tiny import write_run
from transformer_mt.cli.main import run
from transformer_mt.runs.directory import Run


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files shared by these tests: a corpus `data`, and `run`, trained on it."""
    home = tmp_path_factory.mktemp("cli")
    write_corpus(home / "data")
    assert run(["train", "--data", str(home / "data"), "--run-dir", str(home / "run"), *settings()]) == 0
    return home


@pytest.fixture(scope="session")
def recurrent(home: Path) -> Callable[[str], str]:
    """Return a function that writes an untrained run of a recurrent model with a given score."""

    @cache
    def made(score: str) -> str:
        tokenizer = Run.open(home / "run").tokenizer()
        return str(write_run(home / score, "model.kind=recurrent", f"model.score={score}", tokenizer=tokenizer))

    return made


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run every test in its own empty directory, without a terminal and with a plain environment."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "COLORTERM", "PYTHONUNBUFFERED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def trained(home: Path) -> str:
    """The directory of the shared run; read-only."""
    return str(home / "run")


@pytest.fixture
def data(home: Path) -> str:
    """The folder of the shared corpus; read-only."""
    return str(home / "data")


@pytest.fixture
def own_run(home: Path, workplace: Path) -> Path:
    """A copy of the run for a test to damage: `run` in its working directory."""
    return Path(shutil.copytree(home / "run", workplace / "run")).relative_to(workplace)


@pytest.fixture
def on_run(trained: str, tmt: Tmt) -> Tmt:
    """Return a function that calls a command of `tmt` with the shared run."""
    return lambda command, *arguments: tmt(command, "--model", trained, *arguments)


@pytest.fixture
def terminal() -> Iterator[OnTerminal]:
    """Return a function that calls `tmt` on a terminal with `typed` as its input."""
    with pytest.MonkeyPatch.context() as patch:
        yield lambda *arguments, typed="": Terminal(typed=typed, patch=patch).tmt(*arguments)


def train_run(folder: Path, **sizes: str) -> Path:
    """A folder with `runs/one`, trained for a few steps on the few pairs of its `data`."""
    write_corpus(folder / "data")
    where = ["--data", str(folder / "data"), "--run-dir", str(folder / "runs/one")]
    assert run(["train", *where, *settings(**sizes)]) == 0
    return folder
