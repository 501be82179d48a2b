"""Training reports as log lines on stderr and in `train.log`, with a progress bar on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console

from transformer_mt.cli.terminal import note, progress_bar
from transformer_mt.config.sections import TrainingConfig
from transformer_mt.ground.errors import TmtError
from transformer_mt.ground.progress import Advance, shown_by
from transformer_mt.runs.directory import Run
from transformer_mt.text.terminal import escape_controls
from transformer_mt.training.reports import FinishReport, Report, ValidationReport, WindowReport
from transformer_mt.training.trainer import Trainer


class TrainLog:
    """Notes and reports of training, written by the main process to the run's `train.log` and to stderr."""

    def __init__(self, run: Run, *, is_main: bool) -> None:
        self.run = run
        self.is_main = is_main

    def write(self, *lines: str) -> None:
        """Record lines and print them."""
        self.record(*lines)
        if self.is_main:
            note(*lines)

    def record(self, *lines: str) -> None:
        """Append lines to `train.log`."""
        if self.is_main and lines:
            self.run.say(*map(escape_controls, lines))

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Record an error that ends training, if the log is writable."""
        try:
            yield
        except TmtError as error:
            with suppress(TmtError):
                self.record(f"error: {error}")
            raise


@contextmanager
def display(console: Console, log: TrainLog, trainer: Trainer) -> Iterator[Callable[[Report], None]]:
    """Yield a function that prints reports; also name other work, and show a progress bar on a terminal."""
    bar = progress_bar(console, shown=console.is_terminal and log.is_main)
    task = bar.add_task("training", total=1.0)

    def show(report: Report) -> None:
        log.write(*report_lines(report, trainer.config))
        bar.update(task, description=f"step {trainer.progress.step}", completed=trainer.share_done())

    @contextmanager
    def name_work(name: str, total: int | None) -> Iterator[Advance]:
        log.write(name)
        yield lambda count: None

    bar.start()
    try:
        with shown_by(name_work):
            yield show
    finally:
        with suppress(OSError):  # the terminal may be closed
            bar.stop()


def report_lines(report: Report, training: TrainingConfig) -> Iterator[str]:
    """Yield the lines of a report; none for a single step."""
    match report:
        case WindowReport():
            steps, epochs = ("", f"/{training.epochs}") if training.epochs else (f"/{training.steps}", "")
            yield (
                f"step {report.step}{steps}  epoch {report.epoch}{epochs}  loss {report.loss:.3f}  "
                f"rate {report.learning_rate:.2e}  {report.tokens_per_second:,.0f} tokens/s"
            )
        case ValidationReport(validation=found):
            count = f"no better {training.choose_by} for {report.validations_without_improvement}"
            verdict = f"best {training.choose_by}" if report.best else count
            yield (
                f"step {report.step}  validation loss {found.loss:.3f}  BLEU {found.bleu:.2f}  chrF {found.chrf:.2f}  "
                f"({verdict}, {report.seconds:.1f} s)"
            )
            yield from (f"  {source} → {translation}" for source, _, translation in found.samples)
        case FinishReport():
            yield f"finished at step {report.step}: {report.reason}; best validation at step {report.best_step}"
