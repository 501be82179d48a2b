"""How well a query fits a key: e(q, k), before the softmax.

A score owns the projections of queries and keys, because some scores have none. To add one, subclass `Score` and enter
it in `SCORES`.
"""

import math

from jaxtyping import Float
from torch import Tensor, nn

from transformer_mt.config import lookup


class Score(nn.Module):
    """Scores of H heads between the queries and keys made from states of width D.

    `scale` is the factor in front of the dot product for scores of the form scale · q·k, which a fused kernel can
    compute; None for the others.
    """

    scale: float | None = None

    def __init__(self, *, width: int, heads: int) -> None:
        super().__init__()
        self.width, self.heads = width, heads

    def queries(self, states: Float[Tensor, "B Q D"]) -> Float[Tensor, "B H Q d"]:
        """Every head's queries."""
        raise NotImplementedError

    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B H K d"]:
        """Every head's keys."""
        raise NotImplementedError

    def forward(self, queries: Float[Tensor, "B H Q d"], keys: Float[Tensor, "B H K d"]) -> Float[Tensor, "B H Q K"]:
        """e(q, k) of every query with every key."""
        raise NotImplementedError


class ScaledDot(Score):
    """Scaled dot product: e(q, k) = q·k / √d, with q = x W_q and k = x W_k.

    Vaswani et al. 2017, §3.2.1. The products of random vectors have variance d; 1/√d keeps the softmax away from the
    corners where its gradient vanishes.
    """

    def __init__(self, *, width: int, heads: int) -> None:
        super().__init__(width=width, heads=heads)
        self.query_projection = nn.Linear(width, width, bias=False)
        self.key_projection = nn.Linear(width, width, bias=False)
        self.scale = 1.0 / math.sqrt(width // heads)

    def queries(self, states: Float[Tensor, "B Q D"]) -> Float[Tensor, "B H Q d"]:
        """Q = X W_q, split into heads."""
        return split_heads(self.query_projection(states), self.heads)

    def keys(self, states: Float[Tensor, "B K D"]) -> Float[Tensor, "B H K d"]:
        """K = X W_k, split into heads."""
        return split_heads(self.key_projection(states), self.heads)

    def forward(self, queries: Float[Tensor, "B H Q d"], keys: Float[Tensor, "B H K d"]) -> Float[Tensor, "B H Q K"]:
        """Q Kᵀ / √d. The scale goes to the queries, the smaller matrix."""
        assert self.scale is not None
        return (queries * self.scale) @ keys.transpose(-1, -2)


SCORES: dict[str, type[Score]] = {"scaled_dot": ScaledDot}


def build_score(name: str, *, width: int, heads: int) -> Score:
    """The score that the configuration names."""
    return lookup(SCORES, name, key="model.attention.score")(width=width, heads=heads)


def split_heads(x: Float[Tensor, "B N D"], heads: int) -> Float[Tensor, "B H N d"]:
    """Cut the last axis into `heads` equal parts."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)  # B N D -> B H N d


def merge_heads(x: Float[Tensor, "B H N d"]) -> Float[Tensor, "B N D"]:
    """Put the heads back side by side: [head_1 ‖ … ‖ head_H]."""
    return x.transpose(1, 2).flatten(-2)  # B H N d -> B N D
