"""A decoder's step in a search: a token more for every hypothesis, in as few calls of torch as that takes.

It computes what the layers themselves compute, with their weights, where every target token attends to all before it in
whatever order they stand. Hypotheses of a sentence share what was read; what a layer makes of a token in self-attention
is one product; and attention is two plain products for all heads of all sentences, which for a few queries a sentence
take a fraction of the time of a fused kernel. For several queries a sentence, a product reads its right factor fastest
where that is turned in memory too; for a single one it makes no difference, and a key is written where it lies at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.attention.multihead import KeyValues, MultiHeadAttention
from transformer_mt.attention.projections import Independent, merge_heads
from transformer_mt.device import as_computed
from transformer_mt.models.blocks import LayerNorm, Norm, PostNorm, PreNorm, ReLU, Residual, has_hooks
from transformer_mt.models.hypotheses import Hypotheses, Seating
from transformer_mt.models.layers import DecoderLayer, LayerState
from transformer_mt.models.seq2seq import States

# Of more hypotheses a sentence, each attends to little of what the others have read.
WIDEST = 16
# A state is swept when no more than this part of its sentences is left, and when it has twice as many places as after
# the last time, at least so many.
PART_LEFT, LEAST_PLACES = 0.8, 64

TurnedKeys = Float[Tensor, "B Hk dk K"]
KeptValues = Float[Tensor, "B H K d"]
# A row for each hypothesis.
Rows = Float[Tensor, "N D"]
# What is added to scores, −∞ where a hypothesis does not attend; None where each attends to everything.
Hidden = Float[Tensor, "_ 1 _ _"] | None


class Kept:
    """Keys and values of a layer, in memory for more places a sentence than are used.

    The keys are `turned` in memory where a key's features do not lie side by side.
    """

    def __init__(self, keys: TurnedKeys, values: KeptValues) -> None:
        self.keys, self.values = keys, values
        # The same with all heads of all sentences as one batch.
        self.batched_keys, self.batched_values = keys.flatten(0, 1), values.flatten(0, 1)

    @classmethod
    def of(cls, key_values: KeyValues, *, turned: bool) -> "Kept":
        """A copy of keys and values of a layer."""
        keys, values = key_values.keys.transpose(2, 3), key_values.values
        return cls.with_room(keys, values, size=key_values.length, turned=turned)

    @classmethod
    def with_room(cls, keys: TurnedKeys, values: KeptValues, *, size: int, turned: bool) -> "Kept":
        """A copy and, behind its places, so many that those are `size` in all, of any value."""
        batch, heads, width, places = keys.shape
        shape = (batch, heads, width, size) if turned else (batch, heads, size, width)
        memory = keys.new_empty(shape) if turned else keys.new_empty(shape).transpose(2, 3)
        kept = cls(memory, values.new_empty(*values.shape[:2], size, values.shape[3]))
        kept.keys[..., :places] = keys
        kept.values[:, :, :places] = values
        return kept

    @property
    def length(self) -> int:
        """How many places there are in memory."""
        return self.keys.shape[3]

    @property
    def turned(self) -> bool:
        """Whether the places of a feature lie side by side, not the features of a place."""
        return self.keys.stride(3) == 1

    def roomier(self, places: int, *, size: int, turned: bool) -> "Kept":
        """The same places, in memory for `size` of them."""
        return Kept.with_room(self.keys[..., :places], self.values[:, :, :places], size=size, turned=turned)

    def write(self, start: int, keys: Float[Tensor, "B W _"], values: Float[Tensor, "B W _"]) -> None:
        """Put what the seats of every sentence have read into places from `start` on."""
        batch, width, _ = keys.shape
        turned = keys.view(batch, width, *self.keys.shape[1:3]).permute(0, 2, 3, 1)  # B W H d -> B H d W
        self.keys.narrow(3, start, width).copy_(turned)
        _, heads, _, features = self.values.shape
        self.values.narrow(2, start, width).copy_(values.view(batch, width, heads, features).transpose(1, 2))

    def pick(self, sentences: Int[Tensor, " N"], positions: Int[Tensor, "N L"], *, size: int) -> "Kept":
        """Those of `sentences`, and of each only what stands at its `positions`, in their order, with room."""
        rows = sentences[:, None]
        keys = self.keys[rows, :, :, positions].permute(0, 2, 3, 1)  # N L H d -> N H d L
        values = self.values[rows, :, positions].transpose(1, 2)
        return Kept.with_room(keys, values, size=size, turned=self.turned)

    def rows(self, sentences: Int[Tensor, " N"]) -> "Kept":
        """Those of `sentences`."""
        return Kept(self.keys[sentences], self.values[sentences])

    def as_key_values(self, mask: Bool[Tensor, "B K"] | None = None) -> KeyValues:
        """As the layers have them."""
        return KeyValues(self.keys.transpose(2, 3), self.values, mask)


class StepAttention:
    """An attention layer, for one query a hypothesis; in self-attention for its key and its value too."""

    def __init__(self, attention: MultiHeadAttention, *, to_itself: bool) -> None:
        self.attention, self.to_itself = attention, to_itself
        self.scale, sizes = attention.score.scale, attention.projections.sizes
        self.heads, self.key_width, self.value_width = sizes.heads, sizes.key_width, sizes.value_width
        self.output = plain_linear(attention.output_projection)
        self.packed: Tensor | None = None
        self.key_heads = 1  # one for all heads, where these have no projections of their own
        if isinstance(attention.projections, Independent):
            self.key_heads = self.heads
            self.packed = packed(attention, attention.projections, to_itself=to_itself)

    def nothing(self, like: Float[Tensor, "B _ _ _"]) -> Kept:
        """The keys and values of no position."""
        keys = like.new_empty(len(like), self.key_heads, 0, self.key_width).transpose(2, 3)
        return Kept(keys, like.new_empty(len(like), self.heads, 0, self.value_width))

    def project(self, h: Rows) -> Float[Tensor, "N _"]:
        """The queries, scaled, and in self-attention the keys and values beside them, those of all heads."""
        if self.packed is not None:
            return F.linear(h, self.packed)
        projections, states = self.attention.projections, h[None]
        parts = [projections.queries(states) * (self.scale or 1.0)]
        if self.to_itself:
            parts += [projections.keys(states), self.attention.values(states)]
        return torch.cat([merge_heads(part)[0] for part in parts], dim=1)

    def write(self, projected: Float[Tensor, "B W _"], kept: Kept, start: int) -> None:
        """Keep what stands beside the queries."""
        first = self.heads * self.key_width
        second = first + self.key_heads * self.key_width
        kept.write(start, projected[:, :, first:second], projected[:, :, second:])

    def attend(
        self, projected: Float[Tensor, "B W _"], kept: Kept, places: int, hidden: Hidden
    ) -> Float[Tensor, "B W _"]:
        """softmax(e(Q, K)) V over the first places, the heads of a seat side by side."""
        batch, width, _ = projected.shape
        queries = projected.narrow(2, 0, self.heads * self.key_width)
        queries = queries.view(batch, width, self.heads, self.key_width).transpose(1, 2)  # B W Hd -> B H W d
        keys = kept.batched_keys.narrow(2, 0, places)
        if self.scale is None:
            scores = self.attention.score(queries, kept.keys[..., :places].transpose(2, 3)).contiguous()
        else:
            # Where all heads share their keys, their queries stand one below the other.
            scores = torch.bmm(queries.reshape(len(keys), -1, self.key_width), keys)
        if hidden is not None:
            scores = scores.view(batch, self.heads, width, places) + hidden
        weights = scores.view(batch * self.heads, width, places).softmax(dim=2)
        heads = torch.bmm(weights, kept.batched_values.narrow(1, 0, places))
        heads = heads.view(batch, self.heads, width, self.value_width).transpose(1, 2)  # BH W d -> B W H d
        return heads.reshape(batch, width, self.heads * self.value_width)


class StepLayer:
    """A decoder layer, for one token a hypothesis."""

    def __init__(self, layer: DecoderLayer) -> None:
        assert isinstance(layer.self_attention, MultiHeadAttention)
        assert isinstance(layer.cross_attention, MultiHeadAttention)
        self.own = StepAttention(layer.self_attention, to_itself=True)
        self.cross = StepAttention(layer.cross_attention, to_itself=False)
        self.before_own, self.after_own = plain_residual(layer.self_residual)
        self.before_cross, self.after_cross = plain_residual(layer.cross_residual)
        self.before_feed_forward, self.after_feed_forward = plain_residual(layer.feed_forward_residual)
        self.feed_forward = plain_feed_forward(layer.feed_forward)

    def __call__(self, x: Rows, target: Kept, source: Kept, now: "Moment") -> Rows:
        """As `DecoderLayer.forward` has it; keys and values of the new tokens are written into `target`."""
        own, cross, seating = self.own, self.cross, now.seating
        projected = seating.together(own.project(self.before_own(x)))
        own.write(projected, target, now.start)
        heads = own.attend(projected, target, now.end, now.hidden)
        x = self.after_own(x, own.output(seating.apart(heads)))
        projected = seating.together(cross.project(self.before_cross(x)))
        heads = cross.attend(projected, source, source.length, now.hidden_source)
        x = self.after_cross(x, cross.output(seating.apart(heads)))
        return self.after_feed_forward(x, self.feed_forward(self.before_feed_forward(x)))


@dataclass(frozen=True, slots=True)
class Moment:
    """What all layers need to know of a step: where new tokens stand, and what hypotheses do not see."""

    seating: Seating
    start: int
    end: int
    hidden: Hidden
    hidden_source: Hidden


# Modules without what a call of a module costs beside its work, as functions of rows. Weights are those of now.


def packed(attention: MultiHeadAttention, projections: Independent, *, to_itself: bool) -> Tensor:
    """The matrix that makes scaled queries and, in self-attention, keys and values."""
    parts = [projections.query_projection.weight]
    if to_itself:
        parts += [projections.key_projection.weight, attention.value_projection.weight]
    matrix = torch.cat(parts)
    matrix[: len(parts[0])] *= attention.score.scale or 1.0
    return as_computed(matrix)[0]


def plain_linear(linear: nn.Linear) -> Callable[[Rows], Rows]:
    """x W + b; with hooks, by a call of the module, which a head that is switched off needs."""
    if has_hooks(linear):
        return lambda x: linear(x[None])[0]
    weight, bias = linear.weight, linear.bias
    return lambda x: F.linear(x, weight, bias)


def plain_norm(norm: Norm) -> Callable[[Rows], Rows]:
    """The norm of rows that are all real tokens."""
    if not isinstance(norm, LayerNorm):
        return lambda x: norm(x[None], x.new_ones(1, len(x), dtype=torch.bool))[0]
    shape, weight, bias = (norm.width,), norm.weight, norm.bias
    return lambda x: torch.layer_norm(x, shape, weight, bias)


def plain_residual(residual: Residual) -> tuple[Callable[[Rows], Rows], Callable[[Rows, Rows], Rows]]:
    """What stands before a layer and after it, without dropout."""
    norm = plain_norm(residual.norm)
    if isinstance(residual, PreNorm):
        return norm, torch.add
    assert isinstance(residual, PostNorm)
    return (lambda x: x), (lambda x, y: norm(x + y))


def plain_feed_forward(network: nn.Module) -> Callable[[Rows], Rows]:
    """The network; ReLU in place."""
    if not isinstance(network, ReLU):
        return lambda x: network(x[None])[0]
    first, second = (plain_linear(part) for part in network if isinstance(part, nn.Linear))
    return lambda x: second(first(x).relu_())


class DecoderStep:
    """The layers of a decoder, for one token a hypothesis, with their weights as they are now."""

    def __init__(self, layers: Sequence[DecoderLayer]) -> None:
        self.layers = [StepLayer(layer) for layer in layers]

    @staticmethod
    def can_stand_for(layers: Sequence[DecoderLayer]) -> bool:
        """Whether all that these layers attend to may stand in any order, and has keys at all."""
        attentions = [part for layer in layers for part in (layer.self_attention, layer.cross_attention)]
        return all(isinstance(part, MultiHeadAttention) and part.is_unordered for part in attentions)

    def __call__(self, x: States, state: "SharedState") -> tuple[States, "SharedState"]:
        """The layers over the new tokens of the hypotheses, one each, and the state that includes them."""
        state = state.with_room()
        hypotheses, kept, start = state.hypotheses, state.kept, state.places
        end = start + hypotheses.seating.width
        neighbours = hypotheses.neighbours
        hidden = None if neighbours is None else hidden_where(~neighbours[:, None], like=x)
        now = Moment(hypotheses.seating, start, end, hidden, state.hidden_source)
        rows = x[:, 0]
        for layer, target, source in zip(self.layers, kept.target, state.source, strict=True):
            rows = layer(rows, target, source, now)
        kept.taken = end
        following = replace(state, length=state.length + 1, places=end, hypotheses=hypotheses.extend())
        return rows[:, None], following


def hidden_where(hidden: Bool[Tensor, "..."], *, like: Tensor) -> Float[Tensor, "..."]:
    """What is added to scores: −∞ where something is hidden, zero elsewhere."""
    return like.new_zeros(hidden.shape).masked_fill_(hidden, -torch.inf)


@dataclass(frozen=True, slots=True)
class DecoderState:
    """The state of every decoder layer, how many target tokens they have read, and how a search goes on, if it can."""

    layers: tuple[LayerState, ...]
    length: int
    step: DecoderStep | None

    def select(self, rows: Int[Tensor, " N"]) -> "DecoderState | SharedState":
        """The state of the hypotheses `rows`."""
        return self.copied(rows) if self.step is None else self.shared().select(rows)

    def copied(self, rows: Int[Tensor, " N"]) -> "DecoderState":
        """The same with a copy of what was read for every row."""
        return replace(self, layers=tuple(layer.select(rows) for layer in self.layers))

    def alone(self) -> "DecoderState":
        """The same: every hypothesis has its own."""
        return self

    def shared(self) -> "SharedState":
        """The same, ready to be shared."""
        assert self.step is not None
        source = tuple(Kept.of(layer.memory, turned=True) for layer in self.layers)
        mask = self.layers[0].memory.mask
        assert mask is not None
        target = [
            layer.own.nothing(source[0].values) if state.target is None else Kept.of(state.target, turned=False)
            for layer, state in zip(self.step.layers, self.layers, strict=True)
        ]
        hypotheses = Hypotheses(Seating.start(len(mask), device=mask.device))
        hidden = None if mask.all() else hidden_where(~mask[:, None, None], like=source[0].values)
        kept = KeptTarget(target, taken=self.length)
        return SharedState(self.step, source, mask, hidden, kept, self.length, self.length, hypotheses, LEAST_PLACES)


@dataclass(eq=False, slots=True)
class KeptTarget:
    """Keys and values of the target in every layer, in memory of which the first `taken` places are somebody's."""

    target: list[Kept]
    taken: int


@dataclass(frozen=True, slots=True)
class SharedState:
    """What `DecoderState` is, where the hypotheses of a sentence share what was read.

    A sentence has so many `places`, which `hypotheses` lead through, and when there are `room` of them, it is time to
    look which are still needed.
    """

    step: DecoderStep
    source: tuple[Kept, ...]
    mask: Bool[Tensor, "B S"]
    hidden_source: Hidden
    kept: KeptTarget
    places: int
    length: int
    hypotheses: Hypotheses
    room: int

    def select(self, rows: Int[Tensor, " N"]) -> "DecoderState | SharedState":
        """The state of the hypotheses `rows`, for which nothing is copied."""
        hypotheses = self.hypotheses.select(rows, places=self.places)
        if hypotheses.seating.width > WIDEST:
            return self.alone().copied(rows)
        seating = hypotheses.seating
        state = replace(self, hypotheses=hypotheses)
        is_full = self.places >= self.room or seating.left <= PART_LEFT * seating.sentences
        return state.swept() if is_full else state

    def shared(self) -> "SharedState":
        """The same: it is shared already."""
        return self

    def with_room(self) -> "SharedState":
        """The same, with memory for another step; who comes second to the same memory gets another."""
        width, memory = self.hypotheses.seating.width, self.kept
        end, first = self.places + width, memory.target[0]
        queries = width * first.values.shape[1] // first.keys.shape[1]  # of a sentence, to the same keys
        turned = first.turned or queries > 1
        if memory.taken == self.places and first.length >= end and first.turned == turned:
            return self
        size = max(LEAST_PLACES, 2 * end)
        roomier = [kept.roomier(self.places, size=size, turned=turned) for kept in memory.target]
        return replace(self, kept=KeptTarget(roomier, taken=self.places))

    def alone(self) -> DecoderState:
        """The same where every hypothesis has its own copy of what it has read, in order."""
        sentence, positions = self.hypotheses.seating.sentence, self.hypotheses.positions(places=self.places)
        picked = (kept.pick(sentence, positions, size=self.length).as_key_values() for kept in self.kept.target)
        memories = (kept.as_key_values(self.mask).select(sentence) for kept in self.source)
        layers = tuple(
            LayerState(target if target.length else None, memory)
            for target, memory in zip(picked, memories, strict=True)
        )
        return DecoderState(layers, self.length, self.step)

    def swept(self) -> "SharedState":
        """The same without what no hypothesis needs any more."""
        hypotheses, left, positions = self.hypotheses.sweep(places=self.places)
        places, some = positions.shape[1], len(left) < len(self.mask)
        room = max(LEAST_PLACES, 2 * places)
        target = [kept.pick(left, positions, size=room) for kept in self.kept.target]
        return replace(
            self,
            source=tuple(kept.rows(left) for kept in self.source) if some else self.source,
            mask=self.mask[left],
            hidden_source=None if self.hidden_source is None else self.hidden_source[left],
            kept=KeptTarget(target, taken=places),
            places=places,
            hypotheses=hypotheses,
            room=room,
        )
