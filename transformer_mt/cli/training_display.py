"""How training is shown: live on a terminal, as plain lines anywhere else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from transformer_mt.cli.terminal import note
from transformer_mt.config.sections import TrainingConfig
from transformer_mt.errors import TmtError
from transformer_mt.runs.directory import Run
from transformer_mt.training.reports import FinishReport, Report, StepReport, ValidationReport, WindowReport
from transformer_mt.training.trainer import Trainer
from transformer_mt.views.text import escape_controls

# With both, the display fits into 24 lines; rich cuts off what exceeds the terminal.
VALIDATIONS_SHOWN, LINES_A_SAMPLE = 8, 3
SCORES = ("step", "loss", "BLEU", "chrF", "")


class TrainLog:
    """Remarks and reports of training, as lines in the run's `train.log` and on stderr, by the main process."""

    def __init__(self, run: Run, *, is_main: bool) -> None:
        self.run, self.is_main = run, is_main

    def write(self, *lines: str) -> None:
        """Record lines and show them."""
        self.record(*lines)
        if self.is_main:
            note(*lines)

    def record(self, *lines: str) -> None:
        """Write lines to `train.log`."""
        if self.is_main and lines:
            self.run.say(*map(escape_controls, lines))

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Record an error that ends training, as far as the log can be written."""
        try:
            yield
        except TmtError as error:
            with suppress(TmtError):
                self.record(f"error: {error}")
            raise


@contextmanager
def display(console: Console, log: TrainLog, trainer: Trainer) -> Iterator[Callable[[Report], None]]:
    """A function that shows a report: live on a terminal, as lines on stderr for logs and pipes."""
    if not (console.is_terminal and log.is_main):
        yield lambda report: log.write(*report_lines(report, trainer.config))
        return
    live = LiveDisplay(console, trainer)
    live.live.start()

    def show(report: Report) -> None:
        log.record(*report_lines(report, trainer.config))
        live.show(report)

    try:
        yield show
    finally:
        with suppress(OSError):  # the terminal may have been closed
            live.live.stop()


def report_lines(report: Report, training: TrainingConfig) -> Iterator[str]:
    """A report in words; nothing of a single step."""
    match report:
        case WindowReport():
            step = f"{report.step}" if training.epochs else f"{report.step}/{training.steps}"
            epoch = f"{report.epoch + 1}/{training.epochs}" if training.epochs else f"{report.epoch + 1}"
            yield (
                f"step {step}  epoch {epoch}  loss {report.loss:.3f}  "
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
    """A progress bar, the last validations, and the present translations of some sentences."""

    def __init__(self, console: Console, trainer: Trainer) -> None:
        self.trainer, self.console = trainer, console
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn("{task.percentage:.0f} %", markup=False),
            TimeElapsedColumn(),
            TextColumn("left", markup=False),
            TimeRemainingColumn(),
            console=console,
        )
        self.task = self.progress.add_task("training", total=1.0)
        self._advance()
        self.line = ""
        self.validations: list[ValidationReport] = []
        self.live = Live(console=console, refresh_per_second=4)

    def show(self, report: Report) -> None:
        match report:
            case StepReport():
                self._advance()
                self.line = self.line or f"{report.target_tokens / report.seconds:,.0f} tokens/s"
            case ValidationReport():
                self.validations.append(report)
            case WindowReport() | FinishReport():
                (self.line,) = report_lines(report, self.trainer.config)
        self.live.update(self._picture())

    def _advance(self) -> None:
        step, training = self.trainer.progress.step, self.trainer.config
        description = f"step {step}" if training.epochs else f"step {step}/{training.steps}"
        self.progress.update(self.task, description=description, completed=self.trainer.share_done())

    def _picture(self) -> RenderableType:
        top = (self.progress, Text(self.line, no_wrap=True, overflow="ellipsis"))
        if not self.validations:
            return Group(*top)
        scores = Table(*(Column(name, justify="right") for name in SCORES), box=None, header_style="bold")
        for report in self.validations[-VALIDATIONS_SHOWN:]:
            found = report.validation
            numbers = (f"{found.loss:.3f}", f"{found.bleu:.2f}", f"{found.chrf:.2f}")
            scores.add_row(str(report.step), *numbers, "best" if report.best else "")
        return Group(*top, scores, self._samples())

    def _samples(self) -> Table:
        """The texts of the last validation, cut with dots where they are long."""
        width = max(1, self.console.width // 3 - 2)  # three columns, with a space on either side
        columns = (Column(name, width=width, overflow="fold") for name in ("source", "reference", "translation now"))
        table = Table(*columns, box=None, header_style="bold")
        for sample in self.validations[-1].validation.samples:
            texts = [Text(escape_controls(text)) for text in sample]
            for text in texts:
                text.truncate(LINES_A_SAMPLE * (width - 1), overflow="ellipsis")
            table.add_row(*texts)
        return table
