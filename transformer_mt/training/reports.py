"""The reports of the training loop, and their log: `metrics.jsonl` and, if configured, TensorBoard."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, SupportsFloat

from transformer_mt.config.sections import TrainingConfig
from transformer_mt.ground.errors import MachineError
from transformer_mt.ground.files import make_directory, require_directory, write_errors
from transformer_mt.ground.registry import Table
from transformer_mt.runs.directory import TENSORBOARD, Run
from transformer_mt.text.terminal import JsonObject

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


@dataclass(frozen=True)
class StepReport:
    """One optimizer step: loss in nats per target token, gradient norm before clipping, time in seconds.

    `float` of loss and norm waits for a GPU. In all reports, `epoch` (from 1) refers to the step's last batch.
    """

    step: int
    epoch: int
    loss: SupportsFloat
    learning_rate: float
    gradient_norm: SupportsFloat
    target_tokens: int
    seconds: float


@dataclass(frozen=True)
class WindowReport:
    """The steps since the last window: mean loss in nats per target token, and the last learning rate."""

    step: int
    epoch: int
    loss: float
    learning_rate: float
    tokens_per_second: float


@dataclass(frozen=True)
class Validation:
    """Cross-entropy in nats per target token, without smoothing; BLEU and chrF from 0 to 100.

    Samples are (source, reference, translation).
    """

    loss: float
    bleu: float
    chrf: float
    samples: tuple[tuple[str, str, str], ...]


# The metrics for choosing the best weights, signed so that higher is better.
VALIDATION_METRICS: Table[Callable[[Validation], float]] = Table(
    "training.choose_by",
    {
        "loss": lambda validation: -validation.loss,
        "bleu": lambda validation: validation.bleu,
        "chrf": lambda validation: validation.chrf,
    },
)
# The fewest validation pairs for which `auto` trusts chrF.
FEWEST_FOR_CHRF = 50


def metric_of(training: TrainingConfig, *, pairs: int) -> str:
    """The metric that `training.choose_by` names; `auto` is resolved for a validation set of this many pairs."""
    automatic = "chrf" if pairs >= FEWEST_FOR_CHRF else "loss"
    return automatic if training.choose_by == "auto" else training.choose_by


@dataclass(frozen=True)
class ValidationReport:
    """A validation after a step; `best` if it beats all earlier ones."""

    step: int
    epoch: int
    validation: Validation
    best: bool
    validations_without_improvement: int
    seconds: float


@dataclass(frozen=True)
class FinishReport:
    """The end of training and its reason: all steps or epochs done, or no more improvement."""

    step: int
    reason: str
    best_step: int


Report = StepReport | WindowReport | ValidationReport | FinishReport


class MetricsLog:
    """Writes a run's metrics in the main process: each validation, and the mean of every `every` steps.

    Raises `MachineError` if TensorBoard is configured but not installed.
    """

    def __init__(self, run: Run, config: TrainingConfig, *, every: int, is_main: bool) -> None:
        if config.tensorboard and importlib.util.find_spec("tensorboard") is None:
            remedy = "pip install 'transformer_mt[tensorboard]'"
            raise MachineError("training.tensorboard", "the package is not installed", f"install it with: {remedy}")
        self.run, self.config, self.every, self.is_main = run, config, every, is_main
        self.steps: list[StepReport] = []
        self._tensorboard: SummaryWriter | None = None

    @contextmanager
    def training_from(self, step: int) -> Iterator[None]:
        """Keep TensorBoard's file open, if configured; purge points after `step`, which training repeats."""
        if not (self.config.tensorboard and self.is_main):
            yield
            return
        from torch.utils.tensorboard import SummaryWriter

        directory = self.run.path / TENSORBOARD
        with write_errors(directory):
            make_directory(directory)
            require_directory(directory)
            self._tensorboard = SummaryWriter(str(directory), purge_step=step + 1)
        with self._tensorboard:
            yield

    def step(self, report: StepReport) -> WindowReport | None:
        """Log a step; return a report if the step completes a window."""
        self.steps.append(report)
        if report.step % self.every:
            return None
        tokens = sum(step.target_tokens for step in self.steps)
        loss = sum(float(step.loss) * step.target_tokens for step in self.steps) / tokens
        speed = tokens / max(sum(step.seconds for step in self.steps), 1e-9)  # coarse clocks may measure 0
        window = WindowReport(report.step, report.epoch, loss, report.learning_rate, speed)
        self.steps = []
        self._write("training", asdict(window) | {"tokens_per_second": round(window.tokens_per_second, 1)})
        return window

    def validation(self, report: ValidationReport) -> None:
        """Log a validation."""
        record = {"step": report.step, "epoch": report.epoch, **asdict(report.validation), "best": report.best}
        names = ("source", "reference", "translation")
        samples = [dict(zip(names, sample, strict=True)) for sample in record.pop("samples")]
        self._write("validation", {**record, "seconds": round(report.seconds, 3), "samples": samples})

    def _write(self, kind: str, record: JsonObject) -> None:
        step = record.pop("step")
        if self.is_main:
            self.run.log(step, {"kind": kind, **record})
        if self._tensorboard:
            with write_errors(self.run.path / TENSORBOARD):
                for name, value in record.items():
                    if isinstance(value, float):
                        self._tensorboard.add_scalar(f"{kind}/{name}", value, step)
                self._tensorboard.flush()
