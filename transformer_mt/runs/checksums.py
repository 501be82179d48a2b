"""The sums of a run's files: those that a file of tensors was saved with, and those of what is read now."""

import hashlib
from typing import Any

from pydantic_core import from_json


def saved_sums(content: bytes) -> dict[str, str]:
    """The sums that `pack` wrote, from the head of a file. Empty without any."""
    try:
        sums = from_json(_head(content)["__metadata__"]["sums"])
    except (KeyError, TypeError, ValueError):
        return {}
    return sums if isinstance(sums, dict) else {}


def declared_size(content: bytes) -> int | None:
    """The bytes that a file of tensors has by its head; None for a damaged head."""
    try:
        ends = [0, *(entry["data_offsets"][1] for name, entry in _head(content).items() if name != "__metadata__")]
        return 8 + int.from_bytes(content[:8], "little") + max(ends)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None


def sha256(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def _head(content: bytes) -> Any:
    """The JSON before the tensors, whose length stands in the first eight bytes."""
    return from_json(content[8 : 8 + int.from_bytes(content[:8], "little")])
