"""Sentence pairs, their word links, and the fingerprint of a split."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# (source word, target word), both counted from 0 over `words(text)`.
Link = tuple[int, int]


Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence, its translation and, if the corpus has them, the links between their words.

    `references` are other correct translations of the source, `source_references` other correct sources of the
    target.
    """

    source: str
    target: str
    links: tuple[Link, ...] | None = None
    references: tuple[str, ...] = ()
    source_references: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (isinstance(self.source, str) and isinstance(self.target, str)):
            raise TypeError("SentencePair: source and target must be texts")
        if isinstance(self.references, str) or isinstance(self.source_references, str):
            raise TypeError("SentencePair: references and source_references must be tuples of texts")

    @property
    def translations(self) -> tuple[str, ...]:
        """All known correct translations of the source, the target first."""
        return (self.target, *self.references)

    def reversed(self) -> "SentencePair":
        """The pair with source and target swapped."""
        links = None if self.links is None else tuple(sorted((target, source) for source, target in self.links))
        return SentencePair(self.target, self.source, links, self.source_references, self.references)


Pairs = Sequence[SentencePair]
# What the Python API takes for a pair.
AnyPair = SentencePair | tuple[str, str]


def as_pairs(given: Sequence[AnyPair]) -> list[SentencePair]:
    """The pairs that a caller gave, each as a `SentencePair` or as (source, target)."""
    return [pair if isinstance(pair, SentencePair) else SentencePair(*pair) for pair in given]


def format_links(links: Sequence[Link]) -> str:
    """Format links in Pharaoh format, `0-0 1-2 …`, sorted by source word."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


@dataclass(frozen=True)
class Fingerprint:
    """The number of cleaned pairs in a split, a digest of all, and four bytes of each pair's digest."""

    rows: int
    digest: str
    row_digests: bytes

    @classmethod
    def of(cls, hashes: Hashes) -> "Fingerprint":
        """Fingerprint a split from the `pair_hash` of its pairs, in order."""
        content = hashes.astype("<u8")
        digest = hashlib.blake2b(content.tobytes(), digest_size=16).hexdigest()
        return cls(len(hashes), digest, content.astype("<u4").tobytes())


def pair_hash(source: str, target: str) -> int:
    """Eight bytes of the BLAKE2b of a cleaned pair, whose texts contain no line breaks."""
    digest = hashlib.blake2b(f"{source}\n{target}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
