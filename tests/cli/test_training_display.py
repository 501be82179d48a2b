"""Training reports as lines, with a progress bar on a terminal."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from transformer_mt.cli.training_display import TrainLog, display, report_lines
from transformer_mt.config.sections import TrainingConfig
from transformer_mt.runs.checkpoints import Progress
from transformer_mt.runs.directory import TRAIN_LOG, Run
from transformer_mt.training.reports import FinishReport, Report, StepReport, Validation, ValidationReport, WindowReport
from transformer_mt.training.trainer import Trainer

STEPS = TrainingConfig().steps


class Halfway(Trainer):
    """A trainer at step 50 with nothing to train."""

    def __init__(self, *, epochs: int = 0) -> None:
        self.config, self.progress = TrainingConfig(epochs=epochs, choose_by="chrf"), Progress(step=50)

    def share_done(self) -> float:
        return 0.25


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


def lines_of(report: Report, *, epochs: int = 0) -> list[str]:
    return [*report_lines(report, TrainingConfig(epochs=epochs, choose_by="chrf"))]


def test_report_lines() -> None:
    assert [lines_of(report) for report in EVERY] == [
        [],
        [f"step 50/{STEPS}  epoch 2  loss 7.500  rate 1.00e-04  12,345 tokens/s"],
        ["step 50  validation loss 3.500  BLEU 0.25  chrF 9.50  (best chrf, 1.0 s)", "  ein Satz → a 50"],
        ["finished at step 50: all steps are done; best validation at step 50"],
    ]
    assert lines_of(EVERY[1], epochs=7) == ["step 50  epoch 2/7  loss 7.500  rate 1.00e-04  12,345 tokens/s"]
    worse = ValidationReport(50, 0, Validation(3.5, 0.25, 9.5, ()), False, 3, 1.0)
    assert lines_of(worse) == ["step 50  validation loss 3.500  BLEU 0.25  chrF 9.50  (no better chrf for 3, 1.0 s)"]


@pytest.mark.parametrize(("terminal", "is_first"), [(True, True), (True, False), (False, True), (False, False)])
def test_main_process_shows_lines_and_bar(
    terminal: bool, is_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr("sys.stderr", stderr)
    console = Console(stderr=True, width=80, force_terminal=terminal, color_system=None)
    with display(console, TrainLog(Run(tmp_path), is_main=is_first), Halfway()) as show:
        for report in EVERY:
            show(report)
    shown = stderr.getvalue()
    every = [line for report in EVERY for line in lines_of(report)]
    assert [line for line in every if f"tmt: {line}" in shown] == (every if is_first else [])
    assert ("25 %" in shown) == ("step 50 ━" in shown) == (terminal and is_first)
    if not terminal:
        assert shown == "".join(f"tmt: {line}\n" for line in every if is_first)
    log = tmp_path / TRAIN_LOG
    assert len(log.read_text("utf-8").splitlines() if log.exists() else []) == is_first * len(every)


def test_failure_restores_the_cursor(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with pytest.raises(KeyboardInterrupt), display(console, TrainLog(Run(tmp_path), is_main=True), Halfway()):
        raise KeyboardInterrupt
    assert console.file.getvalue().endswith("\x1b[?25h")  # type: ignore[attr-defined]


class Closed(io.StringIO):
    """A terminal that is closed during training."""

    is_closed = False

    def write(self, text: str) -> int:
        if self.is_closed:
            raise OSError("closed")
        return super().write(text)


def test_closed_terminal_does_not_stop_training(tmp_path: Path) -> None:
    file = Closed()
    console = Console(file=file, width=80, force_terminal=True, color_system=None)
    with display(console, TrainLog(Run(tmp_path), is_main=True), Halfway()) as show:
        show(EVERY[1])
        file.is_closed = True
