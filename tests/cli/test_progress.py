"""Long work is named after a second, with a progress bar on a terminal."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.command_line import PAIRS, OnTerminal, Tmt, settings

from transformer_mt.cli.terminal import show_work
from transformer_mt.ground.progress import shown_by, working

SOURCE = PAIRS[0][0]
Works = dict[str, tuple[int | None, int]]


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> Works:
    """Record the names of a command's work, with the total and finished number of items."""
    works: Works = {}

    @contextmanager
    def record(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        works[name] = total, 0

        def done(count: int) -> None:
            works[name] = total, works[name][1] + count

        yield done

    monkeypatch.setattr("transformer_mt.cli.terminal.show_work", record)
    return works


LOOKING = "looking for characters missing from the vocabulary"


@pytest.mark.parametrize(
    ("options", "learned"),
    [(settings(), "learning a vocabulary of 310 tokens"), (["--from", "run", "--steps", "1"], LOOKING)],
)
def test_train_names_its_work(
    options: list[str], learned: str, own_run: Path, data: str, tmt: Tmt, works: Works
) -> None:
    lines = tmt("train", "--data", data, "--run-dir", "new", *options).err.splitlines()
    assert [*works] == [f"reading {data}", learned, "encoding the pairs", "counting words"]
    chosen = ["the heads for word links", "when to doubt a translation"]
    assert lines[-4:-2] == [f"tmt: choosing {what}" for what in chosen]  # followed by the end and a hint


def test_data_names_its_work(data: str, tmt: Tmt, works: Works) -> None:
    assert tmt("data", "--data", data).code == 0
    assert [*works] == [f"reading {data}", "counting"]


def test_measuring_counts_items(data: str, works: Works, on_run: Tmt) -> None:
    assert on_run("evaluate", "--data", data).code == 0
    assert works == {f"reading {data}": (None, 0), "": (15, 15), "resampling the test set": (None, 0)}


def test_names_files_written(on_run: Tmt, works: Works) -> None:
    Path("in").write_text(f"{SOURCE}\n\n{SOURCE}\n")
    assert on_run("translate", "--input", "in", "--output", "out").code == 0
    assert works == {"translating into out": (None, 2)}


def test_quiet(works: Works, on_run: Tmt) -> None:
    assert on_run("translate", "--quiet", "--output", "out", SOURCE).err == ""
    assert works == {}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.cli.terminal.SECONDS_BEFORE_A_BAR", 0.01)


@pytest.mark.usefixtures("impatient")
def test_names_only_long_work(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with shown_by(show_work):
        with working("long work", total=2):
            wait_until(lambda: "work" in capsys.readouterr().err)
        with working(""):
            time.sleep(0.1)
        monkeypatch.setattr("transformer_mt.cli.terminal.SECONDS_BEFORE_A_BAR", 60.0)
        with working("short work"):
            pass
    assert capsys.readouterr() == ("", "")


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("nothing was shown")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("term", "has_bar"), [("xterm-256color", True), ("dumb", False)])
def test_progress_bar_on_a_terminal(
    term: str, has_bar: bool, trained: str, data: str, terminal: OnTerminal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("TERM", term)
    code, screen = terminal("evaluate", "--model", trained, "--data", data)
    assert code == 0
    assert bool(re.search(r"\d %\S* \S*0:00:\d\d\S* left ", screen)) == has_bar
    assert screen.count("\x1b[?25l") == screen.count("\x1b[?25h")
    assert has_bar or "\n\n" not in screen.partition("BLEU")[0]
    assert "BLEU" in screen
