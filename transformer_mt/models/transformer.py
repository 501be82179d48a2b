"""The Transformer (Vaswani et al. 2017, "Attention Is All You Need")."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.attention.build import AttentionFactory
from transformer_mt.attention.multihead import KeyValues
from transformer_mt.attention.observing import current_observer
from transformer_mt.attention.positions import EmbeddingPosition
from transformer_mt.attention.steps import Step
from transformer_mt.dropout import Dropout
from transformer_mt.models.blocks import Layers, Norm, Residual
from transformer_mt.models.hypotheses import Hypotheses, Seating
from transformer_mt.models.seq2seq import Mask, Memory, Seq2Seq, State, States, Surroundings
from transformer_mt.tokenizer import PAD


class Embedding(nn.Module):
    """x_i = √D e_i, then the position encoding, then dropout (Vaswani et al. 2017, §3.4, §3.5, §5.4)."""

    def __init__(self, table: nn.Embedding, position: EmbeddingPosition, *, dropout: float) -> None:
        super().__init__()
        self.table = table
        self.position = position
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Int[Tensor, "B N"], *, start: int = 0) -> States:
        """Embed tokens that stand at the positions start, start + 1, …"""
        scaled = self.table(tokens) * math.sqrt(self.table.embedding_dim)
        return self.dropout(self.position.embed(scaled, start=start))

    def explain(self, token: int, *, number: int) -> list[Step]:
        """The steps to the state of a token at this position, from 0."""
        scaled = self.table.weight[token] * math.sqrt(self.table.embedding_dim)
        step = Step("embedding", "the embedding of the token that the row reads, scaled", "√D e", "", scaled)
        return [step, *self.position.explain(scaled, number=number)]


class Embeddings(NamedTuple):
    """The embeddings of source and target, and whether the output matrix is that of the target's."""

    source: Embedding
    target: Embedding
    tie_output: bool


@dataclass(frozen=True)
class LayerFactory:
    """Makes what every layer consists of, each time with weights of its own."""

    attention: AttentionFactory
    feed_forward: Callable[[], nn.Module]
    residual: Callable[[], Residual]
    norm: Callable[[], Norm]


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each in a residual."""

    def __init__(self, factory: LayerFactory) -> None:
        super().__init__()
        self.self_attention = factory.attention.self_attention(causal=False)
        self.feed_forward = factory.feed_forward()
        self.self_residual, self.feed_forward_residual = factory.residual(), factory.residual()

    def forward(self, x: States, mask: Mask) -> States:
        """One layer over the source; mask is True at real tokens."""
        h = self.self_residual.before(x, mask)
        x = self.self_residual.after(x, self.self_attention(h, self.self_attention.key_values(h, mask)), mask)
        h = self.feed_forward_residual.before(x, mask)
        return self.feed_forward_residual.after(x, self.feed_forward(h), mask)


@dataclass(frozen=True, slots=True)
class LayerState:
    """What a decoder layer can attend to: the target tokens it has read (None: none yet) and the memory."""

    target: KeyValues | None
    memory: KeyValues

    def select(self, rows: Int[Tensor, " N"]) -> Self:
        """The state of the hypotheses `rows`."""
        return type(self)(self.target and self.target.select(rows), self.memory.select(rows))

    def pick(self, sentences: Int[Tensor, " N"], positions: Int[Tensor, "N T"]) -> Self:
        """The state of `sentences`, and of what they have read that at their `positions`."""
        return type(self)(self.target and self.target.pick(sentences, positions), self.memory.select(sentences))


class DecoderLayer(nn.Module):
    """Causal self-attention, then attention to the memory, then a feed-forward network, each in a residual."""

    def __init__(self, factory: LayerFactory) -> None:
        super().__init__()
        self.self_attention = factory.attention.self_attention(causal=True)
        self.cross_attention = factory.attention.cross_attention()
        self.feed_forward = factory.feed_forward()
        self.self_residual, self.cross_residual = factory.residual(), factory.residual()
        self.feed_forward_residual = factory.residual()

    def start(self, memory: Memory) -> LayerState:
        """The state before the first target token: the memory's keys and values, projected once."""
        return LayerState(None, self.cross_attention.key_values(memory.states, memory.mask))

    def forward(self, x: States, mask: Mask, state: LayerState, hypotheses: Hypotheses) -> tuple[States, LayerState]:
        """One layer over new target tokens, and the state that includes them; mask is True at real tokens.

        In both attentions the hypotheses of a sentence are queries side by side.
        """
        together, apart = hypotheses.seating.together, hypotheses.seating.apart
        h = together(self.self_residual.before(x, mask))
        new = self.self_attention.key_values(h)
        target = new if state.target is None else state.target.append(new)
        y = self.self_attention(h, target.among(hypotheses.neighbours))
        x = self.self_residual.after(x, apart(y), mask)
        h = together(self.cross_residual.before(x, mask))
        x = self.cross_residual.after(x, apart(self.cross_attention(h, state.memory)), mask)
        h = self.feed_forward_residual.before(x, mask)
        x = self.feed_forward_residual.after(x, self.feed_forward(h), mask)
        return x, LayerState(target, state.memory)


# Of more hypotheses a sentence, each attends to little of what the others have read.
WIDEST = 16
# A state is swept when no more than this part of its sentences is left, and when it has twice as many places as after
# the last time, at least so many.
PART_LEFT, LEAST_PLACES = 0.8, 32


@dataclass(frozen=True, slots=True)
class DecoderState:
    """The state of every decoder layer, how many target tokens they have read, and which hypotheses these make up.

    Where no layer of the decoder asks in what order its keys stand, hypotheses of a sentence share what was read, up to
    `room` places of it. In other models each is a sentence of its own: `room` is None.
    """

    layers: tuple[LayerState, ...]
    length: int
    hypotheses: Hypotheses
    room: int | None

    def select(self, rows: Int[Tensor, " N"]) -> "DecoderState":
        """The state of the hypotheses `rows`."""
        if self.room is None:
            alone = Hypotheses(Seating.start(len(rows), device=rows.device))
            return replace(self, layers=tuple(layer.select(rows) for layer in self.layers), hypotheses=alone)
        hypotheses = self.hypotheses.select(rows, places=self.places)
        if hypotheses.seating.width > WIDEST:
            return self.alone().select(rows)
        return replace(self, hypotheses=hypotheses).swept()

    @property
    def places(self) -> int:
        """How many places a sentence has."""
        target = self.layers[0].target
        return target.length if target else 0

    def fit_for(self, target: Int[Tensor, "N T"]) -> "DecoderState":
        """This state, or one in which hypotheses are alone: who reads several tokens, or is watched, shares nothing."""
        shares = self.hypotheses.shares
        return self.alone() if shares and (target.shape[1] > 1 or current_observer()) else self

    def alone(self) -> "DecoderState":
        """The same where every hypothesis has its own copy of what it has read, in order."""
        sentence, positions = self.hypotheses.seating.sentence, self.hypotheses.positions(places=self.places)
        layers = tuple(layer.pick(sentence, positions) for layer in self.layers)
        alone = Hypotheses(Seating.start(len(sentence), device=sentence.device))
        return DecoderState(layers, self.length, alone, room=None)

    def swept(self) -> "DecoderState":
        """The same without what no hypothesis needs any more, if that is much."""
        assert self.room is not None
        seating = self.hypotheses.seating
        if self.places < self.room and seating.left > PART_LEFT * seating.sentences:
            return self
        hypotheses, left, positions = self.hypotheses.sweep(places=self.places)
        layers = tuple(layer.pick(left, positions) for layer in self.layers)
        return DecoderState(layers, self.length, hypotheses, max(LEAST_PLACES, 2 * positions.shape[1]))


class Transformer(Seq2Seq):
    """The encoder–decoder Transformer: two stacks of layers, and logits h W + b.

    Vaswani et al. 2017, §3; where we differ by default: norms before the layers, and one at the end of each stack
    (Xiong et al. 2020).
    """

    def __init__(
        self, parts: LayerFactory, embeddings: Embeddings, *, encoder_layers: int, decoder_layers: int, max_length: int
    ) -> None:
        super().__init__()
        self.max_length = max_length
        self.source_embedding, self.target_embedding, tie_output = embeddings
        self.encoder = Layers(EncoderLayer(parts) for _ in range(encoder_layers))
        self.encoder_norm = parts.norm()
        self.decoder = Layers(DecoderLayer(parts) for _ in range(decoder_layers))
        self.decoder_norm = parts.norm()
        self.apply(_initialise)
        vocabulary, width = self.target_embedding.table.weight.shape
        self.output = nn.Linear(width, vocabulary)
        nn.init.normal_(self.output.weight, std=width**-0.5)
        nn.init.zeros_(self.output.bias)
        if tie_output:
            self.output.weight = self.target_embedding.table.weight

    @override
    def attention_stacks(self) -> dict[str, list[nn.Module]]:
        return {
            "encoder": [layer.self_attention for layer in self.encoder],
            "decoder": [layer.self_attention for layer in self.decoder],
            "cross": [layer.cross_attention for layer in self.decoder],
        }

    @override
    def surroundings(self) -> dict[str, list[Surroundings]]:
        return {
            "encoder": [layer.self_residual for layer in self.encoder],
            "decoder": [layer.self_residual for layer in self.decoder],
            "cross": [layer.cross_residual for layer in self.decoder],
        }

    @override
    def explain_embedding(self, stack: str, token: int, *, number: int) -> list[Step]:
        embeddings = {"encoder": self.source_embedding, "decoder": self.target_embedding}
        return embeddings[stack].explain(token, number=number) if stack in embeddings else []

    def encode(self, source: Int[Tensor, "B S"]) -> Memory:
        """The states of the source tokens."""
        mask = source != PAD
        x = self.source_embedding(source)
        for layer in self.encoder:
            x = layer(x, mask)
        return Memory(self.encoder_norm(x, mask), mask)

    @override
    def start(self, source: Int[Tensor, "B S"]) -> DecoderState:
        memory = self.encode(source)
        hypotheses = Hypotheses(Seating.start(len(source), device=source.device))
        room = LEAST_PLACES if all(layer.self_attention.is_unordered for layer in self.decoder) else None
        return DecoderState(tuple(layer.start(memory) for layer in self.decoder), 0, hypotheses, room)

    @override
    def read(self, target: Int[Tensor, "B T"], state: State) -> tuple[States, DecoderState]:
        """Padding at the end of target rows needs no mask in attention: causality hides it from every real token."""
        assert isinstance(state, DecoderState)
        state = state.fit_for(target)
        mask = target != PAD
        x = self.target_embedding(target, start=state.length)
        layers = []
        for layer, layer_state in zip(self.decoder, state.layers, strict=True):
            x, layer_state = layer(x, mask, layer_state, state.hypotheses)
            layers.append(layer_state)
        length = state.length + target.shape[1]
        state = DecoderState(tuple(layers), length, state.hypotheses.extend(), state.room)
        return self.decoder_norm(x, mask), state

    @override
    def layer_logits(self, target: Int[Tensor, "B T"], state: State) -> list[Float[Tensor, "B T V"]]:
        """The final norm and the output matrix applied after every layer (the logit lens, nostalgebraist 2020)."""
        assert isinstance(state, DecoderState)
        state = state.fit_for(target)
        mask = target != PAD
        x = self.target_embedding(target, start=state.length)
        logits = []
        for layer, layer_state in zip(self.decoder, state.layers, strict=True):
            x, _ = layer(x, mask, layer_state, state.hypotheses)
            logits.append(self.output(self.decoder_norm(x, mask)))
        return logits


def _initialise(module: nn.Module) -> None:
    """Embeddings with variance 1/D, so that √D e_i has variance one; matrices after Glorot and Bengio (2010)."""
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
