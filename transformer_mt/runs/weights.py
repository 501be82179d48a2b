"""Weights as files: named tensors in the safetensors format, and how a model takes them."""

from collections.abc import Mapping
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor

from transformer_mt.errors import EnvironmentProblem
from transformer_mt.models.seq2seq import Seq2Seq


def pack(tensors: Mapping[str, Tensor]) -> bytes:
    """Named tensors in the safetensors format."""
    packed: bytes = safetensors.torch.save({name: tensor.contiguous().cpu() for name, tensor in tensors.items()})
    return packed


def unpack(content: bytes, *, path: Path) -> dict[str, Tensor]:
    """The tensors that `pack` packed; `path` names the file in the error. Nothing in the file can execute."""
    try:
        tensors: dict[str, Tensor] = safetensors.torch.load(content)
    except (safetensors.SafetensorError, ValueError):
        raise EnvironmentProblem(f"{path}: damaged or not a safetensors file; restore it or train anew") from None
    return tensors


def weights_of(model: Seq2Seq) -> dict[str, Tensor]:
    """The parameters and buffers of a model, a shared one under one name only."""
    weights: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            weights[name] = tensor
    return weights


def load_weights(model: Seq2Seq, weights: Mapping[str, Tensor], *, path: Path) -> None:
    """Fill a model; raises `EnvironmentProblem` when names or shapes are not those of the model."""
    own = weights_of(model)
    if {name: tensor.shape for name, tensor in own.items()} != {n: t.shape for n, t in weights.items()}:
        raise EnvironmentProblem(f"{path}: the weights do not fit config.toml; restore both files from the same run")
    for name, tensor in own.items():
        tensor.copy_(weights[name])
