"""How training is shown: live on a terminal, as plain lines anywhere else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from transformer_mt.cli.terminal import note
from transformer_mt.inspection.escape import escape_controls
from transformer_mt.training.reports import FinishReport, Report, StepReport, ValidationReport, WindowReport

VALIDATIONS_SHOWN = 8


@contextmanager
def display(console: Console, *, steps: int, first_step: int) -> Iterator[Callable[[Report], None]]:
    """What shows a report: live where a person watches, as lines on stderr for logs and pipes."""
    if console.is_terminal:
        live = LiveDisplay(console, steps=steps, first_step=first_step)
        live.live.start()
        try:
            yield live.show
        finally:
            with suppress(OSError):  # the terminal may have been closed
                live.live.stop()
    else:
        yield lambda report: note(*report_lines(report, steps))


def report_lines(report: Report, steps: int) -> Iterator[str]:
    """A report in words; nothing of a single step."""
    match report:
        case WindowReport():
            yield (
                f"step {report.step}/{steps}  epoch {report.epoch + 1}  loss {report.loss:.3f}  "
                f"rate {report.learning_rate:.2e}  {report.tokens_per_second:,.0f} tokens/s"
            )
        case ValidationReport(validation=found):
            verdict = "best so far" if report.best else f"no progress for {report.validations_without_improvement}"
            yield (
                f"step {report.step}  validation loss {found.loss:.3f}  BLEU {found.bleu:.2f}  chrF {found.chrf:.2f}  "
                f"({verdict}, {report.seconds:.1f} s)"
            )
            yield from (f"  {source} → {translation}" for source, _, translation in found.samples)
        case FinishReport():
            yield f"finished at step {report.step}: {report.reason}; best validation at step {report.best_step}"


class LiveDisplay:
    """A progress bar, the last validations, and what the fixed sentences are translated to now."""

    def __init__(self, console: Console, *, steps: int, first_step: int) -> None:
        self.progress = Progress(
            TextColumn("step {task.completed}/{task.total}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn("{task.percentage:.0f} %", markup=False),
            TimeElapsedColumn(),
            TextColumn("left", markup=False),
            TimeRemainingColumn(),
            console=console,
        )
        self.task = self.progress.add_task("training", total=steps, completed=first_step)
        self.steps = steps
        self.line = ""
        self.validations: list[ValidationReport] = []
        self.live = Live(console=console, refresh_per_second=4)

    def show(self, report: Report) -> None:
        """Show what a report brings."""
        match report:
            case StepReport():
                self.progress.update(self.task, completed=report.step)
                self.line = self.line or f"{report.target_tokens / report.seconds:,.0f} tokens/s"
            case ValidationReport():
                self.validations.append(report)
            case WindowReport() | FinishReport():
                (self.line,) = report_lines(report, self.steps)
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
