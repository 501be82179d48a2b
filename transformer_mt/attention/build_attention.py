"""Builds the attention layers of a model from the configuration: where score, position and graph meet."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from transformer_mt.attention.graphs import Causal, Complete, build_graph
from transformer_mt.attention.linear import LinearAttention
from transformer_mt.attention.multihead import Attention, MultiHeadAttention
from transformer_mt.attention.normalisers import NORMALISERS
from transformer_mt.attention.parse_choice import parse_choice
from transformer_mt.attention.positions import POSITIONS, AttentionPosition, Place, Position
from transformer_mt.attention.projections import QK_PROJECTIONS, Independent, Projections
from transformer_mt.attention.scores import SCORES, Score
from transformer_mt.config.sections import AttentionConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.registry import Table

# A projected state in a formula.
_PROJECTED = re.compile(r"\bh(?:_j)? W(_[qkv])?")
# The only value of each key that linear attention supports, and why.
LINEAR_ONLY = {
    "score": ("scaled_dot", "linear attention has its own score, φ(q)·φ(k)"),
    "normaliser": ("softmax", "linear attention divides by the sum of its scores"),
    "qk_projection": ("independent", "linear attention sums each head's own keys"),
    "graph": ("complete", "linear attention sums over all positions and cannot leave out edges"),
}


AttentionFactory = Callable[[str], Attention]


def softmax_attention(config: AttentionConfig, width: int) -> AttentionFactory:
    """Multi-head attention with the configured score. Position and graph act only in self-attention."""
    shared: dict[str, Position] = {}

    def layer(stack: str) -> MultiHeadAttention:
        projections, score = build_score(config, width=width)
        normaliser = NORMALISERS.find(config.normaliser)()
        make = partial(MultiHeadAttention, projections, score, normaliser, dropout=config.dropout)
        if stack == "cross":
            return make(Position(), Complete())
        causal = stack == "decoder"
        position = shared.get(stack) or build_position(config.position, Place(score, stack, causal))
        if isinstance(position, AttentionPosition) and position.shared:
            shared[stack] = position
        graph = build_graph(config.graph)
        return make(position, graph & Causal() if causal else graph)

    return layer


def linear_attention(config: AttentionConfig, width: int) -> AttentionFactory:
    """Linear attention. It has no scores for a position or a graph to act on; such choices raise `InputError`."""
    refused = [(name, *only) for name, only in LINEAR_ONLY.items() if getattr(config, name) != only[0]]
    if issubclass(_position_class(config.position), AttentionPosition):
        refused.append(("position", "sinusoidal or none", "linear attention has no scores for it to act on"))
    for name, value, reason in refused:
        raise InputError(f"model.attention.{name}", reason, f"set it to {value}, or model.attention.kind to softmax")
    return lambda stack: LinearAttention(width=width, heads=config.heads, causal=stack == "decoder")


ATTENTION: Table[Callable[[AttentionConfig, int], AttentionFactory]] = Table(
    "model.attention.kind",
    {
        "softmax": softmax_attention,
        "linear": linear_attention,
    },
)


def build_attention(config: AttentionConfig, *, width: int) -> AttentionFactory:
    """Return a factory of attention layers for a model of this width. It takes one of `STACKS`.

    Each layer has its own weights. In `encoder` and `decoder`, queries are among the keys, and the decoder cannot see
    the future. `cross` leads from the decoder to the memory: a bipartite graph without positions. All layers of a stack
    may share a position. Incompatible choices raise `InputError`, at the latest when the first layer is made.
    """
    make = ATTENTION.find(config.kind)(config, width)
    return (lambda stack: with_biases(make(stack))) if config.bias else make


def with_biases(attention: Attention) -> Attention:
    """Add biases, initially zero, to the projections that lack them: q = h W_q + b_q, and likewise k and v."""
    module: Any
    for module in attention.modules():
        if isinstance(module, nn.Linear) and module.bias is None:
            module.bias = nn.Parameter(torch.zeros(module.out_features))
        if formulas := getattr(module, "formulas", None):
            module.formulas = {symbol: _PROJECTED.sub(r"\g<0> + b\1", text) for symbol, text in formulas.items()}
    return attention


def build_score(config: AttentionConfig, *, width: int) -> tuple[Projections, Score]:
    """Return the projections of queries and keys, and the configured score.

    Raises `InputError` for shared projections that the score does not support.
    """
    score = SCORES.find(config.score)
    key = QK_PROJECTIONS.key
    table = {name: partial(entry, width, config.heads) for name, entry in QK_PROJECTIONS.items()}
    chosen = parse_choice(config.qk_projection, table, key=key)
    if score.prescribed and not isinstance(chosen, Independent):
        remedy = "set model.attention.score to scaled_dot, dot or cosine"
        raise InputError(key, f"{config.qk_projection} needs a score of products q·k, unlike {config.score}", remedy)
    return with_projections(score, chosen)


def with_projections(score: type[Score], chosen: Projections) -> tuple[Projections, Score]:
    """Return the projections that the score prescribes, else the chosen ones, and the score."""
    if score.prescribed and not isinstance(chosen, score.prescribed):
        chosen = score.prescribed(chosen.sizes.width, chosen.sizes.heads)
    return chosen, score(chosen.sizes)


def build_position(text: str, place: Place | None) -> Position:
    """Return the configured position for self-attention at this place, or for the embeddings without a place.

    A position that does not act there is a no-op. Raises `InputError` if place and position are incompatible.
    """
    inside = issubclass(_position_class(text), AttentionPosition)
    if inside != (place is not None):
        return Position()
    entries: dict[str, Callable[..., Position]] = {
        name: entry for name, entry in POSITIONS.items() if issubclass(entry, AttentionPosition) == inside
    }
    table = {name: partial(entry, place) for name, entry in entries.items()} if inside else entries
    return parse_choice(text, table, key=POSITIONS.key)


def _position_class(text: str) -> type[Position]:
    return POSITIONS.find(text.partition("(")[0].strip())
