"""Builds a model from its configuration: the one place where model, attention and their numbers meet."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from transformer_mt.attention.build import build_attention, with_projections
from transformer_mt.attention.positions import build_embedding_position
from transformer_mt.attention.projections import Unprojected
from transformer_mt.attention.scores import SCORES, Score
from transformer_mt.config.sections import ModelConfig, RecurrentConfig, TransformerConfig
from transformer_mt.errors import InputError
from transformer_mt.models.blocks import ACTIVATIONS, NORMS, RESIDUALS, NoNorm, Residual
from transformer_mt.models.recurrent import FinalStates, RecurrentSeq2Seq, SourceAttention, SourceReader
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.models.transformer import LayerFactory, Transformer
from transformer_mt.names import lookup

# What a recurrent decoder may look at the source with: any score, or no attention at all.
RECURRENT_SCORES: dict[str, type[Score] | None] = {**SCORES, "none": None}


def build_model(config: ModelConfig, *, vocabulary_size: int) -> Seq2Seq:
    """The model that the configuration describes, with random weights from torch's default generator.

    Raises `InputError` for a name that is in no table and for sizes and choices that do not fit together.
    """
    return MODELS[config.kind](config, vocabulary_size)


def build_transformer(config: TransformerConfig, vocabulary_size: int) -> Transformer:
    """A Transformer; the three matrices of the vocabulary are shared as `tied` says."""
    source_table, target_table = tables(config, vocabulary_size)
    return Transformer(
        build_layer_factory(config),
        source_table=source_table,
        target_table=target_table,
        tie_output=config.tied != "none",
        position=build_embedding_position(config.attention.position),
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        dropout=config.dropout,
        max_length=config.max_length,
    )


def build_recurrent(config: RecurrentConfig, vocabulary_size: int) -> RecurrentSeq2Seq:
    """A recurrent encoder–decoder with the configured score, or without attention; `tied` as in a Transformer."""
    if config.width % 2:
        raise InputError(
            f"model.width: {config.width} is odd, and each direction of the encoder has half of it; "
            f"set model.width to {config.width + 1}"
        )
    source_table, target_table = tables(config, vocabulary_size)
    return RecurrentSeq2Seq(
        build_source_reader(config),
        source_table=source_table,
        target_table=target_table,
        tie_output=config.tied != "none",
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        dropout=config.dropout,
        max_length=config.max_length,
    )


def build_source_reader(config: RecurrentConfig) -> SourceReader:
    """Attention to the source with the configured score, or none.

    Queries and keys are the states themselves (Luong et al. 2015, §3.1) where the formula does not project them.
    """
    score = lookup(RECURRENT_SCORES, config.score, key="model.score")
    return FinalStates() if score is None else SourceAttention(*with_projections(score, Unprojected(config.width)))


def build_layer_factory(config: TransformerConfig) -> LayerFactory:
    """What the layers of a Transformer are made of."""
    require_divisible(config.width, config.attention.heads)
    norm = lookup(NORMS, config.norm, key="model.norm")
    residual = lookup(RESIDUALS, config.residual, key="model.residual")
    feed_forward = lookup(ACTIVATIONS, config.activation, key="model.activation")

    def make_residual() -> Residual:
        return residual(norm(config.width), dropout=config.dropout)

    return LayerFactory(
        attention=build_attention(config.attention, width=config.width),
        feed_forward=partial(feed_forward, width=config.width, hidden=config.feedforward),
        residual=make_residual,
        norm=partial(NoNorm if residual.ends_in_norm else norm, config.width),
    )


def tables(config: ModelConfig, vocabulary_size: int) -> tuple[nn.Embedding, nn.Embedding]:
    """The embeddings of the source and of the target, one and the same where all are tied."""
    target_table = nn.Embedding(vocabulary_size, config.width)
    return target_table if config.tied == "all" else nn.Embedding(vocabulary_size, config.width), target_table


def require_divisible(width: int, heads: int) -> None:
    """Raise `InputError` when the width cannot be cut into so many heads."""
    if width % heads:
        near = max(h for h in range(1, heads + 1) if width % h == 0)
        raise InputError(
            f"model.width: {width} is not divisible by {heads} heads; "
            f"set model.width to {width // heads * heads + heads} or model.attention.heads to {near}"
        )


MODELS: dict[str, Callable[[Any, int], Seq2Seq]] = {"transformer": build_transformer, "recurrent": build_recurrent}
