"""Words that remember which part of a derivation they say and on which word they depend."""

from collections.abc import Iterable
from dataclasses import dataclass

from transformer_mt.corpus.pairs import Node, Tree

# The part of a derivation that a word says: a node of it and a role, such as (clause, "verb") or (phrase, "noun").
Origin = tuple[object, str]

MARKS = frozenset(",.?!…:")


@dataclass(eq=False, slots=True)
class Word:
    """A word or a mark; a German and an English word are linked when they share an origin.

    `part_of_speech` and `relation` are those of Universal Dependencies; the head of a root is None. A relative pronoun
    also remembers its antecedent.
    """

    text: str
    part_of_speech: str
    origins: tuple[Origin, ...] = ()
    head: "Word | None" = None
    relation: str = "root"
    antecedent: "Word | None" = None


def mark(text: str) -> Word:
    """A comma or another mark."""
    return Word(text, "PUNCT", relation="punct")


def root_of(said: Iterable[Word]) -> Word:
    """The word of a phrase on which the others depend."""
    return next(word for word in said if word.head is None and word.relation != "punct")


def attach(said: list[Word], head: Word, relation: str) -> list[Word]:
    """Make a phrase depend on a word that is not in it."""
    if said:
        root = root_of(said)
        root.head, root.relation = head, relation
    return said


def spell(text: str, part_of_speech: str, *origins: Origin, relation: str = "fixed") -> list[Word]:
    """The words of `text`, all with the same origins; the later ones depend on the first."""
    said = [Word(word, part_of_speech, origins) for word in text.split()]
    for word in said[1:]:
        word.head, word.relation = said[0], relation
    return said


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
    text = "".join(word.text if word.text in MARKS else " " + word.text for word in sentence).strip()
    return text[:1].upper() + text[1:]


def links(german: list[Word], english: list[Word]) -> tuple[tuple[int, int], ...]:
    """Which words share an origin. Marks have none."""
    places: dict[Origin, list[int]] = {}
    for place, word in enumerate(english):
        for origin in word.origins:
            places.setdefault(origin, []).append(place)
    found = {(i, j) for i, word in enumerate(german) for origin in word.origins for j in places.get(origin, ())}
    return tuple(sorted(found))


def tree(sentence: list[Word]) -> Tree:
    """The structure of a sentence; marks hang on its root."""
    places = {id(word): place for place, word in enumerate(sentence)}
    root = places[id(root_of(sentence))]
    return tuple(
        Node(
            word.part_of_speech,
            word.relation,
            (root if word.relation == "punct" else -1) if word.head is None else places[id(word.head)],
            None if word.antecedent is None else places[id(word.antecedent)],
        )
        for word in sentence
    )
