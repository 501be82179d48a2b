"""The lexicon: what the TOML files beside this module say, as objects that the grammar can ask."""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Gender = Literal["m", "f", "n"]
Case = Literal["nominative", "accusative", "dative", "genitive"]

_GENDERS: dict[str, Gender] = {"der": "m", "die": "f", "das": "n"}


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun and its translation; `prepositions` maps place, goal and spot to (German, English) prepositions."""

    key: str
    gender: Gender
    plural: str | None
    genitive: str
    weak: bool
    plural_only: bool
    english: str
    english_plural: str | None
    kinds: tuple[str, ...]
    shared: bool
    part_of: str
    prepositions: dict[str, tuple[str, str]]

    @property
    def mass(self) -> bool:
        """True for what cannot be counted: no plural, no indefinite article."""
        return self.plural is None


@dataclass(frozen=True, eq=False)
class ProperName:
    """A name of a person, town or country, and its English form."""

    key: str
    english: str
    kinds: tuple[str, ...]
    gender: Gender


Entity = Noun | ProperName


@dataclass(frozen=True, eq=False)
class EnglishVerb:
    """The English side of a verb: the irregular forms where there are any, and the small words that go with it."""

    base: str
    past: str | None = None
    participle: str | None = None
    particle: str | None = None
    preposition: str | None = None


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb, its translation, and the nouns that suit it."""

    key: str
    prefix: str
    infinitive: str  # without the separable prefix
    preposition: str | None
    vowel: str | None
    du_er: tuple[str, str] | None
    participle: str
    auxiliary: Literal["haben", "sein"]
    english: EnglishVerb
    case: Case
    recipient_preposition: str | None
    needs_recipient: bool
    aspect: Literal["state", "habit", "event"]
    without: tuple[str, ...]
    complements: tuple[str, ...]
    weight: float
    subjects: tuple[Entity, ...]
    objects: tuple[Entity, ...]
    recipients: tuple[Entity, ...]
    recipient_objects: tuple[Entity, ...]
    places: tuple[Entity, ...]
    goals: tuple[Entity, ...]
    vehicles: tuple[Entity, ...]
    manners: tuple["Adverb", ...]
    needs_place: bool
    spot: bool
    object_is: Literal["definite", "indefinite", "either"]
    company: bool
    benefit: bool
    able: bool
    command: bool


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective, its comparative, and the nouns it may describe."""

    key: str
    attributive: str
    comparative: str
    english: str
    english_comparative: str | None
    before: bool
    graded: bool
    too: bool
    passing: bool
    suits: tuple[Entity, ...]
    compares: tuple[Entity, ...]


@dataclass(frozen=True, eq=False)
class Adverb:
    """An adverb or fixed phrase; `slot` is its place in the sentence, `tenses` where it may be said."""

    key: str
    english: str
    slot: str
    tenses: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """All entries, by key, in the order of the files."""

    nouns: dict[str, Noun]
    names: dict[str, ProperName]
    adverbs: dict[str, dict[str, Adverb]]
    verbs: dict[str, Verb] = field(default_factory=dict)
    adjectives: dict[str, Adjective] = field(default_factory=dict)

    @cache  # noqa: B019  there is one lexicon, and it lives as long as the program
    def select(self, wanted: str) -> tuple[Entity, ...]:
        """The nouns and names that `wanted` lists: kinds in lower case, entries by name, exceptions after a minus."""
        items = wanted.split()
        excluded = {item[1:] for item in items if item.startswith("-")}
        included = {item for item in items if not item.startswith("-")}
        entities: list[Entity] = [*self.nouns.values(), *self.names.values()]
        unknown = (included | excluded) - {name for entity in entities for name in (entity.key, *entity.kinds)}
        assert not unknown, f"the lexicon knows no noun and no kind {sorted(unknown)}"
        return tuple(
            entity
            for entity in entities
            if not included.isdisjoint((entity.key, *entity.kinds)) and excluded.isdisjoint((entity.key, *entity.kinds))
        )


@cache
def lexicon() -> Lexicon:
    """The lexicon of the package, read once."""
    adverbs = {
        slot: {
            key: Adverb(key, entry["english"], slot, tuple(entry.get("with", "").split()))
            for key, entry in group.items()
        }
        for slot, group in _read("adverbs").items()
    }
    result = Lexicon(
        nouns={key: _noun(key, entry) for key, entry in _read("nouns").items()},
        names={key: _name(key, entry) for key, entry in _read("names").items()},
        adverbs=adverbs,
    )
    result.verbs.update((key, _verb(key, entry, result)) for key, entry in _read("verbs").items())
    result.adjectives.update((key, _adjective(key, entry, result)) for key, entry in _read("adjectives").items())
    return result


def _read(name: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def _noun(key: str, entry: dict[str, Any]) -> Noun:
    article = entry.get("article", "die")
    regular = "" if article == "die" else "es" if key.endswith(("s", "ß", "x", "z")) else "s"
    return Noun(
        key=key,
        gender=_GENDERS[article],
        plural=entry.get("plural"),
        genitive=entry.get("genitive", key + regular),
        weak=entry.get("weak", False),
        plural_only=entry.get("plural_only", False),
        english=entry["english"],
        english_plural=entry.get("english_plural"),
        kinds=tuple(entry["kinds"].split()),
        shared=entry.get("shared", False),
        part_of=entry.get("part_of", ""),
        prepositions={role: tuple(entry[role].split()) for role in ("place", "goal", "spot") if role in entry},
    )


def _name(key: str, entry: dict[str, Any]) -> ProperName:
    return ProperName(key, entry.get("english", key), (entry["kind"], "name"), entry.get("gender", "n"))


def _verb(key: str, entry: dict[str, Any], words: Lexicon) -> Verb:
    infinitive, _, preposition = key.partition(" ")
    prefix, _, stem_verb = infinitive.rpartition("|")
    past, _, participle = entry.get("past", "").partition(" ")
    return Verb(
        key=key,
        prefix=prefix,
        infinitive=stem_verb,
        preposition=preposition if preposition.isalpha() else None,
        vowel=entry.get("vowel"),
        du_er=tuple(entry["du_er"].split()) if "du_er" in entry else None,
        participle=entry.get("participle", prefix + _regular_participle(stem_verb)),
        auxiliary=entry.get("aux", "haben"),
        english=EnglishVerb(
            entry["english"], past or None, participle or past or None, entry.get("particle"), entry.get("preposition")
        ),
        case=entry.get("case", "accusative"),
        recipient_preposition=entry.get("recipient_preposition"),
        needs_recipient=entry.get("needs_recipient", False),
        aspect=entry.get("aspect", "event"),
        without=tuple(entry.get("without", "").split()),
        complements=tuple(entry.get("complements", "").split()),
        weight=float(entry.get("weight", 1)),
        subjects=words.select(entry.get("subject", "person")),
        objects=words.select(entry.get("object", "")),
        recipients=words.select(entry.get("recipient", "")),
        recipient_objects=words.select(entry.get("recipient_object", entry.get("object", ""))),
        places=_with_preposition(words.select(entry.get("place", "")), "place"),
        goals=_with_preposition(words.select(entry.get("goal", "")), "goal"),
        vehicles=words.select(entry.get("by", "")),
        manners=tuple(words.adverbs["manner"][adverb] for adverb in entry.get("manner", "").split()),
        needs_place=entry.get("needs_place", False),
        spot=entry.get("spot", False),
        object_is=entry.get("object_is", "either"),
        company=entry.get("company", False),
        benefit=entry.get("benefit", False),
        able=entry.get("able", False),
        command=entry.get("command", False),
    )


def _with_preposition(entities: tuple[Entity, ...], role: str) -> tuple[Entity, ...]:
    return tuple(entity for entity in entities if isinstance(entity, ProperName) or role in entity.prepositions)


def _regular_participle(infinitive: str) -> str:
    stem = infinitive.removesuffix("en") if infinitive.endswith("en") else infinitive.removesuffix("n")
    return f"ge{stem}{'et' if stem.endswith(('t', 'd', 'ffn', 'gn')) else 't'}"


def _adjective(key: str, entry: dict[str, Any], words: Lexicon) -> Adjective:
    return Adjective(
        key=key,
        attributive=entry.get("attributive", key),
        comparative=entry.get("comparative", entry.get("attributive", key) + "er"),
        english=entry["english"],
        english_comparative=entry.get("better"),
        before=entry.get("before", True),
        graded=entry.get("graded", True),
        too=entry.get("too", False),
        passing=entry.get("passing", False),
        suits=words.select(entry["suits"]),
        compares=words.select(entry.get("compares", "")),
    )
