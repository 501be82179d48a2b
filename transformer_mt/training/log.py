"""What training writes to `metrics.jsonl`, and for TensorBoard where it is to."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from transformer_mt.distributed import Distributed
from transformer_mt.runs.directory import TENSORBOARD, Run
from transformer_mt.training.reports import StepReport, ValidationReport, WindowReport
from transformer_mt.training.tensorboard import TensorBoard


class MetricsLog:
    """A run's metrics, written by the first process: every validation, and every `every` steps their mean."""

    def __init__(self, run: Run, *, every: int, distributed: Distributed, tensorboard: bool) -> None:
        self.run, self.every, self.distributed = run, every, distributed
        self.steps: list[StepReport] = []
        self._wants_tensorboard = tensorboard and distributed.is_main
        self._tensorboard: TensorBoard | None = None

    @contextmanager
    def training_from(self, step: int) -> Iterator[None]:
        """While training goes on from this step, TensorBoard's file is open where it is to be written."""
        if self._wants_tensorboard:
            self._tensorboard = TensorBoard(self.run.path / TENSORBOARD, after=step)
        try:
            yield
        finally:
            if self._tensorboard:
                self._tensorboard.close()
                self._tensorboard = None

    def step(self, report: StepReport) -> WindowReport | None:
        """Take note of a step; returns the report on the window that it completes, if it does."""
        self.steps.append(report)
        if report.step % self.every:
            return None
        window = summarise(self.steps)
        self.steps = []
        self._write(
            window.step,
            {
                "kind": "training",
                "epoch": window.epoch,
                "loss": window.loss,
                "learning_rate": window.learning_rate,
                "tokens_per_second": round(window.tokens_per_second, 1),
            },
        )
        return window

    def validation(self, report: ValidationReport) -> None:
        """Take note of a validation."""
        found = asdict(report.validation)
        names = ("source", "reference", "translation")
        samples = [dict(zip(names, sample, strict=True)) for sample in found.pop("samples")]
        self._write(
            report.step,
            {
                "kind": "validation",
                "epoch": report.epoch,
                **found,
                "best": report.best,
                "seconds": round(report.seconds, 3),
                "samples": samples,
            },
        )

    def _write(self, step: int, record: dict[str, object]) -> None:
        if self.distributed.is_main:
            self.run.log(step, record)
        if self._tensorboard:
            self._tensorboard.add(step, record)


def summarise(steps: list[StepReport]) -> WindowReport:
    """The mean of steps that follow each other, weighted by their tokens; there is at least one."""
    tokens = sum(step.target_tokens for step in steps)
    loss = sum(float(step.loss) * step.target_tokens for step in steps) / tokens
    last = steps[-1]
    return WindowReport(last.step, last.epoch, loss, last.learning_rate, tokens / sum(step.seconds for step in steps))
