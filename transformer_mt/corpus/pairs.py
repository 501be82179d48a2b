"""Sentence pairs and the words that their links count."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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

_WORD = re.compile(r"\w+(?:['’\-]\w+)*|…|\.\.\.|[^\w\s]")


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


def words(text: str) -> list[str]:
    """The words and punctuation marks of `text`, in order: `don't` and `well-known` are one word, `,` is one too."""
    return _WORD.findall(text)
