"""How a model knows the order of its tokens, which attention alone does not see.

A position acts either on the embeddings or inside every self-attention. To add one, subclass `EmbeddingPosition` or
`AttentionPosition` and enter it in `POSITIONS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.attention.scores import Score
from transformer_mt.attention.shapes import Heads, Keys, Queries, Scores
from transformer_mt.attention.spelling import spelled
from transformer_mt.attention.steps import Step, Vector, Vectors
from transformer_mt.registry import lookup

KEY = "model.attention.position"


class EmbeddingPosition(nn.Module, ABC):
    """A position added to the embeddings, or nothing at all."""

    def __init__(self) -> None:  # no numbers: `sinusoidal(5)` is refused by the signature
        super().__init__()

    @abstractmethod
    def embed(self, embeddings: Float[Tensor, "B N D"], *, start: int) -> Float[Tensor, "B N D"]:
        """Scaled token embeddings at the positions start, start + 1, … with the encoding added."""

    def explain(self, embedding: Float[Tensor, " D"], *, number: int) -> list[Step]:
        """What is added to the scaled embedding of the token at this position, from 0; nothing where nothing is."""
        return []


class NoEmbeddingPosition(EmbeddingPosition):
    """`none`, with which the encoder sees a bag of words; also beside positions that act inside attention."""

    @override
    def embed(self, embeddings: Float[Tensor, "B N D"], *, start: int) -> Float[Tensor, "B N D"]:
        return embeddings


class Sinusoidal(EmbeddingPosition):
    """x_i = √D e_i + pe_i; pe_{i,2t} = sin(i / 10000^{2t/D}), pe_{i,2t+1} = cos(i / 10000^{2t/D}).

    Vaswani et al. 2017, §3.5. There is no table to outgrow: what was computed for a sentence is kept for the next.
    """

    @override
    def embed(self, embeddings: Float[Tensor, "B N D"], *, start: int) -> Float[Tensor, "B N D"]:
        _, length, width = embeddings.shape
        size = 2 ** (start + length - 1).bit_length()
        encoding = _kept_sinusoids(size, width, embeddings.device, embeddings.dtype)
        return embeddings + encoding[start : start + length]

    @override
    def explain(self, embedding: Float[Tensor, " D"], *, number: int) -> list[Step]:
        (encoding,) = sinusoids(number, 1, width=len(embedding), device=embedding.device).to(embedding.dtype)
        words = f"the encoding of position i = {number} is added to it"
        return [Step("position_encoding", words, "pe", "sin and cos of i / 10000^{2t/D}", encoding)]


class AttentionPosition(nn.Module, ABC):
    """A position inside self-attention: one for each layer, made for its score.

    A subclass overrides the hooks where it acts. Its constructor takes the numbers of its spelling and raises
    `ValueError` with the reason where score and position do not go together.
    """

    # Whether it adds to scores or heads, which a fused kernel cannot.
    adds_terms: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, score: Score, *numbers: int) -> None:
        super().__init__()

    def rotate(self, queries: Queries, keys: Keys) -> tuple[Queries, Keys]:
        """Queries and keys changed by their own positions; the queries stand at the last Q of K."""
        return queries, keys

    def add_to_scores(self, scores: Scores, queries: Queries) -> Scores:
        """The scores with a term for every pair of positions."""
        return scores

    def add_to_heads(self, heads: Heads, weights: Scores) -> Heads:
        """The heads with the values that the positions themselves contribute."""
        return heads

    # The same hooks for one query of a head, as steps; none where the position does not act.

    def explain_rotation(self, query: Vector, keys: Vectors, *, row: int) -> list[Step]:
        """How query and keys are changed; the last two are `rotated_query` and `rotated_keys`."""
        return []

    def explain_term(self, query: Vector, *, row: int, keys: int, head: int) -> list[Step]:
        """What is added to the scores; the last is `position_term`, one number a key."""
        return []

    def explain_values(self, *, row: int, keys: int) -> list[Step]:
        """What is added to the values; the last is `position_values`, one vector a key."""
        return []

    def keep_heads(self, heads: Sequence[int]) -> None:
        """Go on with these heads alone, counted from 0."""


class NoAttentionPosition(AttentionPosition):
    """No position inside attention: in every attention to a memory, and where positions act on the embeddings."""

    def __init__(self, score: Score) -> None:
        super().__init__(score)


class Relative(AttentionPosition):
    """e = q_i·(k_j + a^K_c) · scale and values v_j + a^V_c, with c = clip(j − i, −k, k).

    Shaw et al. 2018, §3.1–3.2. Both tables are learned, in each layer, and common to its heads.
    """

    adds_terms = True

    def __init__(self, score: Score, clip: int) -> None:
        super().__init__(score)
        if score.scale is None:
            raise ValueError(
                "it adds to the keys of a dot product, which this score is not; choose another score, or rotary"
            )
        if clip < 1:
            raise ValueError("the clip distance must be at least 1")
        self.scale, self.clip = score.scale, clip
        self.to_keys = nn.Embedding(2 * clip + 1, score.sizes.key_width)
        self.to_values = nn.Embedding(2 * clip + 1, score.sizes.value_width)

    @override
    def add_to_scores(self, scores: Scores, queries: Queries) -> Scores:
        encodings = self.to_keys(self._clipped(scores))  # Q K dk
        return scores + torch.einsum("bhqd,qkd->bhqk", queries * self.scale, encodings.to(queries.dtype))

    @override
    def add_to_heads(self, heads: Heads, weights: Scores) -> Heads:
        encodings = self.to_values(self._clipped(weights))  # Q K d
        return heads + torch.einsum("bhqk,qkd->bhqd", weights, encodings.to(weights.dtype))

    @override
    def explain_term(self, query: Vector, *, row: int, keys: int, head: int) -> list[Step]:
        clipped = self._clipped_from(row, keys)
        encodings = self.to_keys(clipped)  # K dk
        found, scale = encodings @ query, f"{self.scale:.6g}"
        return [
            self._distance_step(row, clipped),
            Step("position_keys", "the learned vector of every distance", "a_j", "a^K_c", encodings, over="keys"),
            Step("position_products", "its product with the query", "q·a_j", "Σ_c q_c a_jc", found, over="keys"),
            Step(
                "position_term", "the term of the position", "b_j", f"q·a_j · {scale}", found * self.scale, over="keys"
            ),
        ]

    @override
    def explain_values(self, *, row: int, keys: int) -> list[Step]:
        encodings = self.to_values(self._clipped_from(row, keys))
        words = "the learned value of every distance"
        return [Step("position_values", words, "a^V_j", "a^V_c", encodings, over="keys")]

    def _clipped_from(self, row: int, keys: int) -> Int[Tensor, " K"]:
        """The index of every column's distance from a row."""
        apart = torch.arange(keys, device=self.to_keys.weight.device) - row
        return apart.clamp(-self.clip, self.clip) + self.clip

    def _distance_step(self, row: int, clipped: Int[Tensor, " K"]) -> Step:
        words = f"how far right of the row, i = {row}, every column stands, clipped"
        return Step("distances", words, "c", f"clip(j − i, ±{self.clip})", clipped - self.clip, over="keys")

    def _clipped(self, pairs: Scores) -> Int[Tensor, "Q K"]:
        """clip(j − i, −k, k) + k, an index."""
        return distances(*pairs.shape[-2:], device=pairs.device).clamp(-self.clip, self.clip) + self.clip


class Rotary(AttentionPosition):
    """The features 2t and 2t + 1 of q_i and k_i turned by the angle i θ_t, θ_t = 10000^{−2t/d}.

    Su et al. 2021, §3.2.2: q_i·k_j then depends on positions through j − i alone.
    """

    def __init__(self, score: Score) -> None:
        super().__init__(score)
        if not score.multiplies:
            raise ValueError(
                "it turns queries against keys, which this score does not multiply; choose another score, or sinusoidal"
            )
        if score.sizes.key_width % 2:
            raise ValueError(
                f"it turns pairs of features, and a head has {score.sizes.key_width}; make their number even"
            )

    @override
    def rotate(self, queries: Queries, keys: Keys) -> tuple[Queries, Keys]:
        start = keys.shape[2] - queries.shape[2]
        return rotated(queries, start=start), rotated(keys, start=0)

    @override
    def explain_rotation(self, query: Vector, keys: Vectors, *, row: int) -> list[Step]:
        turned = rotated(query[None, None, None], start=row)[0, 0, 0]
        words = f"the query turned by its position, i = {row}: features 2t and 2t + 1 by i θ_t"
        return [
            Step("rotated_query", words, "q′", "R_i q, θ_t = 10000^{−2t/d}", turned),
            Step(
                "rotated_keys",
                "every key turned by its own position j",
                "k′_j",
                "R_j k_j",
                rotated(keys[None, None], start=0)[0, 0],
                over="keys",
            ),
        ]


class Alibi(AttentionPosition):
    """e + m_r · −|j − i|, with the slope m_r = 2^{−8r/H} of head r = 1 … H: nearer positions count for more.

    Press et al. 2022, §3, for decoders; in an encoder both directions have the same slope.
    """

    adds_terms = True
    slopes: Tensor

    def __init__(self, score: Score) -> None:
        super().__init__(score)
        heads = score.sizes.heads
        self.register_buffer("slopes", 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads), persistent=False)

    @override
    def add_to_scores(self, scores: Scores, queries: Queries) -> Scores:
        apart = distances(*scores.shape[-2:], device=scores.device).abs()  # Q K
        return scores - (self.slopes[:, None, None] * apart).to(scores.dtype)

    @override
    def explain_term(self, query: Vector, *, row: int, keys: int, head: int) -> list[Step]:
        slope = self.slopes[head]
        apart = (torch.arange(keys, device=slope.device) - row).abs()
        return [
            Step("slope", "the slope of the head", "m", "2^{−8r/H}", slope),
            Step("distances", f"how far every column is from the row, i = {row}", "|j − i|", "", apart, "keys"),
            Step("position_term", "the term of the position", "b_j", "−m |j − i|", -slope * apart, over="keys"),
        ]

    @override
    def keep_heads(self, heads: Sequence[int]) -> None:
        self.slopes = self.slopes[list(heads)]


def sinusoids(start: int, length: int, *, width: int, device: torch.device) -> Float[Tensor, "N D"]:
    """The sinusoidal encodings of `length` positions from `start` on."""
    turns = angles(start, length, width=width, device=device)
    return torch.stack((turns.sin(), turns.cos()), dim=-1).flatten(1)[:, :width]  # N D/2 2 -> N D


@lru_cache(maxsize=8)
def _kept_sinusoids(length: int, width: int, device: torch.device, dtype: torch.dtype) -> Float[Tensor, "N D"]:
    """Those of the first positions, made once for each length that is asked for."""
    with torch.inference_mode(False):  # for those that train, too
        return sinusoids(0, length, width=width, device=device).to(dtype)


def rotated(x: Float[Tensor, "B H N d"], *, start: int) -> Float[Tensor, "B H N d"]:
    """The features of the positions start, start + 1, … turned in pairs: (a, b) ↦ (a cos − b sin, a sin + b cos)."""
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


POSITIONS: dict[str, type[EmbeddingPosition] | type[AttentionPosition]] = {
    "none": NoEmbeddingPosition,
    "sinusoidal": Sinusoidal,
    "alibi": Alibi,
    "relative": Relative,
    "rotary": Rotary,
}


def acts_in_attention(text: str) -> bool:
    """Whether the position that the configuration names acts inside self-attention, not on the embeddings."""
    name = text.partition("(")[0].strip()
    return issubclass(lookup(POSITIONS, name, key=KEY), AttentionPosition)


def build_embedding_position(text: str) -> EmbeddingPosition:
    """What the position that the configuration names does to the embeddings."""
    entries = {name: entry for name, entry in POSITIONS.items() if issubclass(entry, EmbeddingPosition)}
    return NoEmbeddingPosition() if acts_in_attention(text) else spelled(text, entries, key=KEY)


def build_attention_position(text: str, score: Score) -> AttentionPosition:
    """What the position that the configuration names does in a self-attention with this score.

    Raises `InputError` where they do not go together.
    """
    entries = {name: partial(entry, score) for name, entry in POSITIONS.items() if issubclass(entry, AttentionPosition)}
    return spelled(text, entries, key=KEY) if acts_in_attention(text) else NoAttentionPosition(score)
