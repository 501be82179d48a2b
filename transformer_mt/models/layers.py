"""The layers of a Transformer (Vaswani et al. 2017, §3.1)."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Int
from torch import Tensor, nn

from transformer_mt.attention.multihead import Attention, KeyValues
from transformer_mt.attention.shapes import Rows, States
from transformer_mt.models.blocks import Norm, Residual
from transformer_mt.models.hypotheses import Hypotheses
from transformer_mt.models.positionwise import FeedForward
from transformer_mt.models.seq2seq import Memory, TokenMask


@dataclass(frozen=True)
class LayerFactory:
    """Makes the parts of a layer, each time with new weights."""

    attention: Callable[[str], Attention]
    feed_forward: Callable[[], FeedForward]
    residual: Callable[[], Residual]
    norm: Callable[[], Norm]


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each in a residual."""

    def __init__(self, factory: LayerFactory) -> None:
        super().__init__()
        self.self_attention = factory.attention("encoder")
        self.feed_forward = factory.feed_forward()
        self.self_residual = factory.residual()
        self.feed_forward_residual = factory.residual()

    def forward(self, x: States, mask: TokenMask) -> States:
        """Apply the layer to the source. `mask` is True at real tokens."""
        x, h = self.self_residual.enter(x, mask)
        x = self.self_residual.after(x, self.self_attention(h, self.self_attention.key_values(h, mask)), mask)
        x, h = self.feed_forward_residual.enter(x, mask)
        return self.feed_forward_residual.after(x, self.feed_forward(h, mask), mask)


@dataclass(frozen=True)
class LayerState:
    """A decoder layer's keys and values: target tokens per hypothesis (None: none yet), memory per sentence."""

    target: KeyValues | None
    memory: KeyValues

    def select(self, rows: Rows, left: Int[Tensor, " B2"] | None) -> "LayerState":
        """Select the target of the hypotheses `rows`, and the memory of the sentences `left` (None: all)."""
        memory = self.memory if left is None else self.memory.select(left)
        return LayerState(self.target and self.target.select(rows), memory)


class DecoderLayer(nn.Module):
    """Causal self-attention, then attention to the memory, then a feed-forward network, each in a residual."""

    def __init__(self, factory: LayerFactory) -> None:
        super().__init__()
        self.self_attention = factory.attention("decoder")
        self.cross_attention = factory.attention("cross")
        self.feed_forward = factory.feed_forward()
        self.self_residual = factory.residual()
        self.cross_residual = factory.residual()
        self.feed_forward_residual = factory.residual()

    def start(self, memory: Memory) -> LayerState:
        """The state before the first target token: the memory's keys and values, projected once."""
        return LayerState(None, self.cross_attention.key_values(memory.states, memory.mask))

    def forward(
        self, x: States, mask: TokenMask, state: LayerState, hypotheses: Hypotheses
    ) -> tuple[States, LayerState]:
        """Apply the layer to new target tokens. Returns the state that includes them. `mask` is True at real tokens."""
        x, h = self.self_residual.enter(x, mask)
        new = self.self_attention.key_values(h)
        target = state.target.append(new) if state.target else new
        x = self.self_residual.after(x, self.self_attention(h, target), mask)
        x, h = self.cross_residual.enter(x, mask)
        y = self.cross_attention(hypotheses.by_sentence(h), state.memory)
        x = self.cross_residual.after(x, hypotheses.by_hypothesis(y), mask)
        x, h = self.feed_forward_residual.enter(x, mask)
        x = self.feed_forward_residual.after(x, self.feed_forward(h, mask), mask)
        return x, LayerState(target, state.memory)
