"""The Transformer (Vaswani et al. 2017, "Attention Is All You Need")."""

from dataclasses import dataclass, replace
from typing import Self

from torch import nn
from typing_extensions import override

from transformer_mt.attention.shapes import Logits, Rows, Source, States, Target
from transformer_mt.models.blocks import Layers
from transformer_mt.models.hypotheses import Hypotheses
from transformer_mt.models.layers import DecoderLayer, EncoderLayer, LayerFactory, LayerState
from transformer_mt.models.positionwise import Embeddings
from transformer_mt.models.seq2seq import Memory, Seq2Seq, Stacks, State
from transformer_mt.tokenizer.symbols import PAD


@dataclass(frozen=True)
class DecoderState:
    """The state of every decoder layer, the number of target tokens read, and the sentences of the hypotheses."""

    layers: tuple[LayerState, ...]
    length: int
    hypotheses: Hypotheses

    def select(self, rows: Rows) -> Self:
        """Select the hypotheses `rows`. The memory is copied only if a sentence has no hypothesis left."""
        hypotheses, left = self.hypotheses.select(rows)
        return replace(self, layers=tuple(layer.select(rows, left) for layer in self.layers), hypotheses=hypotheses)


class Transformer(Seq2Seq):
    """The encoder–decoder Transformer: two stacks of layers, and logits h W + b.

    Vaswani et al. 2017, §3. Unlike there, the default is to normalise before each layer and at the end of each stack
    (Xiong et al. 2020).
    """

    def __init__(
        self, parts: LayerFactory, embeddings: Embeddings, *, encoder_layers: int, decoder_layers: int, max_length: int
    ) -> None:
        super().__init__()
        self.max_length = max_length
        self.source_embedding = embeddings.source
        self.target_embedding = embeddings.target
        self.encoder = Layers(EncoderLayer(parts) for _ in range(encoder_layers))
        self.encoder_norm = parts.norm()
        self.decoder = Layers(DecoderLayer(parts) for _ in range(decoder_layers))
        self.decoder_norm = parts.norm()
        self.apply(_initialise)
        self.output = embeddings.output()

    @override
    def attention_stacks(self) -> Stacks:
        return {
            "encoder": [layer.self_attention for layer in self.encoder],
            "decoder": [layer.self_attention for layer in self.decoder],
            "cross": [layer.cross_attention for layer in self.decoder],
        }

    def encode(self, source: Source) -> Memory:
        """Return the states of the source tokens."""
        mask = source != PAD
        x = self.source_embedding(source)
        for layer in self.encoder:
            x = layer(x, mask)
        return Memory(self.encoder_norm(x, mask), mask)

    @override
    def start(self, source: Source) -> DecoderState:
        memory = self.encode(source)
        return DecoderState(tuple(layer.start(memory) for layer in self.decoder), 0, Hypotheses(len(source)))

    @override
    def read(self, target: Target, state: State) -> tuple[States, DecoderState]:
        """Needs no attention mask for padding at the end of target rows: causality hides it from real tokens."""
        states, state = self.read_by_layer(target, state)
        return self.decoder_norm(states[-1], target != PAD), state

    def read_by_layer(self, target: Target, state: State) -> tuple[list[States], DecoderState]:
        """Return the states after every decoder layer, first layer first, and the next state."""
        assert isinstance(state, DecoderState)
        mask = target != PAD
        x = self.target_embedding(target, start=state.length)
        states = []
        layers = []
        for layer, layer_state in zip(self.decoder, state.layers, strict=True):
            x, layer_state = layer(x, mask, layer_state, state.hypotheses)
            states.append(x)
            layers.append(layer_state)
        return states, replace(state, layers=tuple(layers), length=state.length + target.shape[1])

    @override
    def layer_logits(self, target: Target, state: State) -> list[Logits]:
        """Apply the final norm and the output matrix after every layer (the logit lens, nostalgebraist 2020)."""
        states, _ = self.read_by_layer(target, state)
        return [self.output(self.decoder_norm(x, target != PAD)) for x in states]


def _initialise(module: nn.Module) -> None:
    """Initialise matrices after Glorot and Bengio (2010)."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
