"""The Transformer (Vaswani et al. 2017, "Attention Is All You Need")."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.attention.observing import current_observer
from transformer_mt.attention.positions import EmbeddingPosition
from transformer_mt.attention.steps import Step
from transformer_mt.dropout import Dropout
from transformer_mt.models.blocks import Layers
from transformer_mt.models.layers import DecoderLayer, EncoderLayer, LayerFactory
from transformer_mt.models.seq2seq import Memory, Seq2Seq, State, States, Surroundings
from transformer_mt.models.stepping import DecoderState, DecoderStep, SharedState
from transformer_mt.tokenizer.symbols import PAD


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
        return DecoderState(tuple(layer.start(memory) for layer in self.decoder), 0, self._step(memory))

    @override
    def read(self, target: Int[Tensor, "B T"], state: State) -> tuple[States, State]:
        """Padding at the end of target rows needs no mask in attention: causality hides it from every real token."""
        assert isinstance(state, DecoderState | SharedState)
        mask = target != PAD
        x = self.target_embedding(target, start=state.length)
        if target.shape[1] == 1 and state.step is not None and not is_watched():
            x, shared = state.step(x, state.shared())
            return self.decoder_norm(x, mask), shared
        layers = []
        for layer, layer_state in zip(self.decoder, state.alone().layers, strict=True):
            x, layer_state = layer(x, mask, layer_state)
            layers.append(layer_state)
        state = DecoderState(tuple(layers), state.length + target.shape[1], state.step)
        return self.decoder_norm(x, mask), state

    @override
    def layer_logits(self, target: Int[Tensor, "B T"], state: State) -> list[Float[Tensor, "B T V"]]:
        """The final norm and the output matrix applied after every layer (the logit lens, nostalgebraist 2020)."""
        assert isinstance(state, DecoderState | SharedState)
        mask = target != PAD
        x = self.target_embedding(target, start=state.length)
        logits = []
        for layer, layer_state in zip(self.decoder, state.alone().layers, strict=True):
            x, _ = layer(x, mask, layer_state)
            logits.append(self.output(self.decoder_norm(x, mask)))
        return logits

    def _step(self, memory: Memory) -> DecoderStep | None:
        """How a search goes on after this memory; None in training, and where a layer needs more than a step gives."""
        if self.training or torch.is_grad_enabled() or not DecoderStep.can_stand_for(list(self.decoder)):
            return None
        # A source without any token is nothing that a softmax could be taken over.
        return DecoderStep(list(self.decoder)) if memory.mask.any(dim=1).all() else None


def is_watched() -> bool:
    """Whether somebody looks at attention or at gradients, which a step of a search does not show."""
    return torch.is_grad_enabled() or current_observer() is not None


def _initialise(module: nn.Module) -> None:
    """Embeddings with variance 1/D, so that √D e_i has variance one; matrices after Glorot and Bengio (2010)."""
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
