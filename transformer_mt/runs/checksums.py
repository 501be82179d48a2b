"""Checksums of a run's files: the saved ones, and the sums of the bytes as they are read now."""

import hashlib

from pydantic_core import from_json


def saved_sums(content: bytes) -> dict[str, str]:
    """The sums that `pack` wrote, from the JSON at the head of a file. Empty without any."""
    size = int.from_bytes(content[:8], "little")
    try:
        sums = from_json(from_json(content[8 : 8 + size])["__metadata__"]["sums"])
    except (KeyError, TypeError, ValueError):
        return {}
    return sums if isinstance(sums, dict) else {}


def sha256(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
