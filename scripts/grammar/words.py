"""Words that record the part of the derivation they express and the word they depend on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grammar.trees import Node, Tree
from transformer_mt.text.words import words

# The part of a derivation that a word expresses: a node and a role, such as (clause, "verb") or (phrase, "noun").
Origin = tuple[object, str]

MARKS = frozenset(",.?!…:")


@dataclass(eq=False, slots=True)
class Word:
    """A word or a mark; a German and an English word are linked if they share an origin.

    `part_of_speech` and `relation` follow Universal Dependencies; the head of a root is None. A relative pronoun also
    records its antecedent.
    """

    text: str
    part_of_speech: str
    origins: tuple[Origin, ...] = ()
    head: "Word | None" = None
    relation: str = "root"
    antecedent: "Word | None" = None
    close: bool = False  # written without a space before it


Said = list[Word]


def mark(text: str) -> Word:
    """A comma or another mark."""
    return Word(text, "PUNCT", relation="punct")


def spell(text: str, part_of_speech: str, *origins: Origin, relation: str = "fixed", last: bool = False) -> Said:
    """The words of `text`, all with the same origins; they depend on the first or the `last` of them."""
    said = [Word(word, part_of_speech, origins) for word in text.split()]
    for word in said if len(said) > 1 else ():
        head = said[-1 if last else 0]
        if word is not head:
            word.head, word.relation = head, relation
    return said


def root_of(said: Iterable[Word]) -> Word:
    """The root word of a phrase."""
    for word in said:
        if word.head is None and word.relation != "punct":
            return word
    raise ValueError("a phrase without a root")


def attach(said: Said, head: Word, relation: str) -> Said:
    """Make a phrase depend on a word outside it."""
    if said:
        root = root_of(said)
        root.head, root.relation = head, relation
    return said


def going_on(said: Said, earlier: Said, root: Word, subject: object, *, keep: bool) -> tuple[Said, Word | None]:
    """A clause without its subject and, unless `keep`, the auxiliaries it shares with `earlier`; its new head.

    Ich muss aufstehen und frühstücken: I have to get up and have breakfast.
    """
    (shared, main), (same, verb) = _operators(earlier, root), _operators(said, root_of(said))
    said = [word for word in said if (subject, "pronoun") not in word.origins]
    if keep or not same or [(one.text, one.relation) for one in same] != [(one.text, one.relation) for one in shared]:
        return said, None
    for word in said:
        word.head = verb if word.head in same else word.head
    verb.head = None
    return [word for word in said if word not in same], main


def _operators(said: Said, root: Word) -> tuple[Said, Word]:
    """The auxiliaries of a clause, including a verb that takes the full verb with to, and the full verb."""
    marks = {word.head: word for word in said if (word.text, word.relation) == ("to", "mark")}
    verb = next((word for word in said if word.head is root and word.relation == "xcomp" and word in marks), root)
    found = [word for word in said if word.relation in ("aux", "cop") and word.head in (root, verb)]
    return ([*found, root, marks[verb]], verb) if verb is not root else (found, verb)


def before(added: Said, said: Said, relation: str) -> Said:
    """The phrase with another phrase before it, which depends on its root."""
    return [*attach(added, root_of(said), relation), *said] if added else said


def tidy(sentence: Iterable[Word]) -> Said:
    """Drop commas at the start, at the end, or directly after another comma; split numbers such as 14:30 into three."""
    kept: Said = []
    for word in sentence:
        if word.text != "," or (kept and kept[-1].text != ","):
            kept += [word, *_pieces(word)]
    return kept[:-1] if kept[-1].text == "," else kept


def _pieces(word: Word) -> Iterator[Word]:
    """The parts of a number after the first: its marks and digits."""
    if not word.text.isalpha():
        word.text, *rest = words(word.text)
        for place, text in enumerate(rest):
            if text in MARKS:
                yield Word(text, "PUNCT", relation="punct", close=True)
            else:
                origins = tuple((node, f"{role} {place}"[: None if text != "’" else -2]) for node, role in word.origins)
                yield Word(text, word.part_of_speech, origins, word, "flat", close=True)


def text_of(sentence: Iterable[Word]) -> str:
    """The written sentence, with a capital at the start and no space before marks."""
    said = "".join(word.text if word.close or word.text in MARKS else f" {word.text}" for word in sentence)
    return capital(said.strip())


def capital(text: str) -> str:
    """The text with an initial capital."""
    return text[:1].upper() + text[1:]


def links(german: Said, english: Said) -> tuple[tuple[int, int], ...]:
    """The pairs of words that share an origin; marks have none."""
    places: dict[Origin, list[int]] = {}
    for place, word in enumerate(english):
        for origin in word.origins:
            places.setdefault(origin, []).append(place)
    found = {(i, j) for i, word in enumerate(german) for origin in word.origins for j in places.get(origin, ())}
    return tuple(sorted(found))


def tree(sentence: Said) -> Tree:
    """The structure of a sentence; marks depend on its root."""
    places = {id(word): place for place, word in enumerate(sentence)}
    heads = {"root": -1, "punct": places[id(root_of(sentence))]}

    def node(word: Word) -> Node:
        head = heads[word.relation] if word.head is None else places[id(word.head)]
        antecedent = None if word.antecedent is None else places[id(word.antecedent)]
        return Node(word.part_of_speech, word.relation, head, antecedent)

    return tuple(map(node, sentence))
