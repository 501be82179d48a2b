"""Checksums of a run's files: the saved ones, and those computed from the bytes just read."""

import hashlib
from pathlib import Path

from pydantic_core import from_json

from transformer_mt.ground.errors import MachineError

# The sum of the tensors as they are loaded, if a file holds them in less precision.
LOADED = "loaded"
# torch's names for the types in a safetensors file.
_TYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip


def saved_sums(content: bytes) -> dict[str, str]:
    """The sums that `pack` wrote, from the JSON header of a file; empty if it has none."""
    size = int.from_bytes(content[:8], "little")
    try:
        sums = from_json(from_json(content[8 : 8 + size])["__metadata__"]["sums"])
    except (KeyError, TypeError, ValueError):
        return {}
    return sums if isinstance(sums, dict) else {}


def require_intact(content: bytes, path: Path) -> None:
    """Raise `MachineError` unless the tensors of a file match the sum saved in it. Does not import torch."""
    try:
        intact = saved_sums(content).get("tensors") == digest_in(content)
    except (AttributeError, KeyError, TypeError, ValueError):
        intact = False
    if not intact:
        raise MachineError(path, "damaged (its SHA-256 is not the one in it)", "restore it or train again")


def digest_in(content: bytes) -> str:
    """The SHA-256 of names, types, shapes and bytes of the tensors in a file, sorted by name."""
    start = 8 + int.from_bytes(content[:8], "little")
    entries = from_json(content[8:start])
    data = memoryview(content)[start:]
    sha = hashlib.sha256()
    for name in sorted(entries.keys() - {"__metadata__"}):
        first, end = entries[name]["data_offsets"]
        sha.update(f"{name} torch.{_TYPES[entries[name]['dtype']]} {tuple(entries[name]['shape'])}\n".encode())
        sha.update(data[first:end])
    return sha.hexdigest()


def sha256(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
