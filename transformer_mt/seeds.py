"""Seeds of random numbers."""

import hashlib


def derive_seed(*numbers: int) -> int:
    """One 63-bit seed of several numbers: the first bytes of their SHA-256, so near numbers give unrelated seeds."""
    digest = hashlib.sha256(",".join(map(str, numbers)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
