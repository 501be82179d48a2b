"""Builds a model from its configuration: the one place where model, attention and their numbers meet."""

from collections.abc import Callable

from torch import nn

from transformer_mt.attention.graphs import Graph, build_graph
from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.attention.positions import build_position
from transformer_mt.attention.scores import build_score
from transformer_mt.config import ModelConfig, lookup
from transformer_mt.errors import InputError
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.models.transformer import Transformer


def build_model(config: ModelConfig, *, vocabulary_size: int) -> Seq2Seq:
    """The model that the configuration describes, with random weights from torch's default generator.

    Raises `InputError` for a name that is in no table and for sizes that do not fit together.
    """
    return lookup(MODELS, config.kind, key="model.kind")(config, vocabulary_size)


def build_transformer(config: ModelConfig, vocabulary_size: int) -> Transformer:
    """A Transformer; the three matrices of the vocabulary are shared as `tied` says."""
    heads = config.attention.heads
    if config.width % heads:
        near = max(h for h in range(1, heads + 1) if config.width % h == 0)
        raise InputError(
            f"model.width: {config.width} is not divisible by {heads} heads; "
            f"set model.width to {config.width // heads * heads + heads} or model.attention.heads to {near}"
        )

    def make_attention(graph: Graph) -> MultiHeadAttention:
        score = build_score(config.attention.score, width=config.width, heads=heads)
        return MultiHeadAttention(score, graph, width=config.width, heads=heads, dropout=config.attention.dropout)

    target_table = nn.Embedding(vocabulary_size, config.width)
    source_table = target_table if config.tied == "all" else nn.Embedding(vocabulary_size, config.width)
    return Transformer(
        source_table=source_table,
        target_table=target_table,
        tie_output=config.tied != "none",
        position=build_position(config.attention.position),
        make_attention=make_attention,
        graph=build_graph(config.attention.graph),
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        hidden=config.feedforward,
        dropout=config.dropout,
        max_length=config.max_length,
    )


MODELS: dict[str, Callable[[ModelConfig, int], Seq2Seq]] = {"transformer": build_transformer}
