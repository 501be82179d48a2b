"""Projections of queries and keys: separate for each head, or shared by all.

To add one, subclass `Projections` and enter it in `QK_PROJECTIONS`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.attention.hooks import show
from transformer_mt.attention.initialisation import drawn
from transformer_mt.attention.shapes import Keys, KeyStates, Queries, QueryStates
from transformer_mt.ground.registry import Table


@dataclass(frozen=True)
class HeadSizes:
    """D, H, and the width d_k of one head's queries and keys."""

    width: int
    heads: int
    key_width: int

    @property
    def value_width(self) -> int:
        """The width of one head's values, d = D/H."""
        return self.width // self.heads


class Projections(nn.Module):
    """Q = X W_q, split into H heads, and K = X, shared by all heads; h is the query's state, h_j that of key j."""

    formulas: ClassVar[dict[str, str]] = {"q": "h W_q", "k_j": "h_j W_k"}
    query_projection: nn.Linear

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__()
        self.sizes = sizes

    def queries(self, states: QueryStates) -> Queries:
        """Every head's queries."""
        return split_heads(self.query_projection(states), self.sizes.heads)

    def keys(self, states: KeyStates) -> Keys:
        """Every head's keys, or one set shared by all heads."""
        return states[:, None]


class Independent(Projections):
    """Q = X W_q and K = X W_k, split into H heads of width D/H (Vaswani et al. 2017, §3.2.2)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(HeadSizes(width, heads, width // heads))
        self.query_projection = nn.Linear(width, width, bias=False)
        self.key_projection = nn.Linear(width, width, bias=False)

    @override
    def keys(self, states: KeyStates) -> Keys:
        return split_heads(self.key_projection(states), self.sizes.heads)


class Collaborative(Projections):
    """One Q = X W_q and one K = X W_k of width m for all heads; head r has the scores Q diag(μ_r) Kᵀ.

    Cordonnier et al. 2020, §3.1. Heads share what they would otherwise learn twice, so m can be smaller than D. The
    mixing vectors μ start at random, so that heads differ, with the variance that preserves the variance of the scores.
    """

    formulas: ClassVar = {"q₀": "h W_q", "μ_r": "", "q": "q₀ ∘ μ_r", "k_j": "h_j W_k"}

    def __init__(self, width: int, heads: int, shared: int) -> None:
        if shared < heads:
            raise ValueError(f"the shared width must be at least the number of heads, {heads}")
        super().__init__(HeadSizes(width, heads, shared))
        self.query_projection = nn.Linear(width, shared, bias=False)
        self.key_projection = nn.Linear(width, shared, bias=False)
        self.mixing = nn.Parameter(drawn(heads, shared, std=math.sqrt(width / (heads * shared))))

    @override
    def queries(self, states: QueryStates) -> Queries:
        shared = show(self, "q₀", self.query_projection(states), "B Q d")
        return shared[:, None] * show(self, "μ_r", self.mixing, "H d")[:, None]  # B Q m -> B H Q m

    @override
    def keys(self, states: KeyStates) -> Keys:
        return self.key_projection(states)[:, None]


class QueriesOnly(Projections):
    """Q_r = X W_r with a full D × D matrix per head, and K = X: the two halves of x_i W_r x_jᵀ."""

    formulas: ClassVar = {"q": "h W", "k_j": "h_j"}

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(HeadSizes(width, heads, width))
        self.query_projection = nn.Linear(width, heads * width, bias=False)


class Unprojected(Projections):
    """Q = X and K = X for one head: the states themselves, as in Luong et al. 2015."""

    formulas: ClassVar = {"q": "h", "k_j": "h_j"}

    def __init__(self, width: int) -> None:
        super().__init__(HeadSizes(width, 1, width))

    @override
    def queries(self, states: QueryStates) -> Queries:
        return states[:, None]


QK_PROJECTIONS: Table[Callable[..., Projections]] = Table(
    "model.attention.qk_projection", {"independent": Independent, "collaborative": Collaborative}, given=2
)


def split_heads(x: Float[Tensor, "B N HD"], heads: int) -> Float[Tensor, "B H N d"]:
    """Split the last axis into `heads` equal parts."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)  # B N Hd -> B H N d


def merge_heads(x: Float[Tensor, "B H N d"]) -> Float[Tensor, "B N HD"]:
    """Concatenate the heads: [head_1 ‖ … ‖ head_H]."""
    return x.transpose(1, 2).flatten(-2)  # B H N d -> B N Hd
