"""Positions: the token order, to which attention itself is blind.

To add one, subclass `Position` if it acts on the embeddings, or `AttentionPosition` if it acts inside self-attention,
and enter it in `POSITIONS`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.attention.hooks import show
from transformer_mt.attention.initialisation import embedding_table
from transformer_mt.attention.scores import Score
from transformer_mt.attention.shapes import Heads, Keys, Queries, Scores, States
from transformer_mt.ground.registry import Table


class Position(nn.Module):
    """No position; the encoder sees a bag of words.

    Subclasses override the methods where they act. `adds_terms` says whether they add to scores or heads; if so, no
    fused kernel is used. This class itself is used for cross-attention, and for embeddings or self-attention if the
    configured position acts on the other.
    """

    adds_terms: ClassVar[bool] = False

    def __init__(self) -> None:  # takes no numbers, so the signature rejects `sinusoidal(5)`
        super().__init__()

    def embed(self, embeddings: States, *, start: int) -> States:
        """Add the encoding to scaled token embeddings at the positions start, start + 1, …"""
        return embeddings

    def rotate(self, queries: Queries, keys: Keys) -> tuple[Queries, Keys]:
        """Change queries and keys by their own positions. The queries are at the last Q of K positions."""
        return queries, keys

    def add_to_scores(self, scores: Scores, queries: Queries) -> Scores:
        """Add a term for every pair of positions to the scores."""
        return scores

    def add_to_heads(self, heads: Heads, weights: Scores) -> Heads:
        """Add the values that the positions contribute to the heads."""
        return heads


class Sinusoidal(Position):
    """x_i = √D e_i + pe_i; pe_{i,2t} = sin(i / 10000^{2t/D}), pe_{i,2t+1} = cos(i / 10000^{2t/D}).

    Vaswani et al. 2017, §3.5. Encodings are computed on demand and cached, so no table can overflow.
    """

    formulas: ClassVar = {"pe": "sin and cos of i / 10000^{2t/D}"}

    @override
    def embed(self, embeddings: States, *, start: int) -> States:
        _, length, width = embeddings.shape
        size = 2 ** (start + length - 1).bit_length()
        encoding = sinusoids(size, width, embeddings.device, embeddings.dtype)[start : start + length]
        return embeddings + show(self, "pe", encoding, "Q D")


@dataclass(frozen=True)
class Place:
    """Where a position acts: the score it meets, the stack (`encoder` or `decoder`), and whether that is causal."""

    score: Score
    stack: str
    causal: bool


class AttentionPosition(Position, ABC):
    """A position inside self-attention, built from its place and the numbers in its spelling.

    Each layer has its own, except that layers of a stack share one if the class is `shared`. Raises `ValueError` with
    the reason if place and position are incompatible.
    """

    shared: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, place: Place, *numbers: int) -> None:
        super().__init__()

    def added(self, scores: Scores, term: Tensor) -> Scores:
        """Add a term to the scores, and show both."""
        return show(self, "e′_j", scores + show(self, "b_j", term, "B H Q K").to(scores.dtype), "B H Q K")


class Relative(AttentionPosition):
    """e = q_i·(k_j + a^K_c) · scale and values v_j + a^V_c, with c = clip(j − i, −k, k) and maximum distance k.

    Shaw et al. 2018, §3.1–3.2. Each layer learns both tables and shares them between its heads.
    """

    formulas: ClassVar = {
        "c_j": "clip(j − i, −k, k)",
        "a_j": "a^K_c",
        "b_j": "q·a_j, scaled as q·k_j is",
        "e′_j": "e_j + b_j",
        "a^V_j": "a^V_c",
        "head": "Σ_j α_j (v_j + a^V_j)",
    }
    adds_terms = True

    def __init__(self, place: Place, max_distance: int) -> None:
        super().__init__(place)
        score = place.score
        self.max_distance = max_distance
        if score.scale is None:
            reason = "it adds to the keys of a dot product, and this score is not one"
            raise ValueError(f"{reason}; choose another score, or rotary")
        if max_distance < 1:
            raise ValueError("the maximum distance must be at least 1")
        self.scale = score.scale
        self.to_keys = embedding_table(2 * max_distance + 1, score.sizes.key_width)
        self.to_values = embedding_table(2 * max_distance + 1, score.sizes.value_width)

    @override
    def add_to_scores(self, scores: Scores, queries: Queries) -> Scores:
        clipped = show(self, "c_j", self._clipped(scores), "Q K")
        encodings = show(self, "a_j", self.to_keys(clipped + self.max_distance), "Q K d").to(queries.dtype)
        term = torch.einsum("bhqd,qkd->bhqk", queries * self.scale, encodings)
        return self.added(scores, term)

    @override
    def add_to_heads(self, heads: Heads, weights: Scores) -> Heads:
        encodings = show(self, "a^V_j", self.to_values(self._clipped(weights) + self.max_distance), "Q K d")
        heads = heads + torch.einsum("bhqk,qkd->bhqd", weights, encodings.to(weights.dtype))
        return show(self, "head", heads, "B H Q d")

    def _clipped(self, pairs: Scores) -> Int[Tensor, "Q K"]:
        return distances(*pairs.shape[-2:], device=pairs.device).clamp(-self.max_distance, self.max_distance)


class Rotary(AttentionPosition):
    """The features 2t and 2t + 1 of q_i and k_i turned by the angle i θ_t, θ_t = 10000^{−2t/d}.

    Su et al. 2021, §3.2.2: q_i·k_j then depends on positions only through j − i.
    """

    formulas: ClassVar = {"q′": "R_i q, θ_t = 10000^{−2t/d}", "k′_j": "R_j k_j"}

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        if not place.score.multiplies:
            reason = "it turns queries against keys, which this score does not multiply"
            raise ValueError(f"{reason}; choose another score, or sinusoidal")
        if (width := place.score.sizes.key_width) % 2:
            raise ValueError(f"it turns pairs of features, and a head has {width}; make that number even")

    @override
    def rotate(self, queries: Queries, keys: Keys) -> tuple[Queries, Keys]:
        start = keys.shape[2] - queries.shape[2]
        rotated_queries = show(self, "q′", rotated(queries, start=start), "B H Q d")
        return rotated_queries, show(self, "k′_j", rotated(keys, start=0), "B H K d")


class Alibi(AttentionPosition):
    """e + m_r · −|j − i|, with slope m_r = 2^{−8r/H} for head r = 1 … H: nearer positions count more.

    Press et al. 2022, §3, for decoders; in an encoder, both directions have the same slope.
    """

    formulas: ClassVar = {"m": "2^{−8r/H}", "b_j": "−m |j − i|", "e′_j": "e_j + b_j"}
    adds_terms = True
    slopes: Tensor

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        heads = torch.arange(1, place.score.sizes.heads + 1, device="cpu")
        self.register_buffer("slopes", 2.0 ** (-8.0 * heads / len(heads)), persistent=False)

    @override
    def add_to_scores(self, scores: Scores, queries: Queries) -> Scores:
        apart = distances(*scores.shape[-2:], device=scores.device).abs()  # Q K
        return self.added(scores, -show(self, "m", self.slopes, "H")[None, :, None, None] * apart)


@lru_cache(maxsize=8)
def sinusoids(length: int, width: int, device: torch.device, dtype: torch.dtype) -> Float[Tensor, "N D"]:
    """sin and cos of the angles of the first `length` positions, interleaved."""
    turns = angles(0, length, width=width, device=device)
    pairs = torch.stack((turns.sin(), turns.cos()), dim=-1)  # N D/2 2
    return pairs.flatten(1)[:, :width].to(dtype)


def rotated(x: Float[Tensor, "B H N d"], *, start: int) -> Float[Tensor, "B H N d"]:
    """Rotate feature pairs at positions start, start + 1, …: (a, b) ↦ (a cos − b sin, a sin + b cos)."""
    turns = angles(start, x.shape[2], width=x.shape[3], device=x.device)
    sin, cos = turns.sin().to(x.dtype), turns.cos().to(x.dtype)  # N d/2
    a, b = x[..., 0::2], x[..., 1::2]  # B H N d -> B H N d/2
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def angles(start: int, length: int, *, width: int, device: torch.device) -> Float[Tensor, "N half"]:
    """i / 10000^{2t/D} for the positions i from `start` on, computed in float64 (float32 on MPS)."""
    dtype = torch.float32 if device.type == "mps" else torch.float64
    position = torch.arange(start, start + length, dtype=dtype, device=device)
    frequency = 10_000.0 ** (-torch.arange(0, width, 2, dtype=dtype, device=device) / width)
    return torch.outer(position, frequency)


def distances(queries: int, keys: int, *, device: torch.device) -> Int[Tensor, "Q K"]:
    """j − i for the last `queries` of `keys` positions i."""
    return torch.arange(keys, device=device) - torch.arange(keys - queries, keys, device=device)[:, None]


POSITIONS: Table[type[Position]] = Table(
    "model.attention.position",
    {
        "none": Position,
        "sinusoidal": Sinusoidal,
        "alibi": Alibi,
        "relative": Relative,
        "rotary": Rotary,
    },
    given=1,  # the place; positions of the embeddings take nothing
)
