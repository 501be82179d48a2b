"""What each head of a model does, as data: where it looks, what it finds, and whether it matters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from transformer_mt.inspection.intervals import Estimate
from transformer_mt.inspection.relations import Kind
from transformer_mt.registry import HeadName

# What is measured of the places where a head looks, in the order of the table.
ENTROPY, DISTANCE, PREVIOUS, SAME, NEXT, ALIGNED, PUNCTUATION, SYMBOL = LOOKS = (
    "entropy", "distance", "previous", "same", "next", "aligned", "punctuation", "symbol",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HeadFigures:
    """A head: where it looks, and what is lost without it.

    `looks` has for each of `LOOKS` an estimate, None where it was not known: `entropy` in bits; `distance` in words,
    |column − row| over the weight on words; the share of weight on the word before the row's, on the one at the same
    place, on the one after it and on those that are linked with it (`aligned`), on punctuation marks, and on the symbol
    `</s>`, in the decoder `<s>`. `loss` is by how much the loss rises without the head, in nats a target token, and
    `bleu` by how much BLEU changes, None where it was not asked for. `gradient` is the mean of |∂L/∂ξ| of the head's
    gate, normalised over its layer (Michel et al. 2019, §4.1).
    """

    name: HeadName
    looks: Mapping[str, Estimate | None]
    loss: Estimate
    gradient: float
    bleu: Estimate | None = None


@dataclass(frozen=True, slots=True)
class RelationFigures:
    """How often a relation is found in a stack: for each head, the share of cases in which the word with the most
    weight is the right one.

    `baseline` is the share that one always finds at the same `offset`, the best one, from the row's word (in
    cross-attention, from the source word linked with it). `count` says how many cases there are.
    """

    stack: str
    kind: Kind
    count: int
    offset: int
    baseline: Estimate
    found: Mapping[HeadName, Estimate]

    @property
    def best(self) -> HeadName:
        """The head that finds it most often."""
        return max(self.found, key=lambda name: self.found[name].value)

    def gain(self, name: HeadName) -> float:
        """By how much a head is better than the baseline."""
        return self.found[name].value - self.baseline.value


@dataclass(frozen=True, slots=True)
class HeadTable:
    """What the heads of a model do over so many sentence pairs, whose references it is given (teacher forcing).

    `loss` is that of the whole model in nats a target token, `bleu` that of its translations, None where it was not
    asked for. All intervals are over sentences. Clark et al. 2019, §3 and §4, and Michel et al. 2019, §3.
    """

    sentences: int
    loss: Estimate
    bleu: Estimate | None
    heads: tuple[HeadFigures, ...]
    relations: tuple[RelationFigures, ...]

    def specialities(self, *, cases: int) -> dict[HeadName, RelationFigures]:
        """For each head the relation in which it beats the baseline most, of those that have at least so many cases."""
        found: dict[HeadName, RelationFigures] = {}
        for relation in (one for one in self.relations if one.count >= cases):
            for name in relation.found:
                if name not in found or relation.gain(name) > found[name].gain(name):
                    found[name] = relation
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain lists and numbers. Each estimate is an object of value, low and high, or null."""
        return {
            "sentences": self.sentences,
            "loss": self.loss.to_json(),
            "bleu": _plain(self.bleu),
            "heads": [
                {
                    "head": str(head.name),
                    **{look: _plain(value) for look, value in head.looks.items()},
                    "loss": head.loss.to_json(),
                    "gradient": head.gradient,
                    "bleu": _plain(head.bleu),
                }
                for head in self.heads
            ],
            "relations": [
                {
                    "stack": one.stack,
                    "relation": one.kind.relation,
                    "looked_for": one.kind.looked_for,
                    "count": one.count,
                    "offset": one.offset,
                    "baseline": one.baseline.to_json(),
                    "best": str(one.best),
                    "found": {str(name): found.to_json() for name, found in one.found.items()},
                }
                for one in self.relations
            ],
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """For `numpy.savez`: `heads`, the names; one array a figure, `loss`, `entropy`, …, with value, low and high of
        each head, NaN where it is not known; of each stack with relations `cross.relations`, `cross.baseline` and
        `cross.found[relation, head]`."""
        found = {
            "heads": np.array([str(head.name) for head in self.heads]),
            "gradient": np.array([head.gradient for head in self.heads]),
            "loss": np.array([_numbers(head.loss) for head in self.heads]),
            "bleu": np.array([_numbers(head.bleu) for head in self.heads]),
        }
        found |= {look: np.array([_numbers(head.looks[look]) for head in self.heads]) for look in LOOKS}
        for stack, group in groupby(self.relations, key=lambda one: one.stack):
            rows = list(group)
            found[f"{stack}.relations"] = np.array([".".join(one.kind) for one in rows])
            found[f"{stack}.baseline"] = np.array([_numbers(one.baseline) for one in rows])
            found[f"{stack}.found"] = np.array([[_numbers(each) for each in one.found.values()] for one in rows])
        return found


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's ρ, equal numbers sharing their ranks; 0 where all numbers of a side are equal."""
    ranks = [(x[:, None] > x).sum(axis=1) + (x[:, None] == x).sum(axis=1) / 2 for x in map(np.array, (one, other))]
    a, b = (rank - rank.mean() for rank in ranks)
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale else 0.0


def _plain(value: Estimate | None) -> dict[str, float] | None:
    return None if value is None else value.to_json()


def _numbers(value: Estimate | None) -> tuple[float, float, float]:
    return (np.nan, np.nan, np.nan) if value is None else value.numbers
