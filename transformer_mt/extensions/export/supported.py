"""Shared by conversions: which models a program supports, and heads that are off."""

from collections.abc import Collection, Mapping
from operator import attrgetter

from torch import Tensor

from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.config.sections import ModelConfig
from transformer_mt.ground.errors import InputError

# The configuration values of a plain transformer, which every program supports, without their numbers.
PLAIN = {
    "kind": ("transformer",),
    "feed_forward": ("relu", "gelu", "silu"),
    "norm": ("layer",),
    "residual": ("pre_norm", "post_norm"),
    "attention.kind": ("softmax",),
    "attention.qk_projection": ("independent",),
    "attention.score": ("scaled_dot", "dot"),
    "attention.normaliser": ("softmax",),
    "attention.position": ("sinusoidal",),
    "attention.graph": ("complete",),
}


def require_supported(config: ModelConfig, possible: Mapping[str, Collection[str]], *, by: str) -> None:
    """Raise `InputError`, with the key, for a value that a program lacks; `possible` omits the values' numbers."""
    for key, values in possible.items():  # the kind first: other kinds lack the other keys
        value = attrgetter(key)(config)
        if value.partition("(")[0].strip() not in values:
            raise InputError(f"model.{key}", f"{by} does not support {value}", f"it supports {' or '.join(values)}")


def masked_output(attention: MultiHeadAttention) -> Tensor:
    """The output matrix; heads that are off add nothing."""
    weight = attention.output_projection.weight
    if attention.head_mask is None:
        return weight
    return weight * attention.head_mask[0].repeat_interleave(attention.score.sizes.value_width)
