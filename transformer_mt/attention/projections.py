"""Where the heads' queries and keys come from: each head its own projections, or all heads shared ones.

To add a way of sharing, subclass `Projections` and enter it in `SHARING`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.attention.shapes import Keys, Queries
from transformer_mt.attention.steps import Step, Vectors


@dataclass(frozen=True, slots=True)
class HeadSizes:
    """The number of heads H, the width of one head's queries and keys, d_k, and that of its values, d = D/H."""

    heads: int
    key_width: int
    value_width: int

    @property
    def width(self) -> int:
        """D, that of the states."""
        return self.heads * self.value_width


class Projections(nn.Module, ABC):
    """The queries and keys of H heads, made from states of width D.

    The formulas are those of a head's query, from h, and of its keys, from h_j.
    """

    query_formula: ClassVar[str] = "h W_q"
    key_formula: ClassVar[str] = "h_j W_k"

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__()
        self.sizes = sizes

    @abstractmethod
    def queries(self, states: Float[Tensor, "B Q D"]) -> Queries:
        """Every head's queries."""

    @abstractmethod
    def keys(self, states: Float[Tensor, "B K D"]) -> Keys:
        """Every head's keys, or those that all share."""

    def explain(self, state: Float[Tensor, " D"], keys: Vectors, *, head: int) -> tuple[Step, ...]:
        """The query of a head for one state, and its keys, which are given."""
        return (*self.explain_query(state, head=head), *self.explain_keys(keys))

    def explain_query(self, state: Float[Tensor, " D"], *, head: int) -> list[Step]:
        """How the query of a head, counted from 0, is made; the last step is `query`."""
        query = self.queries(state[None, None])[0, head, 0]
        return [Step("query", "the query: what the row looks for", "q", self.query_formula, query)]

    def explain_keys(self, keys: Vectors) -> list[Step]:
        """What the keys of a head are; the last step is `keys`."""
        return [
            Step(
                "keys",
                "the keys, from the states h_j of the columns: what each answers to",
                "k_j",
                self.key_formula,
                keys,
                over="keys",
            )
        ]


class Independent(Projections):
    """Q = X W_q and K = X W_k, cut into H heads of width D/H (Vaswani et al. 2017, §3.2.2)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(HeadSizes(heads, key_width=width // heads, value_width=width // heads))
        self.query_projection = nn.Linear(width, width, bias=False)
        self.key_projection = nn.Linear(width, width, bias=False)

    @override
    def queries(self, states: Float[Tensor, "B Q D"]) -> Queries:
        return split_heads(self.query_projection(states), self.sizes.heads)

    @override
    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B H K dk"]:
        return split_heads(self.key_projection(states), self.sizes.heads)


class Collaborative(Projections):
    """One Q = X W_q and one K = X W_k of width m for all heads; head r has the scores Q diag(μ_r) Kᵀ.

    Cordonnier et al. 2020, §3.1: heads share what they would learn twice, so m can be smaller than D. The mixing
    vectors μ start at random, so that no two heads are alike, with the variance that leaves the scores theirs.
    """

    def __init__(self, width: int, heads: int, shared: int) -> None:
        if shared < heads:
            raise ValueError(f"the shared width must be at least the number of heads, {heads}")
        super().__init__(HeadSizes(heads, key_width=shared, value_width=width // heads))
        self.query_projection = nn.Linear(width, shared, bias=False)
        self.key_projection = nn.Linear(width, shared, bias=False)
        self.mixing = nn.Parameter(torch.randn(heads, shared) * math.sqrt(width / (heads * shared)))

    query_formula = "q₀ ∘ μ_r"

    @override
    def explain_query(self, state: Float[Tensor, " D"], *, head: int) -> list[Step]:
        return [
            Step("shared_query", "the query that all heads share", "q₀", "h W_q", self.query_projection(state)),
            Step("mixing", "the head's mixing vector, learned", "μ_r", "", self.mixing[head]),
            *super().explain_query(state, head=head),
        ]

    @override
    def queries(self, states: Float[Tensor, "B Q D"]) -> Queries:
        return self.query_projection(states)[:, None] * self.mixing[:, None]  # B Q m -> B H Q m

    @override
    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B 1 K dk"]:
        return self.key_projection(states)[:, None]


class QueriesOnly(Projections):
    """Q_r = X W_r with a full D × D matrix a head, and K = X: the two halves of x_i W_r x_jᵀ."""

    query_formula, key_formula = "h W", "h_j"

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(HeadSizes(heads, key_width=width, value_width=width // heads))
        self.query_projection = nn.Linear(width, heads * width, bias=False)

    @override
    def queries(self, states: Float[Tensor, "B Q D"]) -> Queries:
        return split_heads(self.query_projection(states), self.sizes.heads)

    @override
    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B 1 K dk"]:
        return states[:, None]


class Unprojected(Projections):
    """Q = X and K = X for one head: the states themselves, as in Luong et al. 2015."""

    query_formula, key_formula = "h", "h_j"

    def __init__(self, width: int) -> None:
        super().__init__(HeadSizes(1, key_width=width, value_width=width))

    @override
    def queries(self, states: Float[Tensor, "B Q D"]) -> Float[Tensor, "B 1 Q dk"]:
        return states[:, None]

    @override
    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B 1 K dk"]:
        return states[:, None]


SHARING: dict[str, Callable[..., Projections]] = {"independent": Independent, "collaborative": Collaborative}


def split_heads(x: Float[Tensor, "B N HD"], heads: int) -> Float[Tensor, "B H N d"]:
    """Cut the last axis into `heads` equal parts."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)  # B N Hd -> B H N d


def merge_heads(x: Float[Tensor, "B H N d"]) -> Float[Tensor, "B N HD"]:
    """Put the heads back side by side: [head_1 ‖ … ‖ head_H]."""
    return x.transpose(1, 2).flatten(-2)  # B H N d -> B N Hd
