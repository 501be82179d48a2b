"""Multi-head attention over keys and values that are projected once and kept."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from typing_extensions import override

from transformer_mt.attention.graphs import Graph
from transformer_mt.attention.in_place import attend_in_place
from transformer_mt.attention.observing import Attended, current_observer
from transformer_mt.attention.positions import AttentionPosition, NoAttentionPosition
from transformer_mt.attention.projections import Projections, keep_outputs, kept_parts, merge_heads, split_heads
from transformer_mt.attention.scores import Score
from transformer_mt.attention.shapes import Heads, Keys, Mask, Queries, Scores, Values
from transformer_mt.attention.steps import (
    Explained,
    HeadSteps,
    Row,
    Stage,
    Step,
    Vector,
    Vectors,
    named,
    softmax_stage,
    summed_up,
    value_step,
)
from transformer_mt.dropout import Dropout

# From so many queries on, whole blocks of a sparse graph are empty and worth skipping.
LONG = 512
# Up to so many queries, as in a step of a search, calling the kernels one by one takes longer than what they compute.
FEW = 32


@dataclass(eq=False, slots=True)
class Room:
    """Memory for the keys and values of more positions than there are, of which the first `taken` belong to someone."""

    keys: Float[Tensor, "B Hk N dk"]
    values: Float[Tensor, "B H N d"]
    taken: int


@dataclass(frozen=True, slots=True)
class KeyValues:
    """The keys and values that queries attend to, and which positions are real (None: all of them).

    In a decoder this is the key–value cache, which grows in its `room`.
    """

    keys: Float[Tensor, "B Hk K dk"]
    values: Values
    mask: Bool[Tensor, "B K"] | None = None
    room: Room | None = None

    @property
    def length(self) -> int:
        """The number of positions, padding included."""
        return self.keys.shape[2]

    def append(self, other: "KeyValues") -> "KeyValues":
        """These positions, then those of `other`. Neither has a mask: a decoder has read only real tokens.

        Both stay as they are. Where nobody wants gradients, the new positions are written behind the old ones, into
        room that grows by doubling; who comes second to the same room gets another.
        """
        assert self.mask is None
        assert other.mask is None
        if torch.is_grad_enabled():
            keys = torch.cat((self.keys, other.keys), dim=2)
            return KeyValues(keys, torch.cat((self.values, other.values), dim=2))
        room, start, end = self.room, self.length, self.length + other.length
        if room is None or room.taken != start or room.keys.shape[2] < end:
            room = Room(roomier(self.keys, size=2 * end), roomier(self.values, size=2 * end), start)
        room.keys[:, :, start:end] = other.keys
        room.values[:, :, start:end] = other.values
        room.taken = end
        return KeyValues(room.keys[:, :, :end], room.values[:, :, :end], room=room)

    def select(self, rows: Int[Tensor, " N"]) -> "KeyValues":
        """The keys and values of the sentences `rows`."""
        mask = None if self.mask is None else self.mask[rows]
        return KeyValues(rows_of(self.keys, rows), rows_of(self.values, rows), mask)


class Attention(nn.Module, Explained):
    """What the layers of a model know of attention: values and heads are projected here, the rest is the variant's.

    Output: [head_1 ‖ … ‖ head_H] W_o + b, which equals Σ_r head_r W_o,r + b. `graph` says which weights can be other
    than zero. `head_numbers` are the numbers, from 1, of the heads that are computed, in the order of the tensors: some
    of the `configured_heads`.
    """

    graph: Graph
    output_formula = " W_o,r"
    head_numbers: tuple[int, ...]
    configured_heads: int

    def __init__(self, *, width: int, heads: int) -> None:
        super().__init__()
        self.heads = self.configured_heads = heads
        self.head_numbers = tuple(range(1, heads + 1))
        self.value_projection = nn.Linear(width, width, bias=False)
        self.output_projection = nn.Linear(width, width)

    @abstractmethod
    def key_values(self, states: Float[Tensor, "B K D"], mask: Bool[Tensor, "B K"] | None = None) -> KeyValues:
        """Project states to the keys and values that queries will attend to; mask is True at real tokens."""

    @abstractmethod
    def forward(self, states: Float[Tensor, "B Q D"], key_values: KeyValues) -> Float[Tensor, "B Q D"]:
        """Attend from every state to its neighbours among the keys.

        In self-attention the states are the last Q positions of the keys.
        """

    def values(self, states: Float[Tensor, "B K D"]) -> Values:
        """V = X W_v, split into heads."""
        return split_heads(self.value_projection(states), self.heads)

    def output(self, heads: Heads) -> Float[Tensor, "B Q D"]:
        """[head_1 ‖ … ‖ head_H] W_o + b."""
        return self.output_projection(merge_heads(heads))

    @override
    def projected(self, vectors: Float[Tensor, "*N d"], head: int) -> Float[Tensor, "*N D"]:
        width = vectors.shape[-1]
        return vectors @ self.output_projection.weight[:, head * width : (head + 1) * width].T

    @property
    @override
    def output_bias(self) -> Float[Tensor, " D"]:
        return self.output_projection.bias

    def keep_heads(self, heads: Sequence[int]) -> None:
        """Go on with these heads alone, at least one of them, counted from 0 among those there are."""
        keep_outputs(self.value_projection, heads, of=self.heads)
        columns = kept_parts(self.output_projection.weight, heads, of=self.heads, axis=1)
        self.output_projection.weight = nn.Parameter(columns)
        self.output_projection.in_features = columns.shape[1]
        self.head_numbers = tuple(self.head_numbers[head] for head in heads)
        self.heads = len(heads)


class MultiHeadAttention(Attention):
    """MultiHead(X, M) = [head_1 ‖ … ‖ head_H] W_o + b, head_r = softmax(e_r(X, M)) M W_v,r over each query's
    neighbours.

    Vaswani et al. 2017, §3.2.2, with the score e, the positions and the graph of neighbours as choices. A query without
    any neighbour gets zeros instead of its share of the values. Dropout acts on the weights.
    """

    def __init__(
        self, projections: Projections, score: Score, position: AttentionPosition, graph: Graph, *, dropout: float
    ) -> None:
        super().__init__(width=projections.sizes.width, heads=projections.sizes.heads)
        self.score = score
        self.projections = projections
        self.position = position
        self.graph = graph
        self.dropout = Dropout(dropout)

    @override
    def key_values(self, states: Float[Tensor, "B K D"], mask: Bool[Tensor, "B K"] | None = None) -> KeyValues:
        # The keys are not yet rotated: when they are, their positions among all keys are known.
        return KeyValues(self.projections.keys(states), self.values(states), mask)

    @override
    def forward(self, states: Float[Tensor, "B Q D"], key_values: KeyValues) -> Float[Tensor, "B Q D"]:
        queries, keys = self.position.rotate(self.projections.queries(states), key_values.keys)
        mask = self.mask(states.shape[1], key_values)
        fusable = self.score.scale is not None and not self.position.adds_terms
        on_cpu = states.device.type == "cpu"
        if not fusable or current_observer():
            attend = self.attend
        elif on_cpu and self.training:
            attend = self.attend_in_place
        elif on_cpu and (torch.is_grad_enabled() or states.shape[1] > FEW):
            attend = self.attend  # plain products are faster than the fused kernel, unless there are few queries
        elif not self.graph.dense and states.shape[1] >= LONG and not self._drops():
            attend = self.attend_blocks
        else:
            attend = self.attend_fused
        return self.output(attend(queries, keys, key_values.values, mask))

    @property
    def is_unordered(self) -> bool:
        """Whether a last query reads all keys alike, wherever among them they stand."""
        return isinstance(self.position, NoAttentionPosition) and self.graph.is_complete(1)

    def mask(self, queries: int, key_values: KeyValues) -> Mask | None:
        """True where a query may attend: a neighbour in the graph, and no padding; None where it may everywhere."""
        real = None if key_values.mask is None else key_values.mask[:, None, None, :]
        if self.graph.is_complete(queries):
            return real
        mask = self.graph.mask(queries, key_values.length, device=key_values.keys.device)[None, None]
        return mask if real is None else mask & real

    def attend(self, queries: Queries, keys: Keys, values: Values, mask: Mask | None) -> Heads:
        """softmax(e(Q, K)) V, step by step, with what positions add to the scores and to the values."""
        scores = self.position.add_to_scores(self.score(queries, keys), queries)
        weights = masked_softmax(scores, mask)
        kept = self.dropout(weights)
        heads = self.position.add_to_heads(kept @ values, kept)
        if observer := current_observer():
            observer(self, Attended(queries, keys, values, scores, weights, heads))
        return heads

    def attend_in_place(self, queries: Queries, keys: Keys, values: Values, mask: Mask | None) -> Heads:
        """The same for a CPU in training, for scores that are scaled dot products and positions that add no terms."""
        assert self.score.scale is not None
        shape = (*queries.shape[:3], keys.shape[2])
        ones = torch.ones((), dtype=torch.promote_types(queries.dtype, torch.float32))
        factors = self.dropout(ones.expand(shape)) if self._drops() else None
        keys = keys.expand(*queries.shape[:2], *keys.shape[2:])
        mask = torch.ones(1, 1, 1, shape[-1], dtype=torch.bool) if mask is None else mask
        return attend_in_place(queries, keys, values, mask, scale=self.score.scale, factors=factors)

    def attend_fused(self, queries: Queries, keys: Keys, values: Values, mask: Mask | None) -> Heads:
        """The same in one kernel, for scores that are scaled dot products and positions that add no terms."""
        dropout = self.dropout.probability if self._drops() else 0.0
        keys = keys.expand(*queries.shape[:2], *keys.shape[2:])
        return F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, dropout_p=dropout, scale=self.score.scale
        )

    def attend_blocks(self, queries: Queries, keys: Keys, values: Values, mask: Mask | None) -> Heads:
        """The same without dropout, leaving out each block of 128 × 128 scores in which the graph has no edge.

        Dong et al. 2024, "Flex Attention".
        """
        assert mask is not None, "no block of a complete graph can be left out"
        allowed = mask[:, 0].expand(len(queries), queries.shape[2], -1)
        blocks = create_block_mask(
            lambda sentence, _, query, key: allowed[sentence, query, key],
            *(len(queries), None, allowed.shape[1], allowed.shape[2]),
            device=str(queries.device),
        )
        keys = keys.expand(*queries.shape[:2], *keys.shape[2:])
        kernel = _uncompiled if queries.device.type == "cpu" else _compiled()
        return kernel(queries, keys, values, block_mask=blocks, scale=self.score.scale)

    @override
    def explain(self, row: Row) -> HeadSteps:
        projection = self.projections.explain(row.state, row.keys, head=row.head)
        query, keys = named(projection, "query"), named(projection, "keys")
        stages = [Stage("Query and keys", projection)]
        if rotation := tuple(self.position.explain_rotation(query, keys, row=row.number)):
            stages.append(Stage("The position turns both", rotation))
            query, keys = named(rotation, "rotated_query"), named(rotation, "rotated_keys")
        scoring = self._scores(query, keys, row)
        softmax = softmax_stage(scoring[-1], self._neighbours(row))
        stages += [Stage("Scores: how well every key fits the query", scoring), softmax]
        return summed_up(stages, named(softmax.steps, "weights"), self._values(row))

    def _scores(self, query: Vector, keys: Vectors, row: Row) -> tuple[Step, ...]:
        """The steps of the score, then those of the position, and their sum."""
        steps = self.score.explain(query, keys, head=row.head)
        term = self.position.explain_term(query, row=row.number, keys=len(keys), head=row.head)
        if not term:
            return tuple(steps)
        total = steps[-1].values + term[-1].values
        words = "the score with the term of the position"
        return (*steps, *term, Step("scores_with_position", words, "e′_j", "e_j + b_j", total, over="keys"))

    def _values(self, row: Row) -> list[Step]:
        """The steps to the values that are weighed."""
        values = value_step(row.values)
        if not (added := self.position.explain_values(row=row.number, keys=len(row.keys))):
            return [values]
        total = row.values + added[-1].values
        words = "the values with those of the position"
        return [values, *added, Step("values_with_position", words, "v′_j", "v_j + a^V_j", total, over="keys")]

    def _neighbours(self, row: Row) -> Bool[Tensor, " K"]:
        """Where the row may attend to. The keys of a single sentence have no padding."""
        places = torch.arange(len(row.keys), device=row.keys.device)
        return self.graph.neighbours(torch.full_like(places, row.number), places)

    @override
    def keep_heads(self, heads: Sequence[int]) -> None:
        super().keep_heads(heads)
        for part in (self.projections, self.score, self.position):
            part.keep_heads(heads)

    def _drops(self) -> bool:
        return self.training and self.dropout.probability > 0.0


class NoHeads(Attention):
    """What is left of an attention layer without its heads: the output b, whatever there is to attend to."""

    def __init__(self, layer: Attention) -> None:
        nn.Module.__init__(self)
        self.heads, self.head_numbers, self.configured_heads = 0, (), layer.configured_heads
        self.graph = layer.graph
        self.output_projection = _Bias(layer.output_projection)

    @override
    def key_values(self, states: Float[Tensor, "B K D"], mask: Bool[Tensor, "B K"] | None = None) -> KeyValues:
        """Keys and values of no head."""
        none = states[:, None][:, :0]  # B K D -> B 0 K D
        return KeyValues(none, none, mask)

    @override
    def forward(self, states: Float[Tensor, "B Q D"], key_values: KeyValues) -> Float[Tensor, "B Q D"]:
        # Nothing but the bias comes of this; that it is computed gives all that was read a gradient, of zero.
        queries = states[:, None][:, :0]  # B Q D -> B 0 Q D
        weights = queries @ key_values.keys.transpose(-1, -2)
        heads = weights @ key_values.values
        if observer := current_observer():
            observer(self, Attended(queries, key_values.keys, key_values.values, weights, weights, heads))
        return self.output(heads)

    @override
    def explain(self, row: Row) -> HeadSteps:
        raise ValueError("there is no head to explain")


class _Bias(nn.Linear):
    """An output projection of no inputs, of which the bias alone is kept on disk."""

    def __init__(self, projection: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = 0, projection.out_features
        self.register_buffer("weight", projection.weight.detach()[:, :0], persistent=False)
        self.bias = projection.bias


# The annotation of torch admits several kinds of results; without its options there is one.
_uncompiled: Callable[..., Tensor] = flex_attention


@cache
def _compiled() -> Callable[..., Tensor]:
    return torch.compile(_uncompiled, dynamic=True)


def roomier(x: Float[Tensor, "B H K d"], *, size: int) -> Float[Tensor, "B H N d"]:
    """The same positions and, behind them, so many that those are `size` in all, of any value."""
    room = x.new_empty(x.shape[0], size, x.shape[1], x.shape[3]).transpose(1, 2)  # B N H d -> B H N d
    room[:, :, : x.shape[2]] = x
    return room


def rows_of(x: Float[Tensor, "B H K d"], rows: Int[Tensor, " N"]) -> Float[Tensor, "N H K d"]:
    """x[rows], where the heads of a position lie side by side in memory, as a projection writes them."""
    return x.transpose(1, 2).index_select(0, rows).transpose(1, 2)


def masked_softmax(scores: Scores, mask: Mask | None) -> Scores:
    """Softmax over the keys where `mask` is True; a row without any is zero, forward and backward.

    The masked scores are set to the lowest finite number, not −∞: an empty row then has a softmax, which the last
    step clears, and no NaN arises in either direction.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-1).masked_fill(~mask, 0.0)
