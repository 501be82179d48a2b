"""How training is shown: live on a terminal, as plain lines anywhere else."""

from contextlib import suppress
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from transformer_mt.cli.terminal import note, notes_console
from transformer_mt.inspection.escape import escape_controls
from transformer_mt.training.reports import FinishReport, Report, StepReport, ValidationReport, WindowReport

VALIDATIONS_SHOWN = 8


def window_line(window: WindowReport, steps: int) -> str:
    """Some training steps in one line."""
    return (
        f"step {window.step}/{steps}  epoch {window.epoch + 1}  loss {window.loss:.3f}  "
        f"rate {window.learning_rate:.2e}  {window.tokens_per_second:,.0f} tokens/s"
    )


def validation_line(report: ValidationReport) -> str:
    """A validation in one line."""
    found = report.validation
    verdict = "best so far" if report.best else f"no progress for {report.validations_without_improvement}"
    return (
        f"step {report.step}  validation loss {found.loss:.3f}  BLEU {found.bleu:.2f}  chrF {found.chrf:.2f}  "
        f"({verdict}, {report.seconds:.1f} s)"
    )


class PlainDisplay:
    """Lines on stderr, for logs and pipes."""

    def __init__(self, *, steps: int, first_step: int) -> None:
        del first_step
        self.steps = steps

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass

    def show(self, report: Report) -> None:
        """Show what a report brings."""
        match report:
            case StepReport():
                pass
            case WindowReport():
                note(window_line(report, self.steps))
            case ValidationReport():
                note(validation_line(report))
                for source, _, translation in report.validation.samples:
                    note(f"  {source} → {translation}")
            case FinishReport():
                note(finish_line(report))


class LiveDisplay:
    """A progress bar, the last validations, and what the fixed sentences are translated to now."""

    def __init__(self, *, steps: int, first_step: int) -> None:
        self.console: Console = notes_console()
        self.progress = Progress(
            TextColumn("step {task.completed}/{task.total}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn("{task.percentage:.0f} %", markup=False),
            TimeElapsedColumn(),
            TextColumn("left", markup=False),
            TimeRemainingColumn(),
            console=self.console,
        )
        self.task = self.progress.add_task("training", total=steps, completed=first_step)
        self.steps = steps
        self.line = ""
        self.validations: list[ValidationReport] = []
        self.live = Live(console=self.console, refresh_per_second=4)

    def __enter__(self) -> Self:
        self.live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(OSError):  # the terminal may have been closed
            self.live.__exit__(kind, error, traceback)

    def show(self, report: Report) -> None:
        """Show what a report brings."""
        match report:
            case StepReport():
                self.progress.update(self.task, completed=report.step)
                self.line = self.line or f"{report.target_tokens / report.seconds:,.0f} tokens/s"
            case WindowReport():
                self.line = window_line(report, self.steps)
            case ValidationReport():
                self.validations.append(report)
            case FinishReport():
                self.line = finish_line(report)
        self.live.update(self._picture())

    def _picture(self) -> RenderableType:
        parts: list[RenderableType] = [self.progress, Text(self.line)]
        if self.validations:
            parts += [self._table(), self._samples()]
        return Group(*parts)

    def _table(self) -> Table:
        table = Table(box=None, header_style="bold")
        for heading in ("step", "loss", "BLEU", "chrF"):
            table.add_column(heading, justify="right")
        table.add_column()
        for report in self.validations[-VALIDATIONS_SHOWN:]:
            found = report.validation
            numbers = (f"{found.loss:.3f}", f"{found.bleu:.2f}", f"{found.chrf:.2f}")
            table.add_row(str(report.step), *numbers, "best" if report.best else "")
        return table

    def _samples(self) -> Table:
        table = Table("source", "reference", "translation now", box=None, header_style="bold")
        for sample in self.validations[-1].validation.samples:
            table.add_row(*(Text(escape_controls(text)) for text in sample))
        return table


def finish_line(report: FinishReport) -> str:
    """The end of training in one line."""
    return f"finished at step {report.step}: {report.reason}; best validation at step {report.best_step}"


def display_for(console: Console) -> type[PlainDisplay] | type[LiveDisplay]:
    """Live where a person watches."""
    return LiveDisplay if console.is_terminal else PlainDisplay
