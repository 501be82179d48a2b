"""What the training loop tells whoever drives it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepReport:
    """One optimizer step. The loss is the objective in nats a target token; `seconds` is the step's own time."""

    step: int
    epoch: int
    loss: float
    rate: float
    gradient_norm: float
    target_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Validation:
    """How good the candidate weights are: cross-entropy in nats a target token (no smoothing), BLEU, chrF, and samples.

    A sample is a source sentence, its reference and the present translation.
    """

    loss: float
    bleu: float
    chrf: float
    samples: tuple[tuple[str, str, str], ...]

    def score(self, name: str) -> float:
        """The score of that name (`loss`, `bleu` or `chrf`), turned so that higher is better."""
        return {"loss": -self.loss, "bleu": self.bleu, "chrf": self.chrf}[name]


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """A validation after a step, whether it is the best so far, and how many in a row were not."""

    step: int
    epoch: int
    validation: Validation
    best: bool
    without_progress: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FinishReport:
    """The end of training and its reason: all steps done, or no progress any more."""

    step: int
    reason: str
    best_step: int
    best_score: float


Report = StepReport | ValidationReport | FinishReport
