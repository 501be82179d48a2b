"""Where the heads' queries and keys come from: each head its own projections, or all heads shared ones.

To add a way of sharing, subclass `Projections` and enter it in `SHARING`.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Projections(nn.Module):
    """The queries and keys of H heads, made from states of width D. `key_width` is that of one head's, d_k."""

    def __init__(self, *, width: int, heads: int, key_width: int) -> None:
        super().__init__()
        self.width, self.heads, self.key_width = width, heads, key_width

    def queries(self, states: Float[Tensor, "B Q D"]) -> Float[Tensor, "B H Q dk"]:
        """Every head's queries."""
        raise NotImplementedError

    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B #H K dk"]:
        """Every head's keys, or those that all share."""
        raise NotImplementedError


class Independent(Projections):
    """Q = X W_q and K = X W_k, cut into H heads of width D/H (Vaswani et al. 2017, §3.2.2)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width=width, heads=heads, key_width=width // heads)
        self.query_projection = nn.Linear(width, width, bias=False)
        self.key_projection = nn.Linear(width, width, bias=False)

    def queries(self, states: Float[Tensor, "B Q D"]) -> Float[Tensor, "B H Q dk"]:
        """X W_q, split into heads."""
        return split_heads(self.query_projection(states), self.heads)

    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B H K dk"]:
        """X W_k, split into heads."""
        return split_heads(self.key_projection(states), self.heads)


class Collaborative(Projections):
    """One Q = X W_q and one K = X W_k of width m for all heads; head r has the scores Q diag(μ_r) Kᵀ.

    Cordonnier et al. 2020, §3.1: heads share what they would learn twice, so m can be smaller than D. The mixing
    vectors μ start at random, so that no two heads are alike, with the variance that leaves the scores theirs.
    """

    def __init__(self, width: int, heads: int, shared: int) -> None:
        if shared < heads:
            raise ValueError(f"the shared width must be at least the number of heads, {heads}")
        super().__init__(width=width, heads=heads, key_width=shared)
        self.query_projection = nn.Linear(width, shared, bias=False)
        self.key_projection = nn.Linear(width, shared, bias=False)
        self.mixing = nn.Parameter(torch.randn(heads, shared) * math.sqrt(width / (heads * shared)))

    def queries(self, states: Float[Tensor, "B Q D"]) -> Float[Tensor, "B H Q dk"]:
        """X W_q diag(μ_r) for each head."""
        queries: Tensor = self.query_projection(states)
        return queries[:, None] * self.mixing[:, None]  # B Q m -> B H Q m

    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B 1 K dk"]:
        """X W_k, once."""
        keys: Tensor = self.key_projection(states)
        return keys[:, None]


class QueriesOnly(Projections):
    """Q_r = X W_r with a full D × D matrix a head, and K = X: the two halves of x_i W_r x_jᵀ."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width=width, heads=heads, key_width=width)
        self.query_projection = nn.Linear(width, heads * width, bias=False)

    def queries(self, states: Float[Tensor, "B Q D"]) -> Float[Tensor, "B H Q dk"]:
        """X W_r for each head."""
        return split_heads(self.query_projection(states), self.heads)

    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B 1 K dk"]:
        """The states themselves."""
        return states[:, None]


class Unprojected(Projections):
    """Q = X and K = X for one head: the states speak for themselves, as in Luong et al. 2015."""

    def __init__(self, width: int) -> None:
        super().__init__(width=width, heads=1, key_width=width)

    def queries(self, states: Float[Tensor, "B Q D"]) -> Float[Tensor, "B 1 Q dk"]:
        """The states themselves."""
        return states[:, None]

    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B 1 K dk"]:
        """The states themselves."""
        return states[:, None]


SHARING: dict[str, Callable[..., Projections]] = {"independent": Independent, "collaborative": Collaborative}


def split_heads(x: Float[Tensor, "B N HD"], heads: int) -> Float[Tensor, "B H N d"]:
    """Cut the last axis into `heads` equal parts."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)  # B N Hd -> B H N d


def merge_heads(x: Float[Tensor, "B H N d"]) -> Float[Tensor, "B N HD"]:
    """Put the heads back side by side: [head_1 ‖ … ‖ head_H]."""
    return x.transpose(1, 2).flatten(-2)  # B H N d -> B N Hd
