"""Multi-head attention over keys and values that are projected once and cached."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from transformer_mt.attention.graphs import Graph
from transformer_mt.attention.hooks import is_watched, show
from transformer_mt.attention.normalisers import Normaliser
from transformer_mt.attention.positions import Position
from transformer_mt.attention.projections import Projections, merge_heads, split_heads
from transformer_mt.attention.scores import Score
from transformer_mt.attention.shapes import Heads, KeyMask, Keys, KeyStates, Mask, Queries, QueryStates, Rows, Values


@dataclass(frozen=True)
class KeyValues:
    """The keys and values that queries attend to, and a mask of real positions (None: all).

    In a decoder, this is the key–value cache.
    """

    keys: Float[Tensor, "B Hk K dk"]
    values: Values
    mask: KeyMask | None = None

    def append(self, other: "KeyValues") -> "KeyValues":
        """Concatenate with the positions of `other`. Neither may have a mask: a decoder reads only real tokens."""
        assert self.mask is None
        assert other.mask is None
        return KeyValues(torch.cat((self.keys, other.keys), dim=2), torch.cat((self.values, other.values), dim=2))

    def select(self, rows: Rows) -> Self:
        """Select rows of the batch."""
        # On a CPU, `index_select` takes a third of the time of `x[rows]`.
        return replace(
            self, **{name: x.index_select(0, rows) for name, x in vars(self).items() if isinstance(x, Tensor)}
        )


class InspectableAttention(nn.Module):
    """H heads, each multiplied by its entry in `head_mask` (None: all 1); 0 turns a head off.

    Michel et al. 2019, §2.1. The mask has one row for all sentences or one per sentence. Gradients flow through it.
    """

    formulas: Mapping[str, str] = {}
    head_mask: Float[Tensor, "#B H"] | None

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.register_buffer("head_mask", None, persistent=False)

    def masked(self, heads: Heads) -> Heads:
        """Multiply each head by its entry in the mask."""
        return heads if self.head_mask is None else heads * self.head_mask[:, :, None, None].to(heads.dtype)

    def parts(self, heads: Heads) -> Float[Tensor, "B H Q D"]:
        """The term each head adds to the output."""
        return self.masked(heads)


class Attention(InspectableAttention, ABC):
    """Base of a model's attention layers. It projects values and heads; variants do the rest.

    Output: [head_1 ‖ … ‖ head_H] W_o + b, which equals Σ_r head_r W_o,r + b. `graph` says which weights can be nonzero.
    """

    formulas: Mapping[str, str] = {
        "h": "",
        "j ∈ N": "",
        "v_j": "h_j W_v",
        "head": "Σ_j α_j v_j",
        "o": "head W_o,r",
        "o_j": "α_j v_j W_o,r",
        "o_r": "head_r W_o,r",
        "y": "[head_1 ‖ … ‖ head_H] W_o + b",
    }
    graph: Graph

    def __init__(self, *, width: int, heads: int) -> None:
        super().__init__(heads)
        self.value_projection = nn.Linear(width, width, bias=False)
        self.output_projection = nn.Linear(width, width)

    @abstractmethod
    def key_values(self, states: KeyStates, mask: KeyMask | None = None) -> KeyValues:
        """Project states to keys and values. `mask` is True at real tokens."""

    @abstractmethod
    def forward(self, states: QueryStates, key_values: KeyValues) -> QueryStates:
        """Attend from every state to its neighbours among the keys.

        In self-attention, the states are the last Q positions of the keys.
        """

    def values(self, states: KeyStates) -> Values:
        """V = X W_v, split into heads."""
        return split_heads(self.value_projection(states), self.heads)

    def output(self, heads: Heads) -> QueryStates:
        """[head_1 ‖ … ‖ head_H] W_o + b, of the masked heads."""
        return show(self, "y", self.output_projection(merge_heads(self.masked(heads))), "B Q D")

    @override
    def parts(self, heads: Heads) -> Float[Tensor, "B H Q D"]:
        weight = self.output_projection.weight.T.reshape(*heads.shape[1::2], -1)  # D H*d -> H d D
        return self.masked(heads) @ weight


class MultiHeadAttention(Attention):
    """MultiHead(X, M) = [head_1 ‖ … ‖ head_H] W_o + b, head_r = α(e_r(X, M)) M W_v,r over a query's neighbours.

    Vaswani et al. 2017, §3.2.2, with a choice of score e, normaliser α, positions and graph of neighbours. The heads of
    a query without neighbours are zero. Dropout acts on the weights.
    """

    def __init__(
        self,
        projections: Projections,
        score: Score,
        normaliser: Normaliser,
        position: Position,
        graph: Graph,
        *,
        dropout: float,
    ) -> None:
        super().__init__(width=projections.sizes.width, heads=projections.sizes.heads)
        self.score = score
        self.projections = projections
        self.normaliser = normaliser
        self.position = position
        self.graph = graph
        self.formulas = {**self.formulas, **normaliser.formulas}
        self.dropout = nn.Dropout(dropout)

    @override
    def key_values(self, states: KeyStates, mask: KeyMask | None = None) -> KeyValues:
        # Do not rotate keys yet: their positions are known only once all keys are.
        return KeyValues(self.projections.keys(states), self.values(states), mask)

    @override
    def forward(self, states: QueryStates, key_values: KeyValues) -> QueryStates:
        queries = show(self.projections, "q", self.projections.queries(show(self, "h", states, "B Q D")), "B H Q d")
        keys = show(self.projections, "k_j", key_values.keys, "B H K d")
        queries, keys = self.position.rotate(queries, keys)
        mask = self.mask(states.shape[1], key_values)
        # One fused kernel, if the score has one and no watcher needs the steps. With a gradient in bfloat16 on a CPU it
        # takes 3 to 12 times as long as the steps, for sentences of up to 100 tokens.
        slow = torch.is_grad_enabled() and queries.dtype == torch.bfloat16 and queries.device.type == "cpu"
        possible = self.normaliser.fused and self.score.scale is not None and not self.position.adds_terms
        attend = self.attend_fused if possible and not slow and not is_watched() else self.attend
        return self.output(attend(queries, keys, key_values.values, mask))

    def mask(self, queries: int, key_values: KeyValues) -> Mask | None:
        """True where a query may attend: to neighbours in the graph that are not padding. None: everywhere."""
        real = None if key_values.mask is None else key_values.mask[:, None, None, :]
        if self.graph.is_complete(queries):
            return real
        mask = self.graph.mask(queries, key_values.keys.shape[2], device=key_values.keys.device)[None, None]
        return mask if real is None else mask & real

    def attend(self, queries: Queries, keys: Keys, values: Values, mask: Mask | None) -> Heads:
        """α(e(Q, K)) V step by step, with the position's terms in scores and values."""
        scores = show(self.score, "e_j", self.score(queries, keys), "B H Q K")
        scores = self.position.add_to_scores(scores, queries)
        if mask is not None:
            mask = show(self, "j ∈ N", mask, "B H Q K")
        weights = show(self, "α_j", self.normaliser(scores, mask), "B H Q K")
        dropped = self.dropout(weights)
        heads = dropped @ show(self, "v_j", values, "B H K d")
        return show(self, "head", self.position.add_to_heads(heads, dropped), "B H Q d")

    def attend_fused(self, queries: Queries, keys: Keys, values: Values, mask: Mask | None) -> Heads:
        """`attend` in one kernel, for softmax of scaled dot products and positions that add no terms."""
        keys = keys.expand(*queries.shape[:2], *keys.shape[2:])
        dropout = self.dropout.p if self.training else 0.0
        return F.scaled_dot_product_attention(queries, keys, values, mask, dropout_p=dropout, scale=self.score.scale)
