"""Derived random seeds."""

import hashlib


def derive_seed(*numbers: int) -> int:
    """Derive a 63-bit seed from several numbers: the start of their SHA-256, so near numbers give unrelated seeds."""
    digest = hashlib.sha256(",".join(map(str, numbers)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
