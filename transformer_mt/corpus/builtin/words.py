"""Words that remember which part of a derivation they say, and how two lists of them become a linked pair."""

from collections.abc import Iterable
from dataclasses import dataclass

from transformer_mt.corpus.pairs import SentencePair

# The part of a derivation that a word says: a node of it and a role, such as (clause, "verb") or (phrase, "noun").
Origin = tuple[object, str]

_MARKS = frozenset(",.?!…")


@dataclass(frozen=True, slots=True)
class Word:
    """A word or a mark; a German and an English word are linked when they share an origin."""

    text: str
    origins: tuple[Origin, ...] = ()


COMMA = Word(",")


def spell(text: str, *origins: Origin) -> list[Word]:
    """The words of `text`, each with all of the origins: for what is linked as a whole."""
    return [Word(word, origins) for word in text.split()]


def tidy(sentence: Iterable[Word]) -> list[Word]:
    """Leave out every comma that stands at the start, at the end, or directly after another comma."""
    kept: list[Word] = []
    for word in sentence:
        if word.text == "," and (not kept or kept[-1].text == ","):
            continue
        kept.append(word)
    while kept and kept[-1].text == ",":
        kept.pop()
    return kept


def text_of(sentence: Iterable[Word]) -> str:
    """The written sentence, with a capital at the start and marks closed up to the word before them."""
    text = "".join(word.text if word.text in _MARKS else " " + word.text for word in sentence).strip()
    return text[:1].upper() + text[1:]


def linked_pair(german: list[Word], english: list[Word]) -> SentencePair:
    """The sentence pair, linked wherever a German and an English word share an origin. Marks have no links."""
    places: dict[Origin, list[int]] = {}
    for place, word in enumerate(english):
        for origin in word.origins:
            places.setdefault(origin, []).append(place)
    links = {(i, j) for i, word in enumerate(german) for origin in word.origins for j in places.get(origin, ())}
    return SentencePair(text_of(german), text_of(english), tuple(sorted(links)))
