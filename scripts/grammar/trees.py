"""Sentence pairs with dependency trees."""

from dataclasses import dataclass
from typing import NamedTuple

from typing_extensions import override

from transformer_mt.corpus.pairs import SentencePair


class Node(NamedTuple):
    """A word or punctuation mark in Universal Dependencies (de Marneffe et al. 2021): part of speech and relation.

    `head` is the word it depends on, counted from 0 over `words(text)`, or -1 for the root. `antecedent` is the word
    that a relative pronoun refers to.
    """

    part_of_speech: str
    relation: str
    head: int
    antecedent: int | None = None


# One node for each of `words(text)`.
Tree = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ParsedPair(SentencePair):
    """A sentence pair with the trees of source and target, if it comes from the grammar."""

    structure: tuple[Tree, Tree] | None = None

    @override
    def reversed(self) -> "ParsedPair":
        pair = SentencePair.reversed(self)
        structure = self.structure and (self.structure[1], self.structure[0])
        return ParsedPair(pair.source, pair.target, pair.links, pair.references, pair.source_references, structure)
