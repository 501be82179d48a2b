"""Linear attention: no score matrix, and a cost linear in the length."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F
from typing_extensions import override

from transformer_mt.attention.graphs import Causal, Complete
from transformer_mt.attention.hooks import is_watched, show
from transformer_mt.attention.multihead import Attention, KeyValues
from transformer_mt.attention.projections import Independent
from transformer_mt.attention.shapes import Heads, KeyMask, KeyStates, QueryStates, Values

# Within chunks of this many positions, the causal form computes φ(Q) φ(K)ᵀ; between chunks it keeps running sums.
_CHUNK = 64

Sums = Float[Tensor, "B H d d1"]


@dataclass(frozen=True)
class SummedKeyValues(KeyValues):
    """Keys φ(k_j) and values of new positions, and Σ φ(k_j)ᵀ [v_j, 1] over all earlier positions.

    The size of the sums does not depend on the length.
    """

    sums: Sums | None = None

    @override
    def append(self, other: KeyValues) -> Self:
        """Add the new positions to the sums, and continue with the positions of `other`."""
        return type(self)(other.keys, other.values, other.mask, sums=self.total())

    def total(self) -> Sums:
        """Σ φ(k_j)ᵀ [v_j, 1] over all positions."""
        new = summed(self.keys, self.values)
        return new if self.sums is None else self.sums + new


class LinearAttention(Attention):
    """h_i = φ(q_i) Σ_j φ(k_j)ᵀ v_j / φ(q_i) Σ_j φ(k_j)ᵀ with φ(x) = elu(x) + 1.

    Katharopoulos et al. 2020, §3.2–3.3; the sums are the fast weights of Schmidhuber (1992). In the causal form they
    run over j ≤ i. The weights α_ij = φ(q_i)·φ(k_j) / Σ_j φ(q_i)·φ(k_j) are computed only for a watcher, so there is
    no dropout on weights.
    """

    formulas: Mapping[str, str] = {
        **Attention.formulas,
        "φ(q)": "elu(q) + 1",
        "φ(k_j)": "elu(h_j W_k) + 1",
        "s_j": "φ(q)·φ(k_j)",
        "α_j": "s_j / Σ_j s_j, over j ∈ N",
    }

    def __init__(self, *, width: int, heads: int, causal: bool) -> None:
        super().__init__(width=width, heads=heads)
        self.graph = Causal() if causal else Complete()
        self.causal = causal
        self.projections = Independent(width, heads)

    @override
    def key_values(self, states: KeyStates, mask: KeyMask | None = None) -> SummedKeyValues:
        """Project to φ(K), zero at padding, and V."""
        keys = feature_map(self.projections.keys(states))
        if mask is not None:
            keys = keys.masked_fill(~mask[:, None, :, None], 0.0)
        return SummedKeyValues(keys, self.values(states), mask)

    @override
    def forward(self, states: QueryStates, key_values: KeyValues) -> QueryStates:
        """Attend to the sums of all positions, or in the causal form of positions up to each query."""
        assert isinstance(key_values, SummedKeyValues)
        queries = show(self.projections, "q", self.projections.queries(show(self, "h", states, "B Q D")), "B H Q d")
        queries = show(self, "φ(q)", feature_map(queries), "B H Q d")
        if is_watched():
            return self.output(self.attend(queries, key_values))
        products = self.running(queries, key_values) if self.causal else queries @ key_values.total()
        return self.output(normalized(products))

    def attend(self, queries: Heads, key_values: SummedKeyValues) -> Heads:
        """Compute the heads step by step, with scores φ(q_i)·φ(k_j) and weights, zero where i cannot see j."""
        assert key_values.sums is None, "the past is summed up; watch a pass that reads all tokens at once"
        keys = show(self, "φ(k_j)", key_values.keys, "B H K d")
        similarities = queries @ keys.transpose(-1, -2)
        if self.causal:
            past = show(self, "j ∈ N", torch.ones_like(similarities, dtype=torch.bool).tril(), "B H Q K")
            similarities = similarities.masked_fill(~past, 0.0)
        similarities = show(self, "s_j", similarities, "B H Q K")
        weights = normalized(torch.cat((similarities, similarities.sum(dim=-1, keepdim=True)), dim=-1))
        heads = show(self, "α_j", weights, "B H Q K") @ show(self, "v_j", key_values.values, "B H K d")
        return show(self, "head", heads, "B H Q d")

    def running(self, queries: Heads, key_values: SummedKeyValues) -> Float[Tensor, "B H Q d1"]:
        """φ(q_i) Σ_{j≤i} φ(k_j)ᵀ [v_j, 1], chunk by chunk. The queries are at the new positions."""
        sums = key_values.sums
        products = []
        for start in range(0, queries.shape[2], _CHUNK):
            q, k, v = (x[:, :, start : start + _CHUNK] for x in (queries, key_values.keys, key_values.values))
            product = (q @ k.transpose(-1, -2)).tril() @ F.pad(v, (0, 1), value=1.0)
            products.append(product if sums is None else product + q @ sums)
            sums = summed(k, v) if sums is None else sums + summed(k, v)
        return torch.cat(products, dim=2)


def feature_map(x: Float[Tensor, "*N d"]) -> Float[Tensor, "*N d"]:
    """φ(x) = elu(x) + 1, positive everywhere."""
    return F.elu(x) + 1.0


def summed(keys: Values, values: Values) -> Sums:
    """Σ_j φ(k_j)ᵀ [v_j, 1]: numerators, and in the last column the denominators."""
    return keys.transpose(-1, -2) @ F.pad(values, (0, 1), value=1.0)


def normalized(products: Float[Tensor, "B H Q d1"]) -> Heads:
    """Divide the numerators by the denominators in the last column; zero if nothing could be attended to."""
    numerators = products[..., :-1]
    denominators = products[..., -1:]
    return numerators / denominators.masked_fill(denominators == 0.0, 1.0)
