"""Weights as files: named tensors in the safetensors format, and how a model takes them.

A file's header says which tensors follow. It is read and judged first; the tensors are read, once, only when their
names, types and shapes are those that were expected.
"""

import hashlib
import io
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from transformer_mt.errors import MachineError
from transformer_mt.files import parse_json
from transformer_mt.models.seq2seq import Seq2Seq

# The type and shape of every tensor by its name.
Layout = dict[str, tuple[torch.dtype, tuple[int, ...]]]

_DTYPES = {"F32": torch.float32, "I64": torch.int64, "U8": torch.uint8}
_LONGEST_HEADER = 2**24
_MOST_DIMENSIONS = 8
_SUMS = "sums"


@dataclass(frozen=True)
class Header:
    """What the first bytes of a file in the safetensors format say of the rest, the tensors in their order."""

    layout: Layout
    sums: dict[str, str]


def pack(tensors: Mapping[str, Tensor], sums: dict[str, str] | None = None) -> bytes:
    """Named tensors in the safetensors format, with the sums of the files that they belong to."""
    contiguous = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
    # In one entry, since the library writes several in an order of its own each time.
    packed: bytes = safetensors.torch.save(contiguous, sums and {_SUMS: json.dumps(sums)})
    return packed


def unpack(content: bytes, expected: Layout, *, path: Path, free: re.Pattern[str] | None = None) -> dict[str, Tensor]:
    """The tensors that `pack` packed; `path` names the file in errors. Nothing in the file can execute.

    Raises `MachineError` where they are not those expected, others whose names match `free` aside, or not
    numbers that training writes.
    """
    file = io.BytesIO(content)
    header = read_header(file, path=path)
    known = {n: kind for n, kind in header.layout.items() if n in expected or not (free and free.fullmatch(n))}
    require_layout(known, expected, path=path)
    return read_tensors(file, header, path=path)


def read_header(file: BufferedIOBase, *, path: Path) -> Header:
    """The header of a file, of which the tensors must be the whole rest, without a gap."""
    try:
        size = size_of(file)
        length = int.from_bytes(file.read(8), "little")
        if length > min(_LONGEST_HEADER, size - 8):
            raise ValueError
        entries = parse_json(file.read(length))
        sums = parse_json(entries.pop("__metadata__", {}).get(_SUMS, "{}"))
        if not all(isinstance(text, str) for text in sums.values()):
            raise ValueError
        layout, end = {}, 0
        for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
            layout[name], end = _read_entry(entry, start=end, most=size)
        if end != size - 8 - length:
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError):
        raise MachineError(f"{path}: damaged or not a safetensors file; restore it or train anew") from None
    return Header(layout, sums)


def _read_entry(entry: dict[str, Any], *, start: int, most: int) -> tuple[tuple[torch.dtype, tuple[int, ...]], int]:
    """Type and shape of a tensor whose bytes begin at `start`, and where they end."""
    dtype, shape = _DTYPES[entry["dtype"]], entry["shape"]
    if len(shape) > _MOST_DIMENSIONS or not all(type(n) is int and 0 < n <= most for n in shape):
        raise ValueError
    end = start + dtype.itemsize * math.prod(shape)
    if entry != {"dtype": entry["dtype"], "shape": shape, "data_offsets": [start, end]}:
        raise ValueError
    return (dtype, tuple(shape)), end


def require_layout(found: Layout, expected: Layout, *, path: Path) -> None:
    """Raise `MachineError` when a file does not hold the tensors expected."""
    if found != expected:
        raise MachineError(f"{path}: the weights do not fit config.toml; restore both files from the same run")


def read_tensors(file: BufferedIOBase, header: Header, *, path: Path) -> dict[str, Tensor]:
    """The tensors of a file whose header has been read. Refuses numbers that are not finite, and counts below 0."""
    tensors = {}
    for name, (dtype, shape) in header.layout.items():
        tensor = tensors[name] = torch.empty(shape, dtype=dtype)
        if file.readinto(_bytes(tensor)) != tensor.nbytes:
            raise MachineError(f"{path}: became shorter while it was read; try again")
        if not tensor.isfinite().all() or (dtype == torch.int64 and tensor.min() < 0):
            raise MachineError(f"{path}: the weights are not finite ({name}); restore it or train anew")
    return tensors


def size_of(file: BufferedIOBase) -> int:
    """The bytes of an open file, wherever in it we are."""
    place = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(place)
    return size


def digest(tensors: Mapping[str, Tensor]) -> str:
    """The SHA-256 of names, types, shapes and bytes, in the order of the names."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].contiguous().cpu()
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        found.update(_bytes(tensor))
    return found.hexdigest()


def layout_of(tensors: Mapping[str, Tensor]) -> Layout:
    """The type and shape of every tensor."""
    return {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()}


def size_limit(layout: Layout) -> int:
    """More bytes than any file of tensors with this layout has."""
    tensors = sum(dtype.itemsize * math.prod(shape) for dtype, shape in layout.values())
    return 2**16 + tensors + sum(2**8 + len(name) for name in layout)


def weights_of(model: Seq2Seq) -> dict[str, Tensor]:
    """The parameters and buffers of a model, a shared one under one name only."""
    weights: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        weights.setdefault(id(tensor), (name, tensor.detach()))
    return dict(weights.values())


def load_weights(model: Seq2Seq, weights: Mapping[str, Tensor]) -> None:
    """Fill a model with weights of its layout."""
    for name, tensor in weights_of(model).items():
        tensor.copy_(weights[name])


def _bytes(tensor: Tensor) -> memoryview:
    """The memory of a contiguous tensor of the CPU."""
    return tensor.reshape(-1).view(torch.uint8).numpy().data
