"""Conversion to transformers: the same weights as a Pegasus model (pre-norm) or a Marian model (post-norm).

Both classes store the sines of all positions before the cosines, ours alternate. So the D features of every state are
reordered, which changes no result.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn

from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.attention.projections import Independent
from transformer_mt.config.sections import Config, ModelConfig, TransformerConfig
from transformer_mt.errors import InputError
from transformer_mt.models.blocks import Layers, Norm
from transformer_mt.models.layers import DecoderLayer, EncoderLayer
from transformer_mt.models.positionwise import ReLU
from transformer_mt.models.transformer import Transformer
from transformer_mt.tokenizer.symbols import BOS, EOS, NEVER_GENERATED, PAD

# The class for each residual. Pegasus normalises before layers and after stacks, Marian only after layers.
CLASSES = {"pre_norm": "Pegasus", "post_norm": "Marian"}
# The configuration values that these classes support, without their numbers.
POSSIBLE = {
    "kind": ("transformer",),
    "feed_forward": ("relu", "gelu", "silu"),
    "norm": ("layer",),
    "residual": tuple(CLASSES),
    "attention.kind": ("softmax",),
    "attention.qk_projection": ("independent",),
    "attention.score": ("scaled_dot", "dot"),
    "attention.normaliser": ("softmax",),
    "attention.position": ("sinusoidal",),
    "attention.graph": ("complete",),
}

Tensors = dict[str, Tensor]
Weights = Iterator[tuple[str, Tensor]]


def require_exportable(config: ModelConfig) -> None:
    """Raise `InputError`, with the key, for a model that no class of transformers holds."""
    for key, possible in POSSIBLE.items():  # the kind first: other kinds lack the other keys
        value = attrgetter(key)(config)
        if value.partition("(")[0].strip() not in possible:
            remedy = f"they support {' or '.join(possible)}"
            raise InputError(f"model.{key}", f"no class of transformers supports {value} here", remedy)


def model_config(model: ModelConfig, *, vocabulary_size: int) -> dict[str, Any]:
    """The content of `config.json`."""
    assert isinstance(model, TransformerConfig)
    name = CLASSES[model.residual]
    stacks = {"encoder": model.encoder_layers, "decoder": model.decoder_layers}
    found: dict[str, Any] = {
        "architectures": [f"{name}{'MTModel' if name == 'Marian' else 'ForConditionalGeneration'}"],
        "model_type": name.lower(),
        "vocab_size": vocabulary_size,
        "d_model": model.width,
        "activation_function": model.feed_forward,
        "max_position_embeddings": model.max_length,
        "scale_embedding": True,
        "tie_word_embeddings": model.tied == "all" or (name == "Marian" and model.tied == "target"),
        "dropout": model.dropout,
        "attention_dropout": model.attention.dropout,
        "activation_dropout": 0.0,
        **_symbols(),
    }
    if name == "Marian":
        found["share_encoder_decoder_embeddings"] = model.tied == "all"
    for stack, layers in stacks.items():
        found |= {
            f"{stack}_layers": layers,
            f"{stack}_attention_heads": model.attention.heads,
            f"{stack}_ffn_dim": model.feed_forward_width,
            f"{stack}_layerdrop": 0.0,
        }
    return found


def generation_config(config: Config) -> dict[str, Any]:
    """The content of `generation_config.json`: our search, as closely as transformers can express it.

    transformers divides log-probabilities by length^p; p = α / 2 is closest to our ((5 + length) / 6)^α.
    """
    search = config.search
    return {
        **_symbols(),
        "suppress_tokens": [*NEVER_GENERATED],
        "max_length": min(search.max_length, config.model.max_length),  # with the begin symbol, but no end symbol
        "num_beams": search.beam,
        "length_penalty": search.length_penalty / 2,
        "do_sample": False,
    }


def _symbols() -> dict[str, Any]:
    return {
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
    }


def weights(model: Transformer, config: ModelConfig) -> Tensors:
    """The model's tensors in float32, under the names of transformers."""
    assert isinstance(config, TransformerConfig)
    tied, name = config.tied, CLASSES[config.residual]
    source, target = model.source_embedding.table.weight, model.target_embedding.table.weight
    found: Tensors = {"final_logits_bias": model.output.bias[None]}
    if tied == "all":
        found["model.shared.weight"] = source
    else:
        found |= {"model.encoder.embed_tokens.weight": source, "model.decoder.embed_tokens.weight": target}
        if name == "Pegasus":  # it also has a table that nothing reads
            found["model.shared.weight"] = source
    if tied == "none" or (tied == "target" and name == "Pegasus"):
        found["lm_head.weight"] = model.output.weight
    nothing = torch.zeros(1, model.max_length, source.shape[1])
    for stack, embedding in (("encoder", model.source_embedding), ("decoder", model.target_embedding)):
        found[f"model.{stack}.embed_positions.weight"] = embedding.position.embed(nothing, start=0)[0]
    stacks: dict[str, tuple[Layers[Any], Norm]] = {
        "encoder": (model.encoder, model.encoder_norm),
        "decoder": (model.decoder, model.decoder_norm),
    }
    for stack, (layers, norm) in stacks.items():
        for number, layer in enumerate(layers):
            found |= dict(_layer(layer, f"model.{stack}.layers.{number}"))
        found |= dict(_norm(norm, f"model.{stack}.layer_norm"))
    return {name: reordered(name, tensor.detach().float().cpu()).contiguous() for name, tensor in found.items()}


def reordered(name: str, tensor: Tensor) -> Tensor:
    """Put even features before odd ones, on the axis of a tensor that has the features of a state."""
    part = name.split(".")[-2:][0]
    if part in ("out_proj", "fc2") or "norm" in part:  # rows are features of the output
        return torch.cat((tensor[0::2], tensor[1::2]))
    if tensor.dim() == 2 and part != "final_logits_bias":  # columns are features of the input
        return torch.cat((tensor[:, 0::2], tensor[:, 1::2]), dim=1)
    return tensor


def _layer(layer: EncoderLayer | DecoderLayer, place: str) -> Weights:
    yield from _attention(layer.self_attention, f"{place}.self_attn")
    yield from _norm(layer.self_residual.norm, f"{place}.self_attn_layer_norm")
    if isinstance(layer, DecoderLayer):
        yield from _attention(layer.cross_attention, f"{place}.encoder_attn")
        yield from _norm(layer.cross_residual.norm, f"{place}.encoder_attn_layer_norm")
    network = layer.feed_forward
    assert isinstance(network, ReLU)
    yield from _linear(network.hidden, f"{place}.fc1")
    yield from _linear(network.output, f"{place}.fc2")
    yield from _norm(layer.feed_forward_residual.norm, f"{place}.final_layer_norm")


def _attention(attention: nn.Module, place: str) -> Weights:
    """The four projections. Another scale of the score is a factor of the queries; heads that are off add nothing."""
    assert isinstance(attention, MultiHeadAttention)
    assert isinstance(attention.projections, Independent)
    assert attention.score.scale is not None
    factor = attention.score.scale * attention.score.sizes.key_width**0.5
    yield from _linear(attention.projections.query_projection, f"{place}.q_proj", factor=factor)
    yield from _linear(attention.projections.key_projection, f"{place}.k_proj")
    yield from _linear(attention.value_projection, f"{place}.v_proj")
    weight = attention.output_projection.weight
    if attention.head_mask is not None:
        weight = weight * attention.head_mask[0].repeat_interleave(attention.score.sizes.value_width)
    yield f"{place}.out_proj.weight", weight
    yield f"{place}.out_proj.bias", attention.output_projection.bias


def _linear(layer: nn.Linear, place: str, *, factor: float = 1.0) -> Weights:
    yield f"{place}.weight", layer.weight * factor
    yield f"{place}.bias", torch.zeros(layer.out_features) if layer.bias is None else layer.bias * factor


def _norm(norm: Norm, place: str) -> Weights:
    """The parameters of a layer norm; none for the identity after post-norm layers."""
    for name, parameter in norm.named_parameters():
        yield f"{place}.{name}", parameter
