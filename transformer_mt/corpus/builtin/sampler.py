"""Choices: random words in random noun phrases, fitting each other, each word about as often as the others.

Every choice among words is fair: two are drawn and the one that was used less so far is taken. A sentence has one
addressee (du, ihr or Sie) throughout.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Literal, TypeVar

from transformer_mt.corpus.builtin import german
from transformer_mt.corpus.builtin.lexicon import Adjective, Case, Entity, Noun, ProperName, Verb, lexicon
from transformer_mt.corpus.builtin.phrases import Both, Indefinite, Name, Nominal, NounPhrase, Pronoun

T = TypeVar("T")
Weight = float | int
# Where the subject stands, which decides between they and the formal you: "sie" is they before the verb and in
# subordinate clauses, "Sie" is you after the verb.
SubjectPlace = Literal["before the verb", "after the verb"]
BEFORE: SubjectPlace = "before the verb"
AFTER: SubjectPlace = "after the verb"
# Which determiners: no "ein", nothing but "ein" (and its plural), or only what is said of a habit.
Definiteness = Literal["either", "definite", "indefinite", "bare"]

_OWN = {"ich": "mein", "du": "dein", "er": "sein", "sie": "ihr", "wir": "unser", "ihr": "euer", "Sie": "Ihr"}
_OBJECT_PRONOUNS = ("ich", "du", "er", "sie", "wir", "ihr")
_FIRST_PERSONS = ("ich", "wir")
_SECOND_PERSONS = ("du", "ihr", "Sie")
_WITH_DATIVE_PLURAL = ("Kind", "Freund", "Lehrer", "Hund", "Bruder")
_BARE_KINDS = frozenset(("language", "sport"))
_FEW = german.NUMERALS[:3]


class Sampler:
    """Random words in random phrases; `allowed` says which pairings of verb and object noun may be used."""

    def __init__(self, random: Random, allowed: Callable[[Verb, Entity], bool]) -> None:
        self.random = random
        self.words = lexicon()
        self.addressee = "du"
        self.subject_key = ""  # the pronoun that could stand for the subject of the clause being made
        self._used: Counter[object] = Counter()
        self._verbs = tuple(verb for verb in self.words.verbs.values() if verb.weight)
        self._people = self.words.select("person")
        self._relatives = self.words.select("relative") + self.words.select(
            "Anna Lena Maria Sophie Paul Peter Tim David"
        )
        self._objects = {
            verb: tuple(noun for noun in verb.objects if allowed(verb, noun)) for verb in self.words.verbs.values()
        }
        self._describing: dict[Entity, list[Adjective]] = {}
        for adjective in self.words.adjectives.values():
            for entity in adjective.suits if adjective.before else ():
                self._describing.setdefault(entity, []).append(adjective)

    def new_sentence(self) -> None:
        """Choose whom the sentence speaks to."""
        self.addressee = self.weighted({"du": 5.0, "ihr": 2.5, "Sie": 2.5})
        self.subject_key = ""

    # ---- plain choices

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.random.random() < probability

    def one_of(self, options: Sequence[T]) -> T:
        """Any of the options, each as likely."""
        return options[int(self.random.random() * len(options))]

    def weighted(self, options: Mapping[T, Weight]) -> T:
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
        return self._less_used(self.one_of(options), self.one_of(options))

    def _less_used(self, first: T, second: T, share: float = 1.0) -> T:
        """The one that was used less so far; the first is meant to be used 1/share times as often as the second."""
        chosen = first if self._used[first] * share <= self._used[second] else second
        self._used[chosen] += 1
        return chosen

    def verb(self, fits: Callable[[Verb], bool]) -> Verb:
        """A verb for which `fits` holds; there must be one."""
        first, second = self._fitting_verb(fits), self._fitting_verb(fits)
        return self._less_used(first, second, second.weight / first.weight)

    def _fitting_verb(self, fits: Callable[[Verb], bool]) -> Verb:
        verb = self.one_of(self._verbs)
        while not fits(verb):
            verb = self.one_of(self._verbs)
        return verb

    def can_act(self, verb: Verb) -> bool:
        """True if people do it."""
        return self._people[0] in verb.subjects

    # ---- subjects

    def subject(
        self, verb: Verb, where: SubjectPlace = BEFORE, *, pronouns: float = 0.5, inflected: bool = False
    ) -> Nominal:
        """A subject that suits the verb: a pronoun, a name, or a noun phrase.

        Where the verb is `inflected` for it, pronouns are more frequent, and all persons of a verb about as much.
        """
        people = self.can_act(verb)
        if people and self.chance(0.65 if inflected else pronouns):
            return self.subject_pronoun(where, verb if inflected else None)
        if people and self.chance(0.03):
            self.subject_key = ""
            return Indefinite("jemand" if where == AFTER else self.one_of(("jemand", "niemand")))
        if people and self.chance(0.05):
            return self._two_people()
        return self.named(self.fair(verb.subjects), definite=not people)

    def somebody(self, where: SubjectPlace = BEFORE, *, pronouns: float = 0.5) -> Nominal:
        """A person as subject."""
        return self.subject(self.words.verbs["arbeiten"], where, pronouns=pronouns)

    def named(self, entity: Entity, *, definite: bool = True, adjectives: float = 0.15) -> Nominal:
        """The entity as subject."""
        person = "person" in entity.kinds
        self.subject_key = {"m": "er", "f": "sie", "n": ""}[entity.gender] if person else ""
        if isinstance(entity, ProperName):
            return Name(entity)
        definiteness: Definiteness = "definite" if definite else "either"
        phrase = self.noun_phrase(entity, definiteness, plurals=0.15, adjectives=adjectives, subject=True)
        if phrase.plural:
            self.subject_key = "sie, plural" if person else ""
        return phrase

    def subject_pronoun(self, where: SubjectPlace = BEFORE, inflecting: Verb | None = None) -> Pronoun:
        """A personal pronoun as subject; of two, the one for which the `inflecting` verb was inflected less."""
        second = {self.addressee: 4.0} if self.addressee != "Sie" or where == AFTER else {}
        third = {"er": 3.0, "sie": 3.0} | ({"sie, plural": 2.5} if where == BEFORE else {})
        options = {"ich": 5.0, "wir": 3.5, **second, **third}
        key = self.weighted(options)
        if inflecting is not None:
            pairs = (key, inflecting), (self.weighted(options), inflecting)
            key, _ = self._less_used(*pairs)
        return self.as_subject(key)

    def as_subject(self, key: str) -> Pronoun:
        """The pronoun as subject of the clause that is being made."""
        self.subject_key = key
        return Pronoun(key)

    def _two_people(self) -> Both:
        first = self.fair(self._relatives)
        second = self.fair([entity for entity in self._relatives if entity is not first])
        both = Both(self.person(first), self.person(second))
        self.subject_key = "sie, plural"
        return both

    # ---- objects

    def person(self, entity: Entity | None = None) -> Nominal:
        """Somebody who is named: Anna, mein Vater, der Arzt."""
        chosen = entity or self.fair(self._people)
        if isinstance(chosen, ProperName):
            return Name(chosen)
        return self.noun_phrase(chosen, "definite", plurals=self._plurals("dative", chosen) / 2, adjectives=0.1)

    def person_or_pronoun(self, pronouns: float = 0.5) -> Nominal:
        """Somebody, as object."""
        return self.object_pronoun() if self.chance(pronouns) else self.person()

    def objects_of(self, verb: Verb) -> tuple[Entity, ...]:
        """The nouns that the verb may have as its object."""
        return self._objects[verb]

    def object_noun(self, verb: Verb) -> Entity:
        """One of them."""
        return self.fair(self._objects[verb])

    def object(self, verb: Verb, entity: Entity | None = None, *, habitual: bool = False) -> Nominal:
        """An object that suits the verb."""
        chosen = entity or self.object_noun(verb)
        if "person" in chosen.kinds and entity is None and self.chance(0.4):
            return self.object_pronoun()
        if isinstance(chosen, ProperName):
            return Name(chosen)
        definiteness: Definiteness = verb.object_is
        if "person" in chosen.kinds and definiteness == "either":
            definiteness = "definite"
        elif habitual and verb.aspect == "event" and definiteness != "definite":
            definiteness = "bare"
        elif verb.case == "dative" and definiteness == "either":
            definiteness = "definite"
        return self.noun_phrase(chosen, definiteness, plurals=self._plurals(verb.case, chosen))

    def _plurals(self, case: Case, noun: Noun) -> float:
        """How often the noun is plural: rarely where the dative plural would be a form that nothing else shows."""
        plain = case != "dative" or noun.plural is None or noun.plural.endswith(("n", "s"))
        return 0.2 if plain or noun.key in _WITH_DATIVE_PLURAL else 0.0

    def object_pronoun(self) -> Pronoun:
        """A personal pronoun as object, of another person than the subject."""
        taken = next((group for group in (_FIRST_PERSONS, _SECOND_PERSONS) if self.subject_key in group), ())
        options = [
            key
            for key in _OBJECT_PRONOUNS
            if key not in taken and (key not in _SECOND_PERSONS or key == self.addressee)
        ]
        return Pronoun(self.one_of(options))

    # ---- noun phrases

    def noun_phrase(
        self,
        noun: Noun,
        definiteness: Definiteness = "either",
        *,
        plurals: float = 0.2,
        adjectives: float = 0.25,
        subject: bool = False,
    ) -> NounPhrase:
        """A noun with a determiner that suits it and perhaps an adjective."""
        plural = noun.plural_only or (not noun.mass and "parent" not in noun.kinds and self.chance(plurals))
        if definiteness == "bare" and not noun.mass:
            plural = True
        if plural or noun.mass:
            options = self._plural_and_mass_determiners(noun, definiteness, plural=plural)
            if subject and len(options) > 1:
                options.pop("", None)
            determiner = self.weighted(options)
        else:
            options = self._singular_determiners(noun, definiteness, subject=subject)
            determiner = self.weighted(options)
        phrase = NounPhrase(noun, determiner, plural)
        if determiner == "mein":
            phrase.determiner = self.possessive()
        elif determiner == "von":
            phrase.determiner, phrase.possessor = "der", self._possessor(noun)
        if self.chance(adjectives):
            phrase.adjective = self.adjective_for(noun)
        return phrase

    def _singular_determiners(self, noun: Noun, definiteness: Definiteness, *, subject: bool) -> dict[str, Weight]:
        own = 0.0 if noun.shared else 3.0
        if definiteness == "indefinite":
            return {"ein": 1}
        if "relative" in noun.kinds:
            return {"mein": 9, "der": 1, "von": 1.2}
        options = {"der": 6.0, "dieser": 4.0, "mein": own, "von": 1.0 if noun.part_of else own * 0.25}
        if definiteness == "either":
            options |= {"ein": 2.5, "jeder": 0.4} if subject else {"ein": 4.5}
        return options

    def _plural_and_mass_determiners(
        self, noun: Noun, definiteness: Definiteness, *, plural: bool
    ) -> dict[str, Weight]:
        if definiteness == "bare" or not _BARE_KINDS.isdisjoint(noun.kinds):
            return {"": 1}
        own = 0.0 if noun.shared else 2.0
        if "relative" in noun.kinds:
            return {self.one_of(_FEW): 1} if definiteness == "indefinite" else {"mein": 8, "der": 1}
        if not plural:
            if "known" in noun.kinds:
                return {"der": 1}
            return {"": 5} | ({} if definiteness == "indefinite" else {"der": 3, "dieser": 1, "mein": own * 0.4})
        if definiteness == "indefinite":
            return {"": 1, "viele": 1, self.one_of(german.NUMERALS): 1}
        options = {"der": 4.0, "dieser": 1.5, "mein": own, "alle": 0.7}
        if definiteness == "either":
            options |= {"": 2.5, "viele": 1.0, self.one_of(german.NUMERALS): 1.5}
        return options

    def possessive(self) -> str:
        """A possessive, often the subject's own; never one that could be two people's."""
        own = _OWN.get(self.subject_key)
        if own and self.chance(0.65):
            return own
        second = {"du": "dein", "ihr": "euer"}.get(self.addressee)
        options = ["mein", "sein", "unser", *([second] if second else [])]
        if self.subject_key not in ("Sie", "sie, plural"):
            options.append("ihr")
        return self.one_of(options)

    def _possessor(self, noun: Noun) -> NounPhrase | Name:
        if noun.part_of:
            whole = self.fair(self.words.select(noun.part_of))
            assert isinstance(whole, Noun)
            return NounPhrase(whole, self.weighted({"der": 3, "dieser": 1}))
        person = self.fair([entity for entity in self._people if entity.key != "Eltern"])
        if isinstance(person, ProperName):
            return Name(person)
        return NounPhrase(person, self.possessive() if "relative" in person.kinds else "der")

    def adjective_for(self, noun: Noun) -> Adjective | None:
        """An adjective that may stand before the noun."""
        options = self._describing.get(noun)
        return self.fair(options) if options else None
