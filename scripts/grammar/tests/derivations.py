"""Derivations written as rows of `gold_pairs.toml`.

says = "A; wollen; kommen"       a clause in the notation of `notation.Reader`
form = "question"                or "command"; the default is a statement
first                            the part that comes first: a role (object) or a slot (time) of the clause
before = "wenn: es; regnen"      the clause before it; joined = ["weil: …", "wenn|when: …"]: the clauses after it
complement = "dass: …"           or "zu: …", "bare: …", "warum: …"
object = { … }                   additions to a role (also subject and predicate):
                                 relative = "R; singen", possessor = "mein Vater", attribute = "in ein blau Hemd",
                                 own = true, determiner = "wie_viele"
ago = "drei Woche+pl"            A = "mein Vater und mein Mutter": the meaning of a letter
opening = "Hallo; Anna"          ending = "oder": parts before and after
"""

from typing import Any

from grammar.german import PRONOUNS
from grammar.lexicon import Entity, ProperName, Verb, lexicon
from grammar.meaning import (
    Clause,
    Joined,
    Name,
    Nominal,
    NounPhrase,
    Prepositional,
    Relative,
    RelativePronoun,
    Sentence,
    subject_key,
)
from grammar.notation import Reader, prepositional

_ROLES = ("subject", "object", "predicate")
ROW_KEYS = frozenset(
    (
        "says",
        "form",
        "first",
        "german",
        "english",
        "opening",
        "ending",
        "before",
        "joined",
        "complement",
        "ago",
        *_ROLES,
        *"ABCX",
    )
)


def only_one(kind: str, verb: Verb | None) -> Entity:
    """Allow no choice in a row; digits stay as they are."""
    if kind.isdecimal():
        return ProperName(kind, {})
    raise AssertionError(f"nothing is chosen here: {kind}")


def derivation(row: dict[str, Any]) -> Sentence:
    """The derivation written in a row."""
    assert set(row) <= ROW_KEYS, set(row) - ROW_KEYS
    letters: dict[str, Nominal] = {letter: nominal(row[letter]) for letter in "ABCX" if letter in row}
    reader = Reader(only_one, letters)
    before = _joined(reader, row["before"]) if "before" in row else None
    clause = reader.clause(row["says"])
    _dress(clause, row)
    if "complement" in row:
        clause.complement = _complement(reader, row["complement"])
    if "ago" in row:
        clause.adverbials.append(
            Prepositional("vor", "ago", nominal(row["ago"]), "time", after=True),
        )
    return Sentence(
        clause,
        row.get("form", "statement"),
        first=part_of(clause, row["first"]) if "first" in row else None,
        before=before,
        joined=tuple(_joined(reader, text) for text in row.get("joined", ())),
        opening=_asides(row.get("opening", "")),
        ending=_asides(row.get("ending", "")),
    )


def _asides(text: str) -> tuple[str | Name, ...]:
    """The parts before or after a sentence: Hallo; Anna."""
    return tuple(Name(lexicon().names[part]) if part in lexicon().names else part for part in text.split("; ") if part)


def nominal(text: str) -> Nominal:
    """A nominal, or a list of them."""
    return Reader(only_one).nominal(text)


def part_of(clause: Clause, name: str) -> object:
    """The part of a clause with this role or in this slot."""
    return getattr(clause, name) if hasattr(clause, name) else clause.in_slot(name)[0]


def _dress(clause: Clause, row: dict[str, Any]) -> None:
    for role in _ROLES:
        added = dict(row.get(role, {}))
        if not added:
            continue
        phrase = getattr(clause, role)
        assert isinstance(phrase, NounPhrase), phrase
        phrase.determiner = added.pop("determiner", phrase.determiner)
        if added.pop("own", False):
            phrase.own = PRONOUNS[subject_key(clause.subject)]["own"]
        if "possessor" in added:
            phrase.possessor = nominal(added.pop("possessor"))
        if "attribute" in added:
            preposition, _, governed = added.pop("attribute").partition(" ")
            phrase.attribute = prepositional(preposition, nominal(governed))
            phrase.attribute.slot = "attribute"
        if "relative" in added:
            phrase.relative = _relative(phrase, added.pop("relative"))
        assert not added, added


def _relative(phrase: NounPhrase, text: str) -> Relative:
    pronoun = RelativePronoun(phrase)
    clause = Reader(only_one, {"R": pronoun}).clause(text)
    with_it = [part for part in clause.adverbials if isinstance(part, Prepositional) and part.object is pronoun]
    return Relative(clause, with_it[0] if with_it else pronoun)


def _joined(reader: Reader, text: str) -> Joined:
    joiner, _, rest = text.partition(": ")
    german, _, english = joiner.partition("|")
    return Joined(german, reader.clause(rest), english)


def _complement(reader: Reader, text: str) -> Joined:
    kind, _, rest = text.partition(": ")
    if kind not in ("zu", "bare"):
        return _joined(reader, text)
    clause = Reader(only_one).clause(f"man; {rest}")
    clause.subject = None
    return Joined(kind, clause)
