"""The sums of a run's files: those that a file of weights was saved with, and those of what is read now."""

import hashlib

from pydantic_core import from_json


def saved_sums(content: bytes) -> dict[str, str]:
    """The sums that `pack` wrote, from the head of a file: its length in eight bytes, then JSON. Empty without any."""
    try:
        header = content[8 : 8 + int.from_bytes(content[:8], "little")]
        sums = from_json(from_json(header)["__metadata__"]["sums"])
    except (KeyError, TypeError, ValueError):
        return {}
    return sums if isinstance(sums, dict) else {}


def sha256(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
