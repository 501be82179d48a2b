"""From the configuration to the attention layers of a model: the one place where score, position and graph meet."""

from typing import ClassVar

from transformer_mt.attention.graphs import Causal, Complete, build_graph
from transformer_mt.attention.linear import LinearAttention
from transformer_mt.attention.multihead import Attention, MultiHeadAttention
from transformer_mt.attention.positions import Position, acts_in_attention, build_attention_position
from transformer_mt.attention.scores import build_score
from transformer_mt.config import AttentionConfig
from transformer_mt.errors import InputError
from transformer_mt.names import lookup


class AttentionFactory:
    """Makes the attention layers of a model, each with weights of its own.

    Choices that do not go together raise `InputError` with the reason, at the latest with the first layer.
    """

    def __init__(self, config: AttentionConfig, *, width: int) -> None:
        self.config, self.width = config, width

    def self_attention(self, *, causal: bool) -> Attention:
        """A layer whose queries are among its keys; a causal one sees nothing of the future."""
        raise NotImplementedError

    def cross_attention(self) -> Attention:
        """A layer from the decoder to the memory: a bipartite graph, without positions."""
        raise NotImplementedError


class SoftmaxFactory(AttentionFactory):
    """Multi-head attention with the configured score, position and graph."""

    def __init__(self, config: AttentionConfig, *, width: int) -> None:
        super().__init__(config, width=width)
        self.graph = build_graph(config.graph)

    def self_attention(self, *, causal: bool) -> MultiHeadAttention:
        """With positions, over the configured graph; see `AttentionFactory`."""
        config, width = self.config, self.width
        score = build_score(config, width=width)
        position = build_attention_position(config.position, score, value_width=width // config.heads)
        graph = self.graph & Causal() if causal else self.graph
        return MultiHeadAttention(score, position, graph, width=width, heads=config.heads, dropout=config.dropout)

    def cross_attention(self) -> MultiHeadAttention:
        """Over the complete bipartite graph; see `AttentionFactory`."""
        config, width = self.config, self.width
        score = build_score(config, width=width)
        return MultiHeadAttention(
            score, Position(), Complete(), width=width, heads=config.heads, dropout=config.dropout
        )


class LinearFactory(AttentionFactory):
    """Linear attention, which has no scores for a position or a graph to act on."""

    # What the configuration must say, since linear attention has no such choice, and why.
    FIXED: ClassVar = {
        "score": ("scaled_dot", "linear attention has a score of its own, φ(q)·φ(k)"),
        "sharing": ("independent", "linear attention sums up each head's own keys"),
        "graph": ("complete", "linear attention sums over all positions and has no edges to leave out"),
    }

    def __init__(self, config: AttentionConfig, *, width: int) -> None:
        for name, (value, reason) in self.FIXED.items():
            if getattr(config, name) != value:
                raise InputError(
                    f"model.attention.{name}: {reason}; set it to {value}, or model.attention.kind to softmax"
                )
        if acts_in_attention(config.position):
            raise InputError(
                "model.attention.position: linear attention has no scores for it to act on; "
                "set it to sinusoidal or none, or model.attention.kind to softmax"
            )
        super().__init__(config, width=width)

    def self_attention(self, *, causal: bool) -> LinearAttention:
        """By running sums when causal; see `AttentionFactory`."""
        return LinearAttention(width=self.width, heads=self.config.heads, causal=causal)

    def cross_attention(self) -> LinearAttention:
        """The memory summed up once; see `AttentionFactory`."""
        return self.self_attention(causal=False)


ATTENTION: dict[str, type[AttentionFactory]] = {"softmax": SoftmaxFactory, "linear": LinearFactory}


def build_attention(config: AttentionConfig, *, width: int) -> AttentionFactory:
    """The factory of the attention layers that the configuration describes, for a model of that width."""
    return lookup(ATTENTION, config.kind, key="model.attention.kind")(config, width=width)
