"""Builds a model from its configuration: the one place where model, attention and their numbers meet."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from typing_extensions import override

from transformer_mt.attention.build import build_attention, with_projections
from transformer_mt.attention.positions import EmbeddingPosition, NoEmbeddingPosition, build_embedding_position
from transformer_mt.attention.projections import Unprojected
from transformer_mt.attention.scores import SCORES, Score
from transformer_mt.config.sections import ModelConfig, RecurrentConfig, TransformerConfig
from transformer_mt.errors import InputError
from transformer_mt.models.blocks import ACTIVATIONS, NORMS, RESIDUALS, NoNorm
from transformer_mt.models.layers import LayerFactory
from transformer_mt.models.pruning import KEY, leave_out
from transformer_mt.models.recurrent import Decoder, Encoder, FinalStates, RecurrentSeq2Seq, SourceAttention
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.models.transformer import Embedding, Embeddings, Transformer
from transformer_mt.registry import HeadName, lookup

# What a recurrent decoder may look at the source with: any score, or no attention at all.
RECURRENT_SCORES: dict[str, type[Score] | None] = {**SCORES, "none": None}


def build_model(config: ModelConfig, *, vocabulary_size: int) -> Seq2Seq:
    """The model that the configuration describes, with random weights from torch's default generator.

    Raises `InputError` for a name that is in no table and for sizes and choices that do not fit together.
    """
    return MODELS[config.kind](config, vocabulary_size)


# torch's functions that fill tensors with random numbers, as far as our models call them.
_FILLING = (Tensor.normal_, Tensor.uniform_, nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_)


class Unfilled(TorchFunctionMode):
    """While it is open, the weights of new models are whatever their memory held, as those to come will replace them.

    Drawing them takes longer than reading them, and for weights without memory, those on the device `meta`, torch would
    first import its compiler.
    """

    @override
    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _FILLING:
            return args[0] if args else kwargs["tensor"]
        return (torch.empty if func is torch.randn else func)(*args, **kwargs)


def build_transformer(config: TransformerConfig, vocabulary_size: int) -> Transformer:
    """A Transformer without its pruned heads; the three matrices of the vocabulary are shared as `tied` says."""
    model = Transformer(
        build_layer_factory(config),
        build_embeddings(config, build_embedding_position(config.attention.position), vocabulary_size),
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        max_length=config.max_length,
    )
    leave_out(model, [HeadName.parse(text, key=KEY) for text in config.attention.pruned])
    return model


def build_recurrent(config: RecurrentConfig, vocabulary_size: int) -> RecurrentSeq2Seq:
    """A recurrent encoder–decoder with the configured score, or without attention; `tied` as in a Transformer."""
    if config.width % 2:
        raise InputError(
            f"model.width: {config.width} is odd, and each direction of the encoder has half of it; "
            f"set model.width to {config.width + 1}"
        )
    embeddings = build_embeddings(config, NoEmbeddingPosition(), vocabulary_size)
    reader, width, dropout = build_source_reader(config), config.width, config.dropout
    encoder = Encoder(width=width, layers=config.encoder_layers, dropout=dropout)
    decoder = Decoder(reader, width=width, layers=config.decoder_layers, dropout=dropout)
    return RecurrentSeq2Seq(embeddings, encoder, decoder, dropout=dropout, max_length=config.max_length)


def build_source_reader(config: RecurrentConfig) -> SourceAttention | FinalStates:
    """Attention to the source with the configured score, or none.

    Queries and keys are the states themselves (Luong et al. 2015, §3.1) where the formula does not project them.
    """
    score = lookup(RECURRENT_SCORES, config.score, key="model.score")
    return FinalStates() if score is None else SourceAttention(*with_projections(score, Unprojected(config.width)))


def build_layer_factory(config: TransformerConfig) -> LayerFactory:
    """What the layers of a Transformer are made of."""
    width, heads = config.width, config.attention.heads
    if width % heads:
        near = max(h for h in range(1, heads + 1) if width % h == 0)
        raise InputError(
            f"model.width: {width} is not divisible by {heads} heads; "
            f"set model.width to {width // heads * heads + heads} or model.attention.heads to {near}"
        )
    norm = lookup(NORMS, config.norm, key="model.norm")
    residual = lookup(RESIDUALS, config.residual, key="model.residual")
    feed_forward = lookup(ACTIVATIONS, config.activation, key="model.activation")
    return LayerFactory(
        attention=build_attention(config.attention, width=width),
        feed_forward=partial(feed_forward, width=width, hidden=config.feedforward),
        residual=lambda: residual(norm(width), dropout=config.dropout),
        norm=partial(NoNorm if residual.ends_in_norm else norm, width),
    )


def build_embeddings(config: ModelConfig, position: EmbeddingPosition, vocabulary_size: int) -> Embeddings:
    """The embeddings of source and target; where all matrices are tied they have one table."""
    target = nn.Embedding(vocabulary_size, config.width)
    source = target if config.tied == "all" else nn.Embedding(vocabulary_size, config.width)
    scaled = partial(Embedding, position=position, dropout=config.dropout)
    return Embeddings(scaled(source), scaled(target), tie_output=config.tied != "none")


MODELS: dict[str, Callable[[Any, int], Seq2Seq]] = {"transformer": build_transformer, "recurrent": build_recurrent}
