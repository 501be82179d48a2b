"""A calculation for one query, step by step: words, a formula, and the numbers it gives.

Scores, positions, projections, norms and residuals each say their own steps, beside their formula. Everywhere h is what
an attention layer reads for its query, h_j what column j offers to it; q, k_j and v_j are made of these.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

WEIGHTS = "the weights, which sum to 1"

# One head's query or key; all keys of a row.
Vector = Float[Tensor, " dk"]
Vectors = Float[Tensor, "K dk"]


@dataclass(frozen=True, slots=True)
class Step:
    """A number or vector, or one for each key or head, with what it is and how it is computed.

    `name` is unique within an explanation; `symbol` and `formula` are those of the papers, the formula empty where
    nothing is computed. `where` is False at keys that the row may not attend to, for which the step says nothing.
    """

    name: str
    words: str
    symbol: str
    formula: str
    values: Tensor
    over: Literal["row", "keys", "heads"] = "row"
    where: Bool[Tensor, " K"] | None = None


class Stage(NamedTuple):
    """Steps that belong together, under a title."""

    title: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What one head of an attention module works on for one query.

    `state` is what the module reads for the query, `keys` and `values` are the head's own, as the module keeps them:
    not yet rotated. The query is row `number`, from 0; `head` counts from 0 in the order of the module's tensors.
    """

    state: Float[Tensor, " D"]
    keys: Vectors
    values: Float[Tensor, "K d"]
    number: int
    head: int


@dataclass(frozen=True, slots=True)
class HeadSteps:
    """The steps of one head for one query, the weights they end in, the values that these weigh, and their sum."""

    stages: tuple[Stage, ...]
    weights: Float[Tensor, " K"]
    values: Float[Tensor, "K d"]
    head: Float[Tensor, " d"]


class Explained(ABC):
    """An attention module that can say, step by step, what a head does for one query.

    `output_formula` is what stands behind a head's vector in the formula of what it adds; empty where nothing does.
    """

    output_formula: ClassVar[str] = ""

    @abstractmethod
    def explain(self, row: Row) -> HeadSteps:
        """From the state to the weighted sum of the values; what follows is the same for all modules."""

    def projected(self, vectors: Float[Tensor, "*N d"], head: int) -> Float[Tensor, "*N D"]:
        """What vectors of a head, counted from 0, add to the module's output."""
        return vectors

    @property
    def output_bias(self) -> Float[Tensor, " D"] | None:
        """What the module adds whatever its heads say."""
        return None


def softmax_stage(scores: Step, mask: Bool[Tensor, " K"]) -> Stage:
    """From scores to weights; where the mask is False, and where it is False everywhere, weights are zero."""
    symbol, e = scores.symbol, scores.values
    highest = e[mask].amax() if mask.any() else e.new_zeros(())
    powers = (e - highest).exp().where(mask, e.new_zeros(()))
    total = powers.sum()
    steps = [
        Step(
            "highest", "the highest score, taken off so that no power is too large", "e_max", f"max_j {symbol}", highest
        ),
        Step("powers", "every score as a power of e", "p_j", f"exp({symbol} − e_max)", powers, "keys", mask),
        Step("total", "their sum", "Z", "Σ_j p_j", total),
        Step("weights", WEIGHTS, "α_j", "p_j / Z", divided(powers, total), over="keys", where=mask),
    ]
    return Stage("Softmax: from scores to weights", (*mask_steps(mask), *steps))


def mask_steps(mask: Bool[Tensor, " K"]) -> Iterable[Step]:
    """Which columns the row may attend to, where that is not all of them."""
    words = "which columns the row may attend to: its neighbours in the graph"
    return [] if mask.all() else [Step("mask", words, "j ∈ N", "", mask, over="keys")]


def summed_up(stages: Iterable[Stage], weights: Float[Tensor, " K"], valued: Iterable[Step]) -> HeadSteps:
    """These stages, which end in the weights, then the steps to the values, and the sum of the last of these."""
    valued = tuple(valued)
    values = valued[-1].values
    head, words = weights @ values, "the head: the values, each as much as its weight says"
    last = Stage(
        "Values, weighed and summed up", (*valued, Step("head", words, "head", f"Σ_j α_j {valued[-1].symbol}", head))
    )
    return HeadSteps((*stages, last), weights, values, head)


def value_step(values: Float[Tensor, "K d"], *, formula: str = "h_j W_v") -> Step:
    """The values of a head."""
    return Step(
        "values",
        "the values, from the same states: what each gives when it is chosen",
        "v_j",
        formula,
        values,
        over="keys",
    )


def named(steps: Iterable[Step], name: str) -> Tensor:
    """The values of the step of that name."""
    return next(step.values for step in steps if step.name == name)


def divided(numerators: Tensor, denominator: Tensor) -> Tensor:
    """Zero where there is nothing to divide by."""
    return numerators / denominator.masked_fill(denominator == 0.0, 1.0)
