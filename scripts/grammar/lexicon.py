"""The lexicon: the rows of the TOML files as objects for the grammar.

Comments at the top of the files explain the keys. Each class lists the keys of its rows with their defaults; other keys
are errors.
"""

import tomllib
from collections.abc import Set
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal, TypeVar

Gender = Literal["m", "f", "n"]
Case = Literal["nominative", "accusative", "dative", "genitive"]
CASES: tuple[Case, ...] = ("nominative", "accusative", "dative", "genitive")

_GENDERS: dict[str, Gender] = {"der": "m", "die": "f", "das": "n"}
_RENAMED = {"from": "origin", "with": "tenses", "kinds": "kind_set", "without": "without_set"}


def table(name: str) -> dict[str, Any]:
    """A TOML file of this folder."""
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


CLOSED = table("closed")


def wishes(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words that a text such as "animal -Hund" requires, and those it excludes with a minus."""
    items = text.split()
    barred = frozenset(item[1:] for item in items if item.startswith("-"))
    return frozenset(item for item in items if not item.startswith("-")), barred


def matches(wanted: str, has: Set[str]) -> bool:
    """Whether all required words are present, and no excluded one."""
    asked, barred = wishes(wanted)
    return asked <= has and barred.isdisjoint(has)


class Choice:
    """A choice from a text such as "light if object.light, object": the first value whose condition holds."""

    def __init__(self, *options: str) -> None:
        self._options = [(value, *wishes(wanted)) for value, _, wanted in (text.partition(" if ") for text in options)]
        self.asks = frozenset[str]().union(*(wanted | barred for _, wanted, barred in self._options))

    def __call__(self, holds: Set[str]) -> str:
        """The value for the facts that hold; empty if no condition holds."""
        for value, wanted, barred in self._options:
            if wanted <= holds and barred.isdisjoint(holds):
                return value
        return ""


class Entry:
    """A row; missing keys have the default of the class."""

    key = english = ""
    unseen = False

    def __init__(self, key: str, row: dict[str, Any]) -> None:
        self.key = key
        for name, value in row.items():
            name = _RENAMED.get(name, name)
            default = getattr(self, name)
            setattr(self, name, frozenset(value.split()) if isinstance(default, frozenset) else value)

    @property
    def german(self) -> str:
        """The word, without the suffix that distinguishes senses."""
        return self.key.partition(" (")[0]


class Noun(Entry):
    """A common noun and its translation."""

    article = "die"
    kind_set: frozenset[str] = frozenset()
    plural = genitive = english_plural = in_english = owned = ""
    place = goal = spot = path = origin = when = bare = ""
    worn = holds = of = part_of = numbered = ""
    mass = both = measure = alone = weak = plural_only = shared = fixed_noun = False

    @property
    def gender(self) -> Gender:
        """The gender of the article."""
        return _GENDERS[self.article]


class ProperName(Entry):
    """A name of a person, town or country, and its English form."""

    gender: Gender = "n"
    kind = article = ""

    @cached_property
    def kind_set(self) -> frozenset[str]:
        """The kinds of thing that it names."""
        return frozenset((*self.kind.split(), "name"))


Entity = Noun | ProperName


class Adverb(Entry):
    """An adverb or fixed phrase; `slot` is its place in the sentence."""

    slot = stranded = pronoun = ""
    tenses: frozenset[str] = frozenset()  # in which it may be used
    middle = perfect = False

    @cached_property
    def facts(self) -> frozenset[str]:
        """The keys of parts.toml for a clause with this adverb."""
        ahead, repeated = self.tenses == {"future"}, bool(self.tenses & {"habit", "repeated"})
        told = {
            "since": "since" in self.tenses,
            "so_far": self.perfect,
            "ahead": ahead,
            "repeated": repeated,
            "middle": self.middle,
            self.key: True,
        }
        return frozenset(name for name, value in told.items() if value)


class Adjective(Entry):
    """An adjective, its comparative and superlative, and the nouns it may describe."""

    suits = attributive = comparative = superlative = better = best = with_ein = ""
    before = predicate = graded = True
    too = passing = colour = definite = indeclinable = False


class Verb(Entry):
    """A verb, its translation, and the nouns that suit it."""

    weight = 1.0
    # forms, German and English
    aux = "haben"
    vowel = du_er = participle = reflexive = fixed = past = particle = preposition = ""
    reflexive_english = particle_last = swap = named = False
    # subject and object
    subject = "person"
    subject_is = object = object_number = takes = asks = ""
    case: Case = "accusative"
    object_is: Literal["definite", "the", "indefinite", "either", "bare", "own", "generic"] = "either"
    anything = subject_anything = False
    # other participants and circumstances
    recipient = recipient_object = recipient_preposition = ""
    place = goal = path = onto = spot = origin = by = manner = ""
    needs_recipient = needs_place = company = benefit = False
    # usage
    aspect: Literal["state", "habit", "activity", "event"] = "activity"
    ahead = ""
    without_set: frozenset[str] = frozenset()  # time expressions that make no sense with it
    timetable = able = command = only_now = gerund = False
    seen = ""  # figures who do it in pictures

    def __init__(self, key: str, row: dict[str, Any]) -> None:
        super().__init__(key, row)
        words = [word for word in self.german.split() if word not in ("sich", *self.fixed.split())]
        self.prefix, _, self.infinitive = words[0].rpartition("|")  # of a separable verb, or empty
        self.governs = " ".join(words[1:])  # the German preposition of its object, or empty
        self.exists = self.key == "geben (es)"
        # Uses the preterite for the past: war, hatte, es gab, wusste, the modals.
        self.preterite = self.exists or self.infinitive in ("sein", "haben", "möchten", "wissen")
        self.fixed_noun: Noun | None = None  # part of its fixed words: Hunger haben, keinen Hunger haben

    @cached_property
    def facts(self) -> frozenset[str]:
        """The keys of parts.toml for a clause with this verb."""
        told = {f"verb.{name}" for name, value in vars(self).items() if value} | {f"to_{self.english.split()[0]}"}
        return frozenset(told | {self.case, self.aspect, f"verb.{self.infinitive}", f"reflexive_{self.reflexive}"})


E = TypeVar("E", bound=Entry)


def _entries(of: type[E], rows: dict[str, Any], **defaults: str) -> dict[str, E]:
    return {key: of(key, defaults | row) for key, row in rows.items()}


def _pool(words: str = "", first: str = "", behind: str = "", **row: str) -> list[ProperName]:
    """The names of a pool: its words, and each first part with each ending; every eleventh is hidden from training."""
    names = [*words.split(), *(start + end for start in first.split() for end in behind.split())]
    return [ProperName(name, {"english": name, "unseen": at % 11 == 10} | row) for at, name in enumerate(names)]


class Lexicon:
    """All entries, by key, in file order; adverbs by slot."""

    def __init__(self) -> None:
        self.nouns = _entries(Noun, table("nouns"))
        self.names = {key: ProperName(key, {"english": key} | row) for key, row in table("names").items()}
        self.adjectives = _entries(Adjective, table("adjectives"))
        self.verbs = _entries(Verb, table("verbs"))
        for verb in self.verbs.values():
            noun = self.nouns.get(verb.fixed)
            verb.fixed_noun = noun if noun and noun.fixed_noun else None
        self.adverbs = {
            slot: _entries(Adverb, rows, slot="goal" if slot == "origin" else slot)
            for slot, rows in table("adverbs").items()
        }
        self.pools = {name: _pool(**row) for name, row in table("pools").items()}
        entities: list[Entity] = [*self.nouns.values(), *self.names.values()]
        self._called = {entity: {entity.key, *entity.kind_set} for entity in entities}
        self._known = frozenset[str]().union(*self._called.values())
        self._selected: dict[str, tuple[Entity, ...]] = {}

    def select(self, wanted: str) -> tuple[Entity, ...]:
        """The nouns and names that `wanted` lists: kinds in lower case, entries by name, exceptions after a minus."""
        if wanted not in self._selected:
            included, excluded = wishes(wanted)
            unknown = (included | excluded) - self._known
            assert not unknown, f"the lexicon knows no noun and no kind {sorted(unknown)}"
            self._selected[wanted] = tuple(
                entity for entity, names in self._called.items() if included & names and not excluded & names
            )
        return self._selected[wanted]


@cache
def lexicon() -> Lexicon:
    """The lexicon of the package, read once."""
    return Lexicon()
