"""Builds a model from its configuration: the only place where model, attention and their sizes meet."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from transformer_mt.attention.build_attention import build_attention, build_position, with_projections
from transformer_mt.attention.initialisation import embedding_table
from transformer_mt.attention.parse_choice import parse_choice
from transformer_mt.attention.positions import Position
from transformer_mt.attention.projections import Unprojected
from transformer_mt.attention.scores import SCORES, Score
from transformer_mt.config.sections import ModelConfig, RecurrentConfig, TransformerConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.ground.registry import Table
from transformer_mt.models.blocks import NORMS, RESIDUALS, NoNorm
from transformer_mt.models.head_mask import mask_heads
from transformer_mt.models.layers import LayerFactory
from transformer_mt.models.positionwise import FEED_FORWARDS, Embedding, Embeddings
from transformer_mt.models.recurrent import (
    Decoder,
    Encoder,
    FinalStates,
    RecurrentSeq2Seq,
    SourceAttention,
    SourceReader,
)
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.models.transformer import Transformer

# Scores of a recurrent decoder; `none` turns attention off.
RECURRENT_SCORES: Table[type[Score | FinalStates]] = Table("model.score", {**SCORES, "none": FinalStates})


def build_model(config: ModelConfig, *, vocabulary_size: int) -> Seq2Seq:
    """Build the configured model, with random weights from torch's default generator.

    Raises `InputError` for an unknown name and for incompatible sizes and choices.
    """
    model = MODELS.find(config.kind)(config, vocabulary_size)
    if isinstance(config, TransformerConfig):
        key = "model.attention.head_mask"
        mask_heads(model, [HeadName.parse(text, key=key) for text in config.attention.head_mask], key=key)
    return model


@contextmanager
def checking_size(check: Callable[[int], None]) -> Iterator[None]:
    """Call `check` with the bytes of all parameters so far, each time before a new one is filled."""
    seen = set[Tensor]()
    size = 0

    def count(module: nn.Module, name: str, parameter: Tensor | None) -> None:
        nonlocal size
        if parameter is not None and parameter not in seen:  # count shared parameters once
            seen.add(parameter)
            size += parameter.nbytes
            check(size)

    hook = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()


def build_transformer(config: TransformerConfig, vocabulary_size: int) -> Transformer:
    """Build a Transformer. `tied` says which of the three vocabulary matrices are shared."""
    return Transformer(
        build_layer_factory(config),
        build_embeddings(config, build_position(config.attention.position, None), vocabulary_size),
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        max_length=config.max_length,
    )


def build_recurrent(config: RecurrentConfig, vocabulary_size: int) -> RecurrentSeq2Seq:
    """Build a recurrent encoder–decoder with the configured score, or without attention; `tied` as in a Transformer.

    Queries and keys are the states themselves (Luong et al. 2015, §3.1) unless the score's formula projects them.
    """
    if config.width % 2:
        raise InputError(
            "model.width", f"{config.width} is odd, and the encoder halves it", f"set it to {config.width + 1}"
        )
    width = config.width
    dropout = config.dropout
    embeddings = build_embeddings(config, Position(), vocabulary_size)
    score = RECURRENT_SCORES.find(config.score)
    reader: SourceReader = FinalStates()
    if issubclass(score, Score):
        reader = SourceAttention(*with_projections(score, Unprojected(width)))
    encoder = Encoder(width=width, layers=config.encoder_layers, dropout=dropout)
    decoder = Decoder(reader, width=width, layers=config.decoder_layers, dropout=dropout)
    return RecurrentSeq2Seq(embeddings, encoder, decoder, dropout=dropout, max_length=config.max_length)


def build_layer_factory(config: TransformerConfig) -> LayerFactory:
    """Return the parts of a Transformer's layers."""
    width = config.width
    heads = config.attention.heads
    if width % heads:
        near = max(h for h in range(1, heads + 1) if width % h == 0)
        wider = width // heads * heads + heads
        remedy = f"set model.width to {wider} or model.attention.heads to {near}"
        raise InputError("model.width", f"{width} is not divisible by {heads} heads", remedy)
    norm = NORMS.find(config.norm)
    residual = RESIDUALS.find(config.residual)
    networks = {name: partial(network, width, config.feed_forward_width) for name, network in FEED_FORWARDS.items()}
    feed_forward = partial(parse_choice, config.feed_forward, networks, key=FEED_FORWARDS.key)
    return LayerFactory(
        attention=build_attention(config.attention, width=width),
        feed_forward=feed_forward,
        residual=lambda: residual(norm(width), dropout=config.dropout),
        norm=partial(NoNorm if residual.ends_in_norm else norm, width),
    )


def build_embeddings(config: ModelConfig, position: Position, vocabulary_size: int) -> Embeddings:
    """Build source and target embeddings, with a single table if all matrices are tied."""
    target = embedding_table(vocabulary_size, config.width)
    source = target if config.tied == "all" else embedding_table(vocabulary_size, config.width)
    scaled = partial(Embedding, position=position, dropout=config.dropout)
    return Embeddings(scaled(source), scaled(target), tie_output=config.tied != "none")


MODELS: Table[Callable[[Any, int], Seq2Seq]] = Table(
    "model.kind", {"transformer": build_transformer, "recurrent": build_recurrent}
)
