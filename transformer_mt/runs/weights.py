"""Weights as files: named tensors in the safetensors format, saved from and loaded into a model."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from transformer_mt.ground.errors import MachineError
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.checksums import digest_in, require_intact

# Tensors by name, and the type and shape of each.
Tensors = dict[str, Tensor]
TensorSpecs = dict[str, tuple[torch.dtype, tuple[int, ...]]]


def pack(tensors: Tensors, sums: Mapping[str, str] | None = None) -> bytes:
    """Serialise named tensors as safetensors, with their digest and the sums of related files."""
    contiguous = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
    # One entry, since the library writes several in random order.
    head = json.dumps({**(sums or {}), "tensors": digest(contiguous)})
    return bytes(safetensors.torch.save(contiguous, {"sums": head}))


def unpack(content: bytes, *, path: Path) -> Tensors:
    """Return the tensors that `pack` packed. Raises `MachineError`, with `path`, if the content is damaged."""
    tensors = parse_tensors(content, path=path)
    require_intact(content, path)
    return tensors


def parse_tensors(content: bytes, *, path: Path) -> Tensors:
    """Return the tensors in a safetensors file, which cannot execute. Raises `MachineError` if it is damaged."""
    try:
        return safetensors.torch.load(content)
    except (safetensors.SafetensorError, KeyError, RuntimeError, ValueError):  # KeyError: a type unknown to torch
        raise MachineError(path, "damaged or not a safetensors file", "restore it or train again") from None


def digest(tensors: Tensors) -> str:
    """The checksum of tensors; see `digest_in`."""
    return digest_in(safetensors.torch.save({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}))


def converted(tensors: Tensors, dtype: str) -> Tensors:
    """Convert tensors of floating-point numbers to another type, such as `bfloat16`."""
    kind: torch.dtype = getattr(torch, dtype)
    return {name: tensor.to(kind) if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}


def specs_of(tensors: Tensors) -> TensorSpecs:
    """The type and shape of every tensor."""
    return {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()}


def require_specs(tensors: Tensors, specs: TensorSpecs, *, path: Path) -> None:
    """Raise `MachineError`, with `path`, for wrong names, types or shapes, non-finite numbers, and negative counts."""
    if differing := dict(specs_of(tensors).items() ^ specs.items()):
        problem = f"the weights do not fit the configuration ({min(differing)[:80]})"
        raise MachineError(path, problem, "restore both files from the same run")
    for name, tensor in tensors.items():
        if not tensor.isfinite().all() or (tensor.dtype == torch.int64 and (tensor < 0).any()):
            raise MachineError(path, f"the weights are not finite ({name})", "restore it or train again")


def size_limit(specs: TensorSpecs) -> int:
    """An upper bound for the size in bytes of a file with such tensors."""
    tensors = sum(dtype.itemsize * math.prod(shape) for dtype, shape in specs.values())
    return 2**16 + tensors + sum(2**8 + len(name) for name in specs)


def weights_of(model: Seq2Seq) -> Tensors:
    """The parameters and buffers of a model; a shared one appears once, under its first name."""
    weights: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        weights.setdefault(id(tensor), (name, tensor.detach()))
    return dict(weights.values())


def load_weights(model: Seq2Seq, weights: Tensors) -> None:
    """Copy weights with the model's specs into the model."""
    for name, tensor in weights_of(model).items():
        tensor.copy_(weights[name])
