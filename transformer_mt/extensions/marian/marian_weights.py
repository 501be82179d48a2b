"""The tensors of a Marian model under our names.

Marian's positions are all sines, then all cosines; ours alternate. Wherever a tensor has a row or column for each
feature of a token's state, these are put in our order. That changes no result except by rounding.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from transformer_mt.attention.positions import sinusoids
from transformer_mt.config.sections import Config
from transformer_mt.ground.errors import InputError
from transformer_mt.models.build_model import build_model
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import (
    Tensors,
    converted,
    parse_tensors,
    require_specs,
    size_limit,
    specs_of,
    weights_of,
)
from transformer_mt.tokenizer.symbols import PAD

_TABLE = "source_embedding.table.weight"
_BIAS = "output.bias"
# Our names for parts of Marian's (and Pegasus's, which `export` writes), longer ones first.
NAMES = {
    "self_attn_layer_norm": "self_residual.norm",
    "encoder_attn_layer_norm": "cross_residual.norm",
    "final_layer_norm": "feed_forward_residual.norm",
    "self_attn": "self_attention",
    "encoder_attn": "cross_attention",
    "q_proj": "projections.query_projection",
    "k_proj": "projections.key_projection",
    "v_proj": "value_projection",
    "out_proj": "output_projection",
    "fc1": "feed_forward.hidden",
    "fc2": "feed_forward.output",
    "model.encoder.layers": "encoder",
    "model.decoder.layers": "decoder",
    "model.shared.weight": _TABLE,
    "model.encoder.embed_tokens.weight": _TABLE,  # copies
    "model.decoder.embed_tokens.weight": _TABLE,
    "lm_head.weight": _TABLE,
    "final_logits_bias": _BIAS,
}
# Tables that we compute.
_POSITIONS = {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"}
# Parts of a layer with a row for each feature; in other matrices, each has a column.
WRITES = ("output_projection.", "feed_forward.output.", "norm.")
# The bias of `PAD`, which has no weights in Marian. Its probability is zero, and label smoothing hardly notices.
_NEVER = -100.0


def read_weights(folder: Path, config: Config, ids: Sequence[int]) -> Tensors:
    """The weights of a run from the model in a folder; `ids` are Marian's, in our order of tokens.

    Raises `MachineError` if the file is damaged or does not fit the configuration, and `InputError` if memory is too
    small, and for tables of tokens and positions that tmt does not have.
    """
    theirs = Run(folder)
    path = theirs.model_path
    model = config.model
    with torch.device("meta"):
        specs = specs_of(weights_of(build_model(model, vocabulary_size=len(ids))))
    # Marian has all sines, then all cosines; ours alternate.
    order = (torch.arange(model.width) % 2).argsort(stable=True).argsort()
    weights: Tensors = {}
    content = theirs.weights_file(limit=4 * size_limit(specs))  # up to four copies of the table, and positions
    for name, tensor in converted(parse_tensors(content, path=path), "float32").items():
        for marian, ours in NAMES.items():
            name = name.replace(marian, ours)
        if name == _TABLE and tensor.dim() == 2 and len(tensor) != len(ids) - 1:
            problem = f"has {len(tensor)} rows for tokens, but vocab.json has {len(ids) - 1} tokens"
            raise InputError(path, problem, "call model.resize_token_embeddings(len(tokenizer)) and save it again")
        found = _ours(name, tensor, torch.tensor(ids), order).contiguous()
        if weights.setdefault(name, found) is not found and not found.equal(weights[name]):
            raise InputError(path, "has different tables of tokens", "call model.tie_weights() and save it again")
    for name in _POSITIONS & weights.keys():
        table = weights.pop(name)
        shape = (model.max_length, model.width)
        if table.shape != shape or not torch.allclose(table, sinusoids(*shape, table.device, table.dtype), atol=1e-3):
            raise InputError(path, f"{name} is not sinusoidal", "tmt has no such positions")
    require_specs(weights, specs, path=path)
    weights[_TABLE][PAD], weights[_BIAS][PAD] = 0.0, _NEVER
    return weights


def _ours(name: str, tensor: Tensor, ids: Tensor, order: Tensor) -> Tensor:
    """A tensor with tokens and features in our order; one of another size fits no model of ours."""
    if name == _BIAS:
        tensor = tensor.flatten()
    if name in (_TABLE, _BIAS):
        tensor = tensor[ids] if tensor.shape[:1] == (len(ids) - 1,) else tensor.flatten()[:0]
    return reordered(name, tensor, order)


def reordered(name: str, tensor: Tensor, order: Tensor) -> Tensor:
    """Order the features of a state, on the axis that has them in the part of a model with our name."""
    if any(part in name for part in WRITES):
        return tensor[order] if tensor.shape[:1] == order.shape else tensor
    return tensor[:, order] if tensor.shape[1:] == order.shape else tensor
