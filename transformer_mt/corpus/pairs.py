"""Sentence pairs, the links between their words, and the fingerprint of a split."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# A link is (source word, target word), both counted from 0 over `words(text)`.
Link = tuple[int, int]


class Node(NamedTuple):
    """A word or mark in Universal Dependencies (de Marneffe et al. 2021): its part of speech and its relation.

    `head` is the word that it depends on, counted from 0 over `words(text)`, and -1 for the root; `antecedent` is the
    word that a relative pronoun stands for.
    """

    part_of_speech: str
    relation: str
    head: int
    antecedent: int | None = None


# A node for each of `words(text)`.
Tree = tuple[Node, ...]

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence, its translation and, where the corpus knows them, the links between their words.

    A corpus may also know `references`, further right translations of the source; `source_references`, further right
    sources of the target; and `structure`, the dependency trees of source and target.
    """

    source: str
    target: str
    links: tuple[Link, ...] | None = None
    references: tuple[str, ...] = ()
    source_references: tuple[str, ...] = ()
    structure: tuple[Tree, Tree] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.source, str) and isinstance(self.target, str)):
            raise TypeError("SentencePair: source and target are texts")
        if isinstance(self.references, str) or isinstance(self.source_references, str):
            raise TypeError("SentencePair: references and source_references are tuples of texts")

    @property
    def translations(self) -> tuple[str, ...]:
        """Every translation of the source that is known to be right, the target first."""
        return (self.target, *self.references)

    def reversed(self) -> "SentencePair":
        """The pair in the other direction."""
        links = None if self.links is None else tuple(sorted((target, source) for source, target in self.links))
        structure = None if self.structure is None else (self.structure[1], self.structure[0])
        return SentencePair(self.target, self.source, links, self.source_references, self.references, structure)


Pairs = Sequence[SentencePair]


def format_links(links: Sequence[Link]) -> str:
    """Links in Pharaoh format, `0-0 1-2 …`, in the order of source words."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


@dataclass(frozen=True)
class Fingerprint:
    """The number of cleaned pairs of a split, a digest of them all, and four bytes of each pair's own digest."""

    rows: int
    digest: str
    row_digests: bytes

    @classmethod
    def of(cls, hashes: Hashes) -> "Fingerprint":
        """The fingerprint of a split, from the `pair_hash` of each of its pairs in their order."""
        content = hashes.astype("<u8")
        digest = hashlib.blake2b(content.tobytes(), digest_size=16).hexdigest()
        return cls(len(hashes), digest, content.astype("<u4").tobytes())

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
