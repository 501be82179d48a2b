"""Choices: how a random derivation is filled with words that suit each other, each about as often as the others.

Every choice among words is fair: two are drawn and the one that was used less so far is taken. A sentence has one
addressee (du, ihr or Sie) throughout.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Literal, TypeVar

from transformer_mt.corpus.builtin import german
from transformer_mt.corpus.builtin.lexicon import Adjective, Entity, Lexicon, Noun, ProperName, Verb, lexicon
from transformer_mt.corpus.builtin.phrases import (
    Adverbial,
    AdverbPhrase,
    Both,
    Name,
    Nominal,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
)

T = TypeVar("T")
# Where the subject stands, which decides between they and the formal you: "sie" is they before the verb and in
# subordinate clauses, "Sie" is you after the verb.
SubjectPlace = Literal["before the verb", "after the verb"]

_OWN = {"ich": "mein", "du": "dein", "er": "sein", "sie": "ihr", "wir": "unser", "ihr": "euer", "Sie": "Ihr"}
_OBJECT_PRONOUNS = ("ich", "du", "er", "sie", "wir", "ihr")
_BARE_KINDS = ("language", "sport")
_FIRST_PERSONS = ("ich", "wir")
_SECOND_PERSONS = ("du", "ihr", "Sie")


class Sampler:
    """Random words in random phrases; `allowed` says which pairings of verb and object noun may be used."""

    def __init__(self, random: Random, allowed: Callable[[Verb, Entity], bool]) -> None:
        self.random = random
        self.words: Lexicon = lexicon()
        self.allowed = allowed
        self.addressee = "du"
        self.subject_key = ""
        self._used: Counter[object] = Counter()
        self._persons = self.words.select("person")
        self._namable = self.words.select("relative name")
        self._namable = tuple(entity for entity in self._namable if "person" in entity.kinds)
        self._suited: dict[Verb, list[Entity]] = {}
        self._describing: dict[Entity, list[Adjective]] = {}
        for adjective in self.words.adjectives.values():
            for entity in adjective.suits:
                self._describing.setdefault(entity, []).append(adjective)

    def new_sentence(self) -> None:
        """Choose whom the sentence speaks to."""
        self.addressee = self.weighted({"du": 5, "ihr": 3, "Sie": 3})
        self.subject_key = ""

    # ---- plain choices

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.random.random() < probability

    def one_of(self, options: Sequence[T]) -> T:
        """Any of the options, each as likely."""
        return options[int(self.random.random() * len(options))]

    def weighted(self, options: dict[str, float]) -> str:
        """A key, as likely as its weight says."""
        point = self.random.random() * sum(options.values())
        for key, weight in options.items():
            point -= weight
            if point < 0:
                return key
        return key

    def fair(self, options: Sequence[T], weight: Callable[[T], float] | None = None) -> T:
        """One of the options, preferring what was used less (in proportion to its weight)."""
        first, second = self.one_of(options), self.one_of(options)
        share = weight or (lambda _: 1.0)
        chosen = first if self._used[first] * share(second) <= self._used[second] * share(first) else second
        self._used[chosen] += 1
        return chosen

    # ---- verbs and their company

    def verb(self, fits: Callable[[Verb], bool]) -> Verb:
        """A verb for which `fits` holds."""
        options = [verb for verb in self.words.verbs.values() if verb.weight and fits(verb)]
        return self.fair(options, lambda verb: verb.weight)

    def subject(self, verb: Verb, where: SubjectPlace = "before the verb", *, pronouns: float = 0.5) -> Nominal:
        """A subject that suits the verb: a pronoun, a name, or a noun phrase."""
        people = self._persons[0] in verb.subjects
        if people and self.chance(pronouns):
            return self.subject_pronoun(where)
        entity = self.fair(verb.subjects)
        self.subject_key = self._pronoun_for(entity)
        if isinstance(entity, ProperName):
            return Name(entity)
        if people and self.chance(0.06):
            return self._two_people()
        phrase = self.noun_phrase(entity, role="subject", definite=not people)
        if phrase.plural:
            self.subject_key = "sie, plural"
        return phrase

    def subject_pronoun(self, where: SubjectPlace = "before the verb") -> Pronoun:
        """A personal pronoun as subject."""
        second = {self.addressee: 4.0} if self.addressee != "Sie" or where == "after the verb" else {}
        third = {"er": 3.0, "sie": 3.0} | ({"sie, plural": 2.5} if where == "before the verb" else {})
        self.subject_key = self.weighted({"ich": 5.0, "wir": 3.5, **second, **third})
        return Pronoun(self.subject_key)

    def _two_people(self) -> Both:
        self.subject_key = "sie, plural"
        first = self.fair(self._namable)
        second = self.fair([entity for entity in self._namable if entity is not first])
        return Both(self.person(first), self.person(second))

    def person(self, entity: Entity | None = None) -> Nominal:
        """Somebody who is named: Anna, mein Vater, der Arzt."""
        chosen = entity or self.fair(self._persons)
        return Name(chosen) if isinstance(chosen, ProperName) else self.noun_phrase(chosen, role="person", plurals=0.08)

    def object_noun(self, verb: Verb) -> Entity:
        """A noun that the verb may have as its object."""
        if verb not in self._suited:
            self._suited[verb] = [entity for entity in verb.objects if self.allowed(verb, entity)]
        return self.fair(self._suited[verb])

    def object(self, verb: Verb, *, pronouns: float = 0.15, entity: Entity | None = None) -> Nominal:
        """An object that suits the verb."""
        chosen = entity or self.object_noun(verb)
        if "person" in chosen.kinds and entity is None and self.chance(pronouns * 2.5):
            return self.object_pronoun()
        if isinstance(chosen, ProperName):
            return Name(chosen)
        return self.noun_phrase(
            chosen, definite=verb.object_is == "definite", indefinite=verb.object_is == "indefinite"
        )

    def object_pronoun(self) -> Pronoun:
        """A personal pronoun as object, of another person than the subject."""
        first_person = _FIRST_PERSONS if self.subject_key in _FIRST_PERSONS else ()
        second_person = _SECOND_PERSONS if self.subject_key in _SECOND_PERSONS else ()
        options = [
            key
            for key in _OBJECT_PRONOUNS
            if key not in first_person
            and key not in second_person
            and (key not in _SECOND_PERSONS or key == self.addressee)
        ]
        return Pronoun(self.one_of(options))

    # ---- noun phrases

    def noun_phrase(
        self,
        noun: Noun,
        *,
        role: str = "object",
        definite: bool = False,
        indefinite: bool = False,
        plurals: float = 0.2,
        adjectives: float = 0.2,
    ) -> NounPhrase:
        """A noun with a determiner that suits it and perhaps an adjective."""
        plural = noun.plural_only or (not noun.mass and self.chance(plurals))
        possessor = None
        if plural or noun.mass:
            options = self._unbounded_determiners(noun, plural=plural, definite=definite, indefinite=indefinite)
        else:
            options = self._singular_determiners(noun, role=role, definite=definite, indefinite=indefinite)
        determiner = self.weighted(options)
        if determiner == "mein":
            determiner = self.possessive()
        elif determiner == "von":
            determiner, possessor = "der", self._possessor()
        described = self._adjective(noun, adjectives) if determiner != "wie viele" else None
        return NounPhrase(noun, determiner, plural, described, False, possessor)

    def _singular_determiners(
        self, noun: Noun, *, role: str, definite: bool, indefinite: bool
    ) -> dict[str, float]:
        own = 0.0 if noun.shared else 3.0
        if "relative" in noun.kinds:
            return {"ein": 1} if indefinite else {"mein": 8, "der": 2, "von": 1.2}
        if indefinite:
            return {"ein": 1}
        options = {"der": 6.0, "dieser": 2.5, "mein": own, "von": own * 0.25}
        if not definite:
            options |= {"ein": 4.5, "jeder": 0.5 if "person" in noun.kinds else 0.2}
        return options

    def _unbounded_determiners(
        self, noun: Noun, *, plural: bool, definite: bool, indefinite: bool
    ) -> dict[str, float]:
        own = 0.0 if noun.shared else 2.0
        if any(kind in noun.kinds for kind in _BARE_KINDS):
            return {"": 1}
        if "relative" in noun.kinds:
            return {self.one_of(german.NUMERALS[:3]): 1} if indefinite else {"mein": 6, "der": 2}
        if not plural:
            return {"": 5} | ({} if indefinite else {"der": 3, "dieser": 1, "mein": own * 0.5})
        if indefinite:
            return {"": 1, "viele": 1, self.one_of(german.NUMERALS): 1}
        options = {"der": 4.0, "dieser": 1.5, "mein": own, "alle": 0.7}
        if not definite:
            options |= {"": 2.0, "viele": 1.0, self.one_of(german.NUMERALS): 2.0}
        return options

    def possessive(self) -> str:
        """A possessive, often the subject's own; never one that could be two people's."""
        own = _OWN.get(self.subject_key)
        if own and self.chance(0.6):
            return own
        second = {"du": "dein", "ihr": "euer"}.get(self.addressee)
        options = ["mein", "sein", "unser", *([second] if second else [])]
        if self.subject_key not in ("Sie", "sie, plural"):
            options.append("ihr")
        return self.one_of(options)

    def _possessor(self) -> NounPhrase | Name:
        person = self.fair(self._persons)
        if isinstance(person, ProperName):
            return Name(person)
        determiner = self.possessive() if "relative" in person.kinds else "der"
        return NounPhrase(person, determiner, person.plural_only) if not person.plural_only else Name(self._name())

    def _name(self) -> ProperName:
        return self.fair([name for name in self.words.names.values() if "person" in name.kinds])

    def _adjective(self, noun: Noun, probability: float) -> Adjective | None:
        options = [adjective for adjective in self._describing.get(noun, ()) if adjective.before]
        return self.fair(options) if options and self.chance(probability) else None

    def _pronoun_for(self, entity: Entity) -> str:
        return {"m": "er", "f": "sie", "n": ""}[entity.gender] if "person" in entity.kinds else ""

    # ---- adverbials

    def adverb(self, slot: str, *tenses: str) -> AdverbPhrase:
        """An adverb of a slot that goes with one of the tenses."""
        group = self.words.adverbs[slot].values()
        return AdverbPhrase(self.fair([adverb for adverb in group if not set(tenses).isdisjoint(adverb.tenses)]))

    def manner(self, verb: Verb) -> AdverbPhrase:
        """How the verb may be done."""
        return AdverbPhrase(self.fair(verb.manners))

    def place(self, verb: Verb) -> Adverbial:
        """Where the verb may happen."""
        if not verb.needs_place and self.chance(0.2):
            return AdverbPhrase(self.fair(list(self.words.adverbs["place"].values())))
        return self.location(self.fair(verb.places), "place")

    def goal(self, verb: Verb) -> Adverbial:
        """Where somebody goes."""
        if "home" in {kind for entity in verb.goals for kind in entity.kinds} and self.chance(0.12):
            return AdverbPhrase(self.fair(list(self.words.adverbs["goal"].values())))
        return self.location(self.fair(verb.goals), "goal")

    def location(self, entity: Entity, role: str) -> PrepositionalPhrase:
        """A place (place, spot) or a goal (goal, laid) with the preposition that it takes."""
        slot = "goal" if role in ("goal", "laid") else "place"
        if isinstance(entity, ProperName):
            to_town = role == "goal"
            return PrepositionalPhrase(
                "nach" if to_town else "in", "dative", "to" if to_town else "in", Name(entity), slot
            )
        german_preposition, english_preposition = entity.prepositions["spot" if role == "laid" else role]
        towards = role == "laid" or (role == "goal" and german_preposition != "zu")
        phrase = self.noun_phrase(entity, definite=True, plurals=0.0, adjectives=0.12)
        return PrepositionalPhrase(
            german_preposition, "accusative" if towards else "dative", english_preposition, phrase, slot
        )

    def company(self) -> PrepositionalPhrase:
        """With or without somebody."""
        person = self.object_pronoun() if self.chance(0.25) else self.person()
        if self.chance(0.75):
            return PrepositionalPhrase("mit", "dative", "with", person, "company")
        return PrepositionalPhrase("ohne", "accusative", "without", person, "company")

    def benefit(self) -> PrepositionalPhrase:
        """For somebody."""
        person = self.object_pronoun() if self.chance(0.25) else self.person()
        return PrepositionalPhrase("für", "accusative", "for", person, "company")

    def vehicle(self, verb: Verb) -> PrepositionalPhrase:
        """By train."""
        vehicle = self.fair(verb.vehicles)
        assert isinstance(vehicle, Noun)
        return PrepositionalPhrase("mit", "dative", "by", NounPhrase(vehicle), "company", bare=True)


