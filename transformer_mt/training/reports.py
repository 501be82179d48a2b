"""What the training loop tells whoever drives it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import SupportsFloat


@dataclass(frozen=True, slots=True)
class StepReport:
    """One optimizer step. The loss is the objective in nats a target token; `seconds` is the step's own time.

    On a GPU, loss and norm may be tensors that it still computes: `float` waits for them.
    """

    step: int
    epoch: int
    loss: SupportsFloat
    learning_rate: float
    gradient_norm: SupportsFloat
    target_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class WindowReport:
    """The steps since the last report of this kind together, the present one last.

    Loss in nats a target token, the learning rate of the last step, target tokens a second.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    tokens_per_second: float


@dataclass(frozen=True, slots=True)
class Validation:
    """How good the candidate weights are: cross-entropy in nats a target token (no smoothing), BLEU, chrF, and samples.

    A sample is a source sentence, its reference and the present translation.
    """

    loss: float
    bleu: float
    chrf: float
    samples: tuple[tuple[str, str, str], ...]


# What can say which weights are best, turned so that higher is better.
VALIDATION_SCORES: dict[str, Callable[[Validation], float]] = {
    "loss": lambda validation: -validation.loss,
    "bleu": lambda validation: validation.bleu,
    "chrf": lambda validation: validation.chrf,
}


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """A validation after a step, whether it is the best so far, and how many in a row were not."""

    step: int
    epoch: int
    validation: Validation
    best: bool
    validations_without_improvement: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FinishReport:
    """The end of training and its reason: all steps or epochs done, or no improvement any more."""

    step: int
    reason: str
    best_step: int
    best_score: float


Report = StepReport | WindowReport | ValidationReport | FinishReport
