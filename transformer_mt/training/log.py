"""What training writes to `metrics.jsonl`."""

from dataclasses import dataclass, field

from transformer_mt.runs.directory import Run
from transformer_mt.training.reports import FinishReport, Report, StepReport, ValidationReport


@dataclass(frozen=True, slots=True)
class Window:
    """Several steps together: loss in nats a target token, rate of the last step, target tokens a second."""

    step: int
    epoch: int
    loss: float
    rate: float
    tokens_per_second: float


def summarise(steps: list[StepReport]) -> Window:
    """The mean of steps that follow each other, weighted by their tokens; there is at least one."""
    tokens = sum(step.target_tokens for step in steps)
    loss = sum(step.loss * step.target_tokens for step in steps) / tokens
    last = steps[-1]
    return Window(last.step, last.epoch, loss, last.rate, tokens / sum(step.seconds for step in steps))


@dataclass
class MetricsLog:
    """Appends reports to a run's metrics: every validation, and every `every` steps their mean."""

    run: Run
    every: int
    _steps: list[StepReport] = field(default_factory=list)

    def write(self, report: Report) -> Window | None:
        """Take note of a report; returns the window that it completes, if it does."""
        match report:
            case StepReport():
                return self._step(report)
            case ValidationReport():
                found = report.validation
                self.run.log(
                    report.step,
                    {
                        "kind": "validation",
                        "epoch": report.epoch,
                        "loss": found.loss,
                        "bleu": found.bleu,
                        "chrf": found.chrf,
                        "best": report.best,
                        "seconds": round(report.seconds, 3),
                        "samples": [
                            {"source": source, "reference": reference, "translation": translation}
                            for source, reference, translation in found.samples
                        ],
                    },
                )
            case FinishReport():
                pass
        return None

    def _step(self, report: StepReport) -> Window | None:
        self._steps.append(report)
        if report.step % self.every:
            return None
        window = summarise(self._steps)
        self._steps = []
        self.run.log(
            window.step,
            {
                "kind": "training",
                "epoch": window.epoch,
                "loss": window.loss,
                "rate": window.rate,
                "tokens_per_second": round(window.tokens_per_second, 1),
            },
        )
        return window
