"""What training shows: a live picture on a terminal, and lines for logs and pipes."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from transformer_mt.cli.training_display import LiveDisplay, TrainLog, display, report_lines
from transformer_mt.config.sections import TrainingConfig
from transformer_mt.runs.checkpoints import Progress
from transformer_mt.runs.directory import TRAIN_LOG, Run
from transformer_mt.training.reports import FinishReport, Report, StepReport, Validation, ValidationReport, WindowReport
from transformer_mt.training.trainer import Trainer

STEPS = TrainingConfig().steps

WILD = "xyz" * 200
REPEATED = "the the of " * 90


class Halfway(Trainer):
    """A trainer that has nothing to train, and stands somewhere."""

    def __init__(self, *, epochs: int = 0) -> None:
        self.config, self.progress = TrainingConfig(epochs=epochs), Progress(step=50)

    def share_done(self) -> float:
        return 0.25


def picture(*translations: str, height: int = 24, width: int = 80, validations: int = 11) -> list[str]:
    """The lines of the display after so many validations, the last of which has these translations."""
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    display = LiveDisplay(console, Halfway())
    display.show(WindowReport(50, 0, 7.5, 1e-4, 12_345.0))
    samples = tuple((f"ein Satz {number}", f"a sentence {number}", text) for number, text in enumerate(translations))
    for number in range(validations):
        display.show(ValidationReport(number, 0, Validation(3.5, 0.25, 9.5, samples), True, 0, 1.0))
    return drawn(display)


def drawn(display: LiveDisplay) -> list[str]:
    """The lines that the display shows now."""
    lines = display.console.render_lines(display.live.get_renderable())
    return ["".join(part.text for part in line).rstrip() for line in lines]


def live(*, width: int = 80, epochs: int = 0) -> LiveDisplay:
    console = Console(file=io.StringIO(), width=width, height=24, force_terminal=True, color_system=None)
    return LiveDisplay(console, Halfway(epochs=epochs))


def step(seconds: float) -> StepReport:
    return StepReport(51, 0, 3.5, 1e-4, 1.0, 1_000, seconds)


def validation(number: int, *, best: bool = True, text: str = "a") -> ValidationReport:
    samples = (("ein Satz", "a sentence", f"{text} {number}"),)
    return ValidationReport(number, 0, Validation(3.5, 0.25, 9.5, samples), best, 0, 1.0)


EVERY: list[Report] = [
    step(2.0),
    WindowReport(50, 2, 7.5, 1e-4, 12_345.0),
    validation(50),
    FinishReport(50, "all steps are done", 50),
]


@pytest.mark.parametrize("width", [60, 200])
def test_wild_translations_are_cut_with_dots(width: int) -> None:
    text = "\n".join(picture(WILD, REPEATED, "日本" * 300, height=24, width=width))
    assert all(f"ein Satz {index}" in text for index in range(3))
    assert "…" in text


def test_what_fits_is_shown_whole() -> None:
    text = "\n".join(picture("Der Hund.", "Die Katze schläft."))
    assert "…" not in text
    assert "Die Katze schläft." in text
    assert text.count("best") == 8


@pytest.mark.parametrize(("epochs", "said"), [(0, f"step 50/{STEPS}"), (7, "step 50 ")])
def test_the_bar_says_the_step_of_how_many_and_the_share(epochs: int, said: str) -> None:
    shown = live(epochs=epochs)
    assert shown.progress.tasks[0].completed == 0.25
    shown.show(step(2.0))
    assert drawn(shown)[0].startswith(said)
    assert "25 %" in drawn(shown)[0]


def test_below_the_bar_stands_the_speed_of_the_first_step_then_the_last_report() -> None:
    shown = live()
    shown.show(step(2.0))
    shown.show(step(4.0))
    assert drawn(shown)[1] == "500 tokens/s"
    shown.show(WindowReport(50, 0, 7.5, 1e-4, 12_345.0))
    shown.show(step(4.0))
    assert drawn(shown)[1] == f"step 50/{STEPS}  epoch 1  loss 7.500  rate 1.00e-04  12,345 tokens/s"
    shown.show(FinishReport(50, "all steps are done", 30))
    assert drawn(shown)[1] == "finished at step 50: all steps are done; best validation at step 30"


def test_the_last_validations_and_the_last_samples_are_shown_and_which_was_best() -> None:
    shown = live()
    for number in range(9):
        shown.show(validation(number, best=number % 2 == 0, text="translated at"))
    lines = drawn(shown)
    rows = [line.split() for line in lines if line.split()[1:2] == ["3.500"]]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 9)]
    assert [row[4:] for row in rows] == [["best"] if number % 2 == 0 else [] for number in range(1, 9)]
    assert rows[0][:4] == ["1", "3.500", "0.25", "9.50"]
    assert sum("translated at" in line for line in lines) == 1
    assert "translated at 8" in lines[-1]


def lines_of(report: Report, *, epochs: int = 0) -> list[str]:
    return [*report_lines(report, TrainingConfig(epochs=epochs))]


def test_reports_in_words() -> None:
    assert [lines_of(report) for report in EVERY] == [
        [],
        [f"step 50/{STEPS}  epoch 3  loss 7.500  rate 1.00e-04  12,345 tokens/s"],
        ["step 50  validation loss 3.500  BLEU 0.25  chrF 9.50  (best so far, 1.0 s)", "  ein Satz → a 50"],
        ["finished at step 50: all steps are done; best validation at step 50"],
    ]
    assert lines_of(EVERY[1], epochs=7) == ["step 50  epoch 3/7  loss 7.500  rate 1.00e-04  12,345 tokens/s"]
    worse = ValidationReport(50, 0, Validation(3.5, 0.25, 9.5, ()), False, 3, 1.0)
    assert lines_of(worse) == ["step 50  validation loss 3.500  BLEU 0.25  chrF 9.50  (no progress for 3, 1.0 s)"]


@pytest.mark.parametrize(("terminal", "is_first"), [(True, True), (True, False), (False, True), (False, False)])
def test_the_first_process_shows_it_live_on_a_terminal_and_as_lines_elsewhere(
    terminal: bool, is_first: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=terminal, color_system=None)
    with display(console, TrainLog(Run(tmp_path), is_main=is_first), Halfway()) as show:
        for report in EVERY:
            show(report)
    drawn = console.file.getvalue()  # type: ignore[attr-defined]
    said = capsys.readouterr().err.splitlines()
    every = [line for report in EVERY for line in lines_of(report)]
    assert ("finished at step 50" in drawn) == (terminal and is_first)
    assert said == ([f"tmt: {line}" for line in every] if is_first and not terminal else [])
    assert (tmp_path / TRAIN_LOG).exists() == is_first
    if is_first:
        log = (tmp_path / TRAIN_LOG).read_text("utf-8").splitlines()
        assert [re.sub(r"^[\d-]+ [\d:]+ ", "", line) for line in log] == every


def test_the_cursor_is_given_back_also_when_training_fails(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with pytest.raises(KeyboardInterrupt), display(console, TrainLog(Run(tmp_path), is_main=True), Halfway()):
        raise KeyboardInterrupt
    assert console.file.getvalue().endswith("\x1b[?25h")  # type: ignore[attr-defined]


class Closed(io.StringIO):
    """A terminal that is closed while training goes on."""

    is_closed = False

    def write(self, text: str) -> int:
        if self.is_closed:
            raise OSError("closed")
        return super().write(text)


def test_a_terminal_that_has_been_closed_ends_nothing(tmp_path: Path) -> None:
    file = Closed()
    console = Console(file=file, width=80, force_terminal=True, color_system=None)
    with display(console, TrainLog(Run(tmp_path), is_main=True), Halfway()) as show:
        show(EVERY[1])
        file.is_closed = True
