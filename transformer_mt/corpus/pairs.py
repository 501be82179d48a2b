"""Sentence pairs and the words that their links count."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# A link is (source word, target word), both counted from 0 over `words(text)`.
Link = tuple[int, int]

_WORD = re.compile(r"\w+(?:['’\-]\w+)*|…|\.\.\.|[^\w\s]")


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence, its translation and, where the corpus knows them, the links between their words."""

    source: str
    target: str
    links: tuple[Link, ...] | None = None

    def reversed(self) -> "SentencePair":
        """The same pair in the other direction."""
        links = None if self.links is None else tuple(sorted((target, source) for source, target in self.links))
        return SentencePair(self.target, self.source, links)


Pairs = Sequence[SentencePair]


def words(text: str) -> list[str]:
    """The words and punctuation marks of `text`, in order: `don't` and `well-known` are one word, `,` is one too."""
    return _WORD.findall(text)
