"""The fingerprint of a split: enough to tell that data changed, and where first."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Fingerprint:
    """The number of cleaned pairs of a split, a digest of them all, and four bytes of each pair's own digest.

    The number of a stream is unknown; its `digest` is that of its files.
    """

    rows: int
    digest: str
    row_digests: bytes

    @classmethod
    def of(cls, hashes: Hashes) -> "Fingerprint":
        """The fingerprint of a split, from the `pair_hash` of each of its pairs in their order."""
        content = hashes.astype("<u8")
        digest = hashlib.blake2b(content.tobytes(), digest_size=16).hexdigest()
        return cls(len(hashes), digest, content.astype("<u4").tobytes())

    @classmethod
    def of_stream(cls, identity: Iterable[str]) -> "Fingerprint":
        """The fingerprint of a stream, from texts that change whenever it does."""
        return cls(0, hashlib.blake2b("\n".join(identity).encode(), digest_size=16).hexdigest(), b"")

    def first_difference(self, other: "Fingerprint") -> int | None:
        """The first pair, from 0, in which two splits differ, or the end of the shorter; None where none is known."""
        if self.digest == other.digest or not (self.row_digests and other.row_digests):
            return None
        ours, theirs = (np.frombuffer(split.row_digests, "<u4") for split in (self, other))
        shorter = min(len(ours), len(theirs))
        different = np.flatnonzero(ours[:shorter] != theirs[:shorter])
        return int(different[0]) if len(different) else shorter if len(ours) != len(theirs) else None


def pair_hash(source: str, target: str) -> int:
    """Eight bytes of the BLAKE2b of a cleaned pair, in which no text has a line end."""
    digest = hashlib.blake2b(f"{source}\n{target}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
