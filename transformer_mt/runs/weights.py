"""Weights as files: named tensors in the safetensors format, and how a model takes them."""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from transformer_mt.errors import MachineError
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.checksums import require_intact

# Tensors, and the type and shape of each, by their names.
Tensors = dict[str, Tensor]
TensorSpecs = dict[str, tuple[torch.dtype, tuple[int, ...]]]


def pack(tensors: Tensors, sums: Mapping[str, str] | None = None) -> bytes:
    """Named tensors in the safetensors format, with their own sum and those of the files that they belong to."""
    contiguous = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
    # In one entry, since the library writes several in a random order.
    head = json.dumps({**(sums or {}), "tensors": digest(contiguous)})
    return bytes(safetensors.torch.save(contiguous, {"sums": head}))


def unpack(content: bytes, *, path: Path) -> Tensors:
    """The tensors that `pack` packed; `path` names the file in errors. Nothing in the file can execute."""
    try:
        tensors = safetensors.torch.load(content)
    except (safetensors.SafetensorError, KeyError, RuntimeError, ValueError):  # KeyError: a type unknown to torch
        raise MachineError(path, "damaged or not a safetensors file", "restore it or train anew") from None
    require_intact(content, path)
    return tensors


def digest(tensors: Tensors) -> str:
    """The SHA-256 of names, types, shapes and bytes, in the order of the names."""
    sha = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].contiguous().cpu()
        sha.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        sha.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()


def specs_of(tensors: Tensors) -> TensorSpecs:
    """The type and shape of every tensor."""
    return {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()}


def require_specs(tensors: Tensors, specs: TensorSpecs, *, path: Path) -> None:
    """Raise `MachineError` for other tensors, numbers that are not finite, and counts below 0 in the file `path`."""
    if specs_of(tensors) != specs:
        raise MachineError(path, "the weights do not fit config.toml", "restore both files from the same run")
    for name, tensor in tensors.items():
        if not tensor.isfinite().all() or (tensor.dtype == torch.int64 and (tensor < 0).any()):
            raise MachineError(path, f"the weights are not finite ({name})", "restore it or train anew")


def size_limit(specs: TensorSpecs) -> int:
    """More bytes than any file of such tensors has."""
    tensors = sum(dtype.itemsize * math.prod(shape) for dtype, shape in specs.values())
    return 2**16 + tensors + sum(2**8 + len(name) for name in specs)


def weights_of(model: Seq2Seq) -> Tensors:
    """The parameters and buffers of a model, a shared one under one name only."""
    weights: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        weights.setdefault(id(tensor), (name, tensor.detach()))
    return dict(weights.values())


def load_weights(model: Seq2Seq, weights: Tensors) -> None:
    """Fill a model with weights of its specs."""
    for name, tensor in weights_of(model).items():
        tensor.copy_(weights[name])
