"""The lexicon: the rows of the TOML files beside this module, as objects that the grammar can ask.

Every key of a row is a field of its class, so a misspelled key is an error. The files' head comments explain the keys.
"""

import tomllib
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal

Gender = Literal["m", "f", "n"]
Case = Literal["nominative", "accusative", "dative", "genitive"]
CASES: tuple[Case, ...] = ("nominative", "accusative", "dative", "genitive")

_GENDERS: dict[str, Gender] = {"der": "m", "die": "f", "das": "n"}


def table(name: str) -> dict[str, Any]:
    """A TOML file of this folder."""
    rows: dict[str, Any] = tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return rows


CLOSED = table("closed")


@dataclass(eq=False)
class Noun:
    """A common noun and its translation."""

    key: str
    english: str
    kinds: str
    article: str = "die"
    plural: str = ""
    genitive: str = ""
    english_plural: str = ""
    mass: bool = False
    weak: bool = False
    plural_only: bool = False
    shared: bool = False
    measure: bool = False
    unseen: bool = False
    both: bool = False
    fixed_noun: bool = False
    in_english: str = ""
    bare: str = ""
    holds: str = ""
    of: str = ""
    part_of: str = ""
    place: str = ""
    goal: str = ""
    spot: str = ""
    path: str = ""
    origin: str = ""
    worn: str = ""
    when: str = ""
    owned: str = ""

    @cached_property
    def kind_set(self) -> frozenset[str]:
        """The kinds, one by one."""
        return frozenset(self.kinds.split())

    @property
    def gender(self) -> Gender:
        """That of the article."""
        return _GENDERS[self.article]


@dataclass(eq=False)
class ProperName:
    """A name of a person, town or country, and its English form."""

    key: str
    kind: str
    english: str = ""
    gender: Gender = "n"
    article: str = ""
    unseen: bool = False

    @property
    def kind_set(self) -> frozenset[str]:
        """What it names."""
        return frozenset((self.kind, "name"))


Entity = Noun | ProperName


@dataclass(eq=False)
class Adverb:
    """An adverb or fixed phrase; `slot` is its place in the sentence, `tenses` where it may be said."""

    key: str
    slot: str
    english: str
    tenses: frozenset[str] = frozenset()
    middle: bool = False
    stranded: str = ""


@dataclass(eq=False)
class Adjective:
    """An adjective, its comparative, and the nouns it may describe."""

    key: str
    english: str
    suits: str
    compares: str = ""
    attributive: str = ""
    comparative: str = ""
    better: str = ""
    before: bool = True
    graded: bool = True
    too: bool = False
    passing: bool = False
    colour: bool = False
    predicate: bool = True
    definite: bool = False
    indeclinable: bool = False
    with_ein: str = ""

    @property
    def german(self) -> str:
        """The word, without what tells two senses apart."""
        return self.key.partition(" (")[0]


@dataclass(eq=False)
class Verb:
    """A verb, its translation, and the nouns that suit it."""

    key: str
    english: str
    past: str = ""
    particle: str = ""
    preposition: str = ""
    vowel: str = ""
    du_er: str = ""
    participle: str = ""
    aux: str = "haben"
    case: Case = "accusative"
    subject: str = "person"
    object: str = ""
    recipient: str = ""
    recipient_object: str = ""
    recipient_preposition: str = ""
    needs_recipient: bool = False
    aspect: Literal["state", "habit", "activity", "event"] = "activity"
    without: str = ""
    complements: str = ""
    weight: float = 1.0
    place: str = ""
    goal: str = ""
    path: str = ""
    onto: str = ""
    origin: str = ""
    by: str = ""
    manner: str = ""
    needs_place: bool = False
    spot: str = ""
    object_is: Literal["definite", "indefinite", "either", "bare", "own", "generic"] = "either"
    object_number: str = ""
    subject_is: str = ""
    anything: bool = False
    subject_anything: bool = False
    company: bool = False
    benefit: bool = False
    able: bool = False
    command: bool = False
    fixed: str = ""
    reflexive: str = ""
    reflexive_english: bool = False
    swap: bool = False
    timetable: bool = False
    asks: str = ""
    takes: str = ""
    named: bool = False
    would: bool = False
    gern: bool = False
    ahead: str = ""
    seen: bool = False
    particle_last: bool = False

    @cached_property
    def _infinitive_and_rest(self) -> tuple[str, str]:
        words = self.key.partition(" (")[0].split()
        verb, *preposition = [word for word in words if word not in ("sich", *self.fixed.split())]
        return verb, " ".join(preposition)

    @property
    def prefix(self) -> str:
        """The separable prefix, or nothing."""
        return self._infinitive_and_rest[0].rpartition("|")[0]

    @property
    def infinitive(self) -> str:
        """The infinitive without its prefix."""
        return self._infinitive_and_rest[0].rpartition("|")[2]

    @property
    def governs(self) -> str:
        """The German preposition of its object, or nothing."""
        return self._infinitive_and_rest[1]

    @cached_property
    def without_set(self) -> frozenset[str]:
        """The ways of saying when that make no sense."""
        return frozenset(self.without.split())


@dataclass(eq=False)
class Lexicon:
    """All entries, by key, in the order of the files."""

    nouns: dict[str, Noun]
    names: dict[str, ProperName]
    adjectives: dict[str, Adjective]
    adverbs: dict[str, dict[str, Adverb]]
    verbs: dict[str, Verb]
    _selected: dict[str, tuple[Entity, ...]] = field(default_factory=dict)

    def select(self, wanted: str) -> tuple[Entity, ...]:
        """The nouns and names that `wanted` lists: kinds in lower case, entries by name, exceptions after a minus."""
        if wanted not in self._selected:
            items = wanted.split()
            excluded = {item[1:] for item in items if item.startswith("-")}
            included = {item for item in items if not item.startswith("-")}
            entities: list[Entity] = [*self.nouns.values(), *self.names.values()]
            unknown = (included | excluded) - {name for entity in entities for name in (entity.key, *entity.kind_set)}
            assert not unknown, f"the lexicon knows no noun and no kind {sorted(unknown)}"
            self._selected[wanted] = tuple(
                entity
                for entity in entities
                if included & {entity.key, *entity.kind_set} and not excluded & {entity.key, *entity.kind_set}
            )
        return self._selected[wanted]

    def seen(self, wanted: str) -> tuple[Entity, ...]:
        """Those of them that training shows."""
        return tuple(entity for entity in self.select(wanted) if not entity.unseen)


@cache
def lexicon() -> Lexicon:
    """The lexicon of the package, read once."""
    return Lexicon(
        nouns={key: Noun(key, **row) for key, row in table("nouns").items()},
        names={key: ProperName(key, **{"english": key} | row) for key, row in table("names").items()},
        adjectives={key: Adjective(key, **row) for key, row in table("adjectives").items()},
        adverbs={
            slot: {
                key: Adverb(
                    key,
                    "goal" if slot == "origin" else slot,
                    row["english"],
                    frozenset(row.get("with", "").split()),
                    row.get("middle", False),
                    row.get("stranded", ""),
                )
                for key, row in group.items()
            }
            for slot, group in table("adverbs").items()
        },
        verbs={
            key: Verb(key, **{"origin" if name == "from" else name: value for name, value in row.items()})
            for key, row in table("verbs").items()
        },
    )
