"""Conversion to CTranslate2: the same weights under the names of its specifications.

CTranslate2 reads and writes tokens as text, without begin and end symbols.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.attention.positions import AttentionPosition, Relative
from transformer_mt.attention.projections import Independent
from transformer_mt.config.sections import ModelConfig, TransformerConfig
from transformer_mt.extensions.ctranslate2.ctranslate2_package import import_ctranslate2
from transformer_mt.extensions.export.supported import PLAIN, masked_output, require_supported
from transformer_mt.ground.files import write_errors
from transformer_mt.ground.memory import free_memory, require
from transformer_mt.models.blocks import Layers, Norm, Residual
from transformer_mt.models.layers import DecoderLayer, EncoderLayer
from transformer_mt.models.positionwise import Embedding, ReLU, SwiGLU
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.models.transformer import Transformer
from transformer_mt.tokenizer.symbols import BOS, EOS, UNK

# CTranslate2's name of each activation, and our epsilon of each norm.
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH", "swiglu": "SWISH"}
EPSILONS = {"layer": 1e-5, "rms": 1e-6}
# The configuration values that CTranslate2 supports, without their numbers.
POSSIBLE = PLAIN | {
    "feed_forward": tuple(ACTIVATIONS),
    "norm": tuple(EPSILONS),
    "attention.position": ("sinusoidal", "rotary", "relative", "none"),
}

Weights = Iterator[tuple[str, Tensor]]


def model_files(
    model: Seq2Seq, config: ModelConfig, tokens: Sequence[str], *, quantization: str | None
) -> dict[str, bytes]:
    """Convert a model with the vocabulary `tokens`; return the content of CTranslate2's files by name.

    Raises `InputError` for a model that CTranslate2 does not support or if memory is too small, `MachineError` if it is
    not installed or temporary files cannot be written.
    """
    require_supported(config, POSSIBLE, by="CTranslate2")
    assert isinstance(config, TransformerConfig)
    assert isinstance(model, Transformer)
    specs = import_ctranslate2().specs
    # The table of positions, first in double precision; the model itself does not store it.
    needed = 32 * config.max_length * config.width
    require(needed, free_memory, what="model.max_length", remedy="use a machine with more")
    spec = _spec(specs, config)
    for name, tensor in weights(model).items():
        place, _, last = name.rpartition("/")
        setattr(specs.model_spec.index_spec(spec, place), last, tensor)
    spec.register_source_vocabulary(list(tokens))
    spec.register_target_vocabulary(list(tokens))
    spec.config.bos_token = spec.config.decoder_start_token = tokens[BOS]
    spec.config.eos_token = tokens[EOS]
    spec.config.unk_token = tokens[UNK]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = EPSILONS[config.norm]
    spec.validate()
    spec.optimize(quantization)
    with TemporaryDirectory(prefix="tmt-") as name, write_errors(folder := Path(name)):
        spec.save(name)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _spec(specs: Any, config: TransformerConfig) -> Any:
    """The specification, without weights."""
    attention = config.attention
    options = {
        "pre_norm": config.residual == "pre_norm",
        "activation": specs.Activation[ACTIVATIONS[config.feed_forward]],
        "ffn_glu": config.feed_forward == "swiglu",
        "rms_norm": config.norm == "rms",
        "relative_position": attention.position.startswith("relative"),
        "rotary_dim": config.width // attention.heads if attention.position == "rotary" else None,
    }
    return specs.TransformerSpec(
        specs.TransformerEncoderSpec(config.encoder_layers, attention.heads, **options),
        specs.TransformerDecoderSpec(config.decoder_layers, attention.heads, **options),
    )


def weights(model: Transformer) -> dict[str, Tensor]:
    """Copies of the model's tensors, since quantization changes them, under CTranslate2's names."""
    return {name: tensor.detach().float().cpu().clone().contiguous() for name, tensor in _weights(model)}


def _weights(model: Transformer) -> Weights:
    stacks: dict[str, tuple[Embedding, Layers[Any], Norm]] = {
        "encoder/embeddings_0": (model.source_embedding, model.encoder, model.encoder_norm),
        "decoder/embeddings": (model.target_embedding, model.decoder, model.decoder_norm),
    }
    for place, (embedding, layers, norm) in stacks.items():
        table = embedding.table.weight
        yield f"{place}/weight", table
        stack, _, _ = place.partition("/")
        if not any(isinstance(module, AttentionPosition) for module in layers.modules()):
            nothing = torch.zeros(1, model.max_length, table.shape[1])
            yield f"{stack}/position_encodings/encodings", embedding.position.embed(nothing, start=0)[0]
        for number, layer in enumerate(layers):
            yield from _layer(layer, f"{stack}/layer_{number}")
        yield from _norm(norm, f"{stack}/layer_norm")
    yield from _linear(model.output, "decoder/projection")


def _layer(layer: EncoderLayer | DecoderLayer, place: str) -> Weights:
    yield from _attention(layer.self_attention, layer.self_residual, f"{place}/self_attention")
    if isinstance(layer, DecoderLayer):
        yield from _attention(layer.cross_attention, layer.cross_residual, f"{place}/attention", crosses=True)
    network = layer.feed_forward
    place = f"{place}/ffn"
    yield from _norm(layer.feed_forward_residual.norm, f"{place}/layer_norm")
    if isinstance(network, SwiGLU):
        yield from _linear(network.gate, f"{place}/linear_0")
        yield from _linear(network.value, f"{place}/linear_0_noact")
    else:  # ReLU, GELU and SiLU networks have the same parts
        assert isinstance(network, ReLU)
        yield from _linear(network.hidden, f"{place}/linear_0")
    yield from _linear(network.output, f"{place}/linear_1")


def _attention(attention: nn.Module, residual: Residual, place: str, *, crosses: bool = False) -> Weights:
    """CTranslate2 stacks projections of the same states: queries, keys, values; in cross-attention, keys and values."""
    assert isinstance(attention, MultiHeadAttention)
    assert isinstance(attention.projections, Independent)
    assert attention.score.scale is not None
    queries = attention.projections.query_projection
    keys = attention.projections.key_projection
    values = attention.value_projection
    stacked = [[queries], [keys, values]] if crosses else [[queries, keys, values]]
    yield from _norm(residual.norm, f"{place}/layer_norm")
    yield f"{place}/queries_scale", torch.tensor(attention.score.scale)
    for number, layers in enumerate(stacked):
        yield f"{place}/linear_{number}/weight", torch.cat([layer.weight for layer in layers])
        if queries.bias is not None:
            yield f"{place}/linear_{number}/bias", torch.cat([layer.bias for layer in layers])
    yield f"{place}/linear_{len(stacked)}/weight", masked_output(attention)
    yield f"{place}/linear_{len(stacked)}/bias", attention.output_projection.bias
    if isinstance(attention.position, Relative):
        yield f"{place}/relative_position_keys", attention.position.to_keys.weight
        yield f"{place}/relative_position_values", attention.position.to_values.weight


def _linear(layer: nn.Linear, place: str) -> Weights:
    for name, parameter in layer.named_parameters():
        yield f"{place}/{name}", parameter


def _norm(norm: Norm, place: str) -> Weights:
    """The parameters of a layer or RMS norm; none for the identity after post-norm layers."""
    for name, parameter in norm.named_parameters():
        yield f"{place}/{'gamma' if name == 'weight' else 'beta'}", parameter
