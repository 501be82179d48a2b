"""Choices: random words in random noun phrases, fitting each other, each word about as often as the others.

Every choice among words is fair: two are drawn and the one that was used less so far is taken. A sentence has one
addressee (du, ihr or Sie) throughout.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

from transformer_mt.corpus.builtin.german import NUMERALS, PRONOUNS
from transformer_mt.corpus.builtin.lexicon import Adjective, Entity, Noun, ProperName, Verb, lexicon
from transformer_mt.corpus.builtin.meaning import (
    Both,
    Name,
    Nominal,
    NounPhrase,
    Prepositional,
    Pronoun,
    subject_key,
)

T = TypeVar("T")
FEW = tuple(NUMERALS)[:9]
_OBJECT_PRONOUNS = ("ich", "du", "er", "sie", "wir", "ihr", "Sie")
_FIRST, _SECOND = ("ich", "wir"), ("du", "ihr", "Sie")
# Plurals that are known well enough to be shown in the dative, where they have a form of their own.
_ONLY_ONE = frozenset(("parent", "body"))
_BARE = frozenset(("language", "sport"))


class Sampler:
    """Random words in random phrases; `allowed` says which pairings of verb and object may be used.

    `unseen` are sentences about nouns and names that training never shows.
    """

    def __init__(self, random: Random, allowed: Callable[[Verb, Entity], bool], *, unseen: bool = False) -> None:
        self.random = random
        self.words = lexicon()
        self.unseen = unseen
        self.addressee = "du"
        self.owner = ""  # the pronoun that could stand for the subject of the clause being made
        self._used: Counter[object] = Counter()
        self._selected: dict[str, list[Entity]] = {}
        self._verbs = [verb for verb in self.words.verbs.values() if verb.weight and verb.subject]
        self._deeds = {
            verb
            for verb in self.words.verbs.values()
            if verb.subject and any("person" in entity.kind_set for entity in self.words.select(verb.subject))
        }
        self._objects = {
            verb: [noun for noun in self.select(verb.object) if allowed(verb, noun)]
            for verb in self.words.verbs.values()
        }
        self._describing: dict[Entity, list[Adjective]] = {}
        for adjective in self.words.adjectives.values():
            for entity in self.words.select(adjective.suits) if adjective.before and not adjective.definite else ():
                self._describing.setdefault(entity, []).append(adjective)

    def new_sentence(self) -> None:
        """Choose whom the sentence speaks to."""
        self.addressee = self.weighted({"du": 5.0, "ihr": 2.0, "Sie": 3.0})
        self.owner = ""

    # ---- plain choices

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.random.random() < probability

    def one_of(self, options: Sequence[T]) -> T:
        """Any of the options, each as likely."""
        return options[int(self.random.random() * len(options))]

    def weighted(self, options: Mapping[T, float]) -> T:
        """A key, as likely as its weight says."""
        point = self.random.random() * sum(options.values())
        *others, last = options
        for key in others:
            point -= options[key]
            if point < 0:
                return key
        return last

    def fair(self, options: Sequence[T]) -> T:
        """One of the options, preferring what was used less."""
        first, second = self.one_of(options), self.one_of(options)
        chosen = first if self._used[first] <= self._used[second] else second
        self._used[chosen] += 1
        return chosen

    def verb(self, fits: Callable[[Verb], bool]) -> Verb:
        """A verb for which `fits` holds, as often as its weight says; there must be one."""
        while True:
            verb = self.one_of(self._verbs)
            share = self._used[verb] / verb.weight
            other = self.one_of(self._verbs)
            if self._used[other] / other.weight < share:
                verb = other
            if fits(verb):
                self._used[verb] += 1
                return verb

    def relative_verbs(self) -> list[Verb]:
        """Verbs for a relative clause: now and then only those with a dative or a preposition."""
        kind = self.weighted({"any": 0.5, "dative": 0.27, "preposition": 0.23})
        if kind == "dative":
            return [verb for verb in self._verbs if verb.case == "dative" and not verb.governs]
        return [verb for verb in self._verbs if kind == "any" or verb.governs]

    def select(self, wanted: str) -> list[Entity]:
        """The nouns and names that `wanted` lists, of those that may be shown."""
        if wanted not in self._selected:
            found = list(self.words.select(wanted)) if wanted else []
            unseen = [entity for entity in found if entity.unseen]
            seen = [entity for entity in found if not entity.unseen]
            self._selected[wanted] = (unseen or seen) if self.unseen else seen
        return self._selected[wanted]

    def can_act(self, verb: Verb) -> bool:
        """True if some people do it, so that pronouns can."""
        return verb in self._deeds

    def anybody_can(self, verb: Verb) -> bool:
        """True if all people do it."""
        return "person" in verb.subject.split()

    def objects_of(self, verb: Verb) -> list[Entity]:
        """The nouns that the verb may have as its object."""
        return self._objects[verb]

    # ---- subjects

    def subject(self, verb: Verb, *, pronouns: float = 0.5, before: bool = True) -> Nominal:
        """A subject that suits the verb; `before` the verb sie with a plural is they, behind it Sie is you."""
        people = self.can_act(verb)
        if verb.subject_is == "plural":
            return self.as_subject(Pronoun("wir") if self.chance(0.4) else self._two_people())
        if people and self.chance(pronouns):
            return self.as_subject(self.pronoun(before=before))
        if verb.subject_anything and self.chance(0.25):
            return self.as_subject(Pronoun(self.one_of(("das", "es"))))
        if people and self.chance(0.06):
            return self.as_subject(Pronoun("jemand" if not before else self.one_of(("jemand", "niemand"))))
        if people and self.anybody_can(verb) and self.chance(0.06):
            return self.as_subject(self._two_people())
        return self.as_subject(self.entity(self.fair(self.select(verb.subject)), subject=True))

    def pronoun(self, *, before: bool) -> Pronoun:
        """A personal pronoun as subject."""
        options = {"ich": 6.0, "wir": 3.5, "er": 3.0, "sie": 3.0, self.addressee: 4.5, "sie, plural": 2.0}
        if before:
            options.pop("Sie", None)
        else:  # mostly a question
            options |= {"ich": 0.7, "wir": 1.5, self.addressee: 10.0}
            options.pop("sie, plural")
        return Pronoun(self.weighted(options))

    def as_subject(self, nominal: Nominal) -> Nominal:
        """The nominal, remembered as the subject of the clause that is being made."""
        self.owner = subject_key(nominal)
        return nominal

    def somebody(self, *, pronouns: float = 0.5, before: bool = True) -> Nominal:
        """A person as subject."""
        return self.subject(self.words.verbs["arbeiten"], pronouns=pronouns, before=before)

    def acquaintance(self) -> Nominal:
        """Somebody as the subject of several clauses: a pronoun, a name, a relative, a friend."""
        if self.chance(0.7):
            return self.as_subject(self.pronoun(before=True))
        known = self.fair(
            self.select("relative Freund Freundin Nachbar Nachbarin Anna Lena Maria Paul Peter Tim Julia")
        )
        phrase = self.entity(known, subject=True)
        if isinstance(phrase, NounPhrase):
            phrase.adjectives = ()
        return self.as_subject(phrase)

    def other_than(self, first: Nominal) -> Nominal:
        """Somebody else in the scenes of `first`, who can be told from them when both are pronouns."""
        key = subject_key(first)
        known = self.select("relative Freund Freundin Nachbar Nachbarin Anna Lena Maria Paul Peter Tim Julia")
        personal = key in (*_FIRST, *_SECOND)
        if personal and self.chance(0.35):
            others = [option for option in ("ich", "er", "sie", "wir", "du") if option != key]
            group = _FIRST if key in _FIRST else _SECOND
            others = [option for option in others if option not in group]
            return Pronoun(self.one_of([option for option in others if option != "du" or self.addressee == "du"]))
        while True:
            phrase = self.entity(self.fair(known), subject=True)
            if isinstance(phrase, NounPhrase):
                phrase.adjectives = ()
                phrase.determiner = {"ihr": "mein", "sein": "mein"}.get(phrase.determiner, phrase.determiner)
                phrase.possessor = None
            if personal or subject_key(phrase) != key:
                return phrase

    def _two_people(self) -> Both:
        people = [*self.select("relative -Eltern"), *self.select("Anna Lena Maria Paul Peter Tim")]
        first = self.fair(people)
        second = self.fair([entity for entity in people if entity is not first])
        return Both((self.entity(first), self.entity(second)))

    # ---- objects and other nominals

    def entity(self, entity: Entity, *, subject: bool = False, definiteness: str = "definite") -> Nominal:
        """The entity as somebody or something known: Anna, mein Vater, der Zug."""
        if isinstance(entity, ProperName):
            return Name(entity)
        return self.noun_phrase(entity, definiteness, subject=subject, adjectives=0.12)

    def person(self, *, pronouns: float = 0.0) -> Nominal:
        """Somebody who is not the subject."""
        if self.chance(pronouns):
            return self.object_pronoun()
        return self.entity(self.fair(self.select("person -figure")))

    def object_pronoun(self) -> Pronoun:
        """A personal pronoun as object, of another person than the subject."""
        taken = next((group for group in (_FIRST, _SECOND) if self.owner in group), ())
        options = [
            key
            for key in _OBJECT_PRONOUNS
            if key not in taken and (key not in _SECOND or key == self.addressee) and key != "Sie"
        ]
        return Pronoun(self.one_of(options))

    def object(self, verb: Verb, entity: Entity | None = None, *, habitual: bool = False) -> Nominal:
        """An object that suits the verb."""
        if entity is None and verb.anything and self.chance(0.12):
            return Pronoun(self.weighted({"das": 3, "es": 2, "etwas": 1, "nichts": 1, "alles": 0.5}))
        chosen = entity or self.fair(self._objects[verb])
        if "person" in chosen.kind_set and entity is None and self.chance(0.45) and verb.takes != "profession":
            return self.object_pronoun()
        if isinstance(chosen, ProperName):
            return Name(chosen)
        if verb.takes == "profession":
            return NounPhrase(chosen, "als")
        if verb.takes == "amount" or (chosen.measure and not chosen.both):
            return NounPhrase(chosen, self.fair(tuple(NUMERALS) if verb.takes else FEW[:4]), True)
        if verb.object_is == "own":
            plural = verb.object_number == "plural"
            return NounPhrase(chosen, "der", plural, own=PRONOUNS[self.owner or "er"].get("own", "sein"))
        definiteness: str = verb.object_is
        if definiteness == "generic":
            general = chosen.mass or chosen.kind_set & {"animal", "food", "drink", "fruit", "vegetable"}
            definiteness = "indefinite" if general and self.chance(0.7) else "definite"
            number = "plural" if definiteness == "indefinite" and not chosen.mass else "singular"
            phrase = self.noun_phrase(chosen, definiteness, number=number, adjectives=0.05)
            if phrase.plural and definiteness == "indefinite":
                phrase.determiner = ""
            return phrase
        if definiteness == "either" and ("person" in chosen.kind_set or verb.case == "dative"):
            definiteness = "definite"
        elif habitual and definiteness == "either" and verb.aspect == "event":
            definiteness = "indefinite"
        return self.noun_phrase(chosen, definiteness, number=verb.object_number)

    # ---- noun phrases

    def noun_phrase(
        self,
        noun: Noun,
        definiteness: str = "either",
        *,
        number: str = "",
        plurals: float = 0.18,
        adjectives: float = 0.22,
        subject: bool = False,
    ) -> NounPhrase:
        """A noun with a determiner that suits it and perhaps an adjective."""
        countable = not noun.mass and not noun.plural_only
        plurals = 0.0 if noun.kind_set & _ONLY_ONE or noun.key.startswith("Ehe") else plurals
        adjectives *= 0.3 if "person" in noun.kind_set else 1.0
        plural = noun.plural_only or number == "plural" or (countable and number == "" and self.chance(plurals))
        if definiteness == "bare" or (noun.kind_set & _BARE):
            return NounPhrase(noun, "", noun.plural_only or (number == "plural"))
        if noun.mass or (noun.both and definiteness != "definite" and self.chance(0.4)):
            determiner, plural = self.weighted(self._mass_determiners(noun, definiteness, subject=subject)), False
        elif plural:
            determiner = self.weighted(self._plural_determiners(noun, definiteness, subject=subject))
        else:
            determiner = self.weighted(self._singular_determiners(noun, definiteness, subject=subject))
        phrase = NounPhrase(noun, determiner, plural)
        if determiner == "mein":
            phrase.determiner = self.possessive(one=bool(noun.kind_set & {"body"}) or noun.key.startswith("Ehe"))
        elif determiner == "von":
            phrase.determiner, phrase.possessor = "der", self._possessor(noun)
        if self.chance(adjectives) and (adjective := self.adjective_for(noun)) is not None:
            phrase.adjectives = (adjective,)
        return phrase

    def _singular_determiners(self, noun: Noun, definiteness: str, *, subject: bool) -> dict[str, float]:
        own = 0.0 if noun.shared else 3.0
        if definiteness == "indefinite":
            return {"ein": 1}
        if "relative" in noun.kind_set:
            return {"mein": 9, "von": 1}
        if "body" in noun.kind_set:
            return {"mein": 1}
        if "known" in noun.kind_set:
            return {"der": 1}
        options = {"der": 9.0, "dieser": 0.9, "mein": own, "von": 1.0 if noun.part_of else own * 0.15}
        if definiteness == "either":
            options |= {"ein": 2.0, "jeder": 0.3} if subject else {"ein": 6.0}
        if noun.in_english == "plural":
            options.pop("ein", None)
        return options

    def _plural_determiners(self, noun: Noun, definiteness: str, *, subject: bool) -> dict[str, float]:
        few = {self.fair(FEW[:4]): 1.4} if noun.in_english not in ("pair", "plural", "mass") else {}
        if definiteness == "indefinite":
            return {"": 2.0, "viele": 0.7, "einige": 0.4, **few}
        if "body" in noun.kind_set:
            return {"mein": 1}
        own = 0.0 if noun.shared else 2.5
        if "relative" in noun.kind_set:
            return {"mein": 8}
        options = {"der": 7.0, "dieser": 0.5, "mein": own, "alle": 0.25}
        if definiteness == "either":
            options |= {"viele": 0.8, "einige": 0.5, **few} if subject else {"": 2.5, "viele": 0.8, **few}
        return options

    def _mass_determiners(self, noun: Noun, definiteness: str, *, subject: bool) -> dict[str, float]:
        if "known" in noun.kind_set:
            return {"der": 1}
        if definiteness == "definite" or subject:
            return {"der": 5, "mein": 0.0 if noun.shared else 1.0, "dieser": 0.6}
        return {"": 5} if definiteness == "indefinite" else {"": 5, "der": 2.5, "mein": 0.0 if noun.shared else 0.8}

    def possessive(self, *, one: bool = False) -> str:
        """A possessive, mostly the subject's own; never one that could be two people's; of `one` owner where asked."""
        own = PRONOUNS.get(self.owner, {}).get("own")
        if own and self.chance(0.65) and not (one and own in ("unser", "euer", "ihr, plural")):
            return str(own)
        second = {"du": "dein", "ihr": "euer"}.get(self.addressee)
        options = ["mein", "sein", "unser", *([second] if second else [])]
        if self.owner not in ("Sie", "sie, plural"):
            options.append("ihr")
        if self.owner in ("er", "es", "sie"):  # sein and ihr would be the subject's own as well
            options = [option for option in options if option not in ("sein", "ihr")]
        return self.one_of([option for option in options if not one or option not in ("unser", "euer")])

    def _possessor(self, noun: Noun) -> Nominal:
        if noun.part_of:
            whole = self.fair(self.select(noun.part_of))
            assert isinstance(whole, Noun)
            return NounPhrase(whole)
        person = self.fair(self.select("person -figure -Eltern -Großeltern -Geschwister -Leute"))
        if isinstance(person, ProperName):
            return Name(person)
        return NounPhrase(person, self.possessive() if "relative" in person.kind_set else "der", person.plural_only)

    def adjective_for(self, noun: Noun) -> Adjective | None:
        """An adjective that may stand before the noun."""
        options = self._describing.get(noun)
        return self.fair(options) if options else None

    def fair_row(self, rows: Sequence[T]) -> T:
        """One of some rows of data, preferring what was used less."""
        first, second = (int(self.random.random() * len(rows)) for _ in range(2))
        chosen = first if self._used[id(rows[first])] <= self._used[id(rows[second])] else second
        self._used[id(rows[chosen])] += 1
        return rows[chosen]

    def clothes(self) -> Prepositional:
        """What somebody in a picture has on: in einem blauen Hemd, mit einem Hut."""
        nouns = [noun for noun in self.select("clothing glasses luggage") if isinstance(noun, Noun) and noun.worn]
        noun = self.fair(nouns)
        german, _, english = noun.worn.partition(" ")
        phrase = NounPhrase(noun, "" if noun.plural_only or noun.mass else "ein", noun.plural_only)
        colours = [adjective for adjective in self._describing.get(noun, []) if adjective.colour]
        if colours and self.chance(0.75):
            phrase.adjectives = (self.fair(colours),)
        return Prepositional(german, "dative", english, phrase, "attribute")
