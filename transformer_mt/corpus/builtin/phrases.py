"""Phrases: the nodes of a derivation below the clause, each of which says itself in both languages.

Nodes are compared by identity, because the same noun phrase may stand twice in a sentence.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from typing_extensions import override

from transformer_mt.corpus.builtin import english, german
from transformer_mt.corpus.builtin.german import Person
from transformer_mt.corpus.builtin.lexicon import Adjective, Adverb, Case, Noun, ProperName
from transformer_mt.corpus.builtin.words import COMMA, Origin, Word, spell

_INDEFINITE = ("ein", "")


class Nominal(ABC):
    """What can be a subject or an object; unless it says otherwise, a definite third person singular."""

    @property
    def german_person(self) -> Person:
        """The person and number of a German verb whose subject this is."""
        return "3s"

    @property
    def english_person(self) -> Person:
        """The person and number of an English verb whose subject this is."""
        return self.german_person

    @property
    def is_pronoun(self) -> bool:
        """True for what stands at the front of the German middle field."""
        return False

    @property
    def is_indefinite(self) -> bool:
        """True for what is negated by kein, not by nicht."""
        return False

    @property
    def is_new(self) -> bool:
        """True for what stands behind manner and place: "Er hat in der Stadt drei Bücher gekauft"."""
        return self.is_indefinite

    @abstractmethod
    def german(self, case: Case, negation: Origin | None = None) -> list[Word]:
        """The phrase in a case, without its relative clause; kein takes up the `negation` of the clause."""

    def german_relative(self) -> list[Word]:
        """The relative clause between commas, or nothing."""
        return []

    @abstractmethod
    def english(self, *, subject: bool, negation: Origin | None = None) -> list[Word]:
        """The phrase with its relative clause; under `negation`, any for no article."""

    def nouns(self) -> list[str]:
        """The keys of the nouns that the phrase is (not those of its possessor or relative clause)."""
        return []

    def clauses(self) -> list["Relative"]:
        """The relative clauses within."""
        return []


class Relative(ABC):
    """A relative clause, as the noun phrase that it belongs to sees it."""

    @abstractmethod
    def german(self) -> list[Word]:
        """The clause without its commas."""

    @abstractmethod
    def english(self) -> list[Word]:
        """The clause."""

    @abstractmethod
    def pairings(self) -> Iterator[tuple[str, str]]:
        """Every (verb, object noun) in it."""


@dataclass(eq=False)
class Pronoun(Nominal):
    """A personal pronoun, wer or was, by its nominative: "sie" is she, "sie, plural" is they."""

    key: str

    @property
    @override
    def german_person(self) -> Person:
        """That of the pronoun; third person singular for wer, was, man."""
        persons: dict[str, Person] = {
            "ich": "1s",
            "du": "2s",
            "wir": "1p",
            "ihr": "2p",
            "sie, plural": "3p",
            "Sie": "3p",
        }
        return persons.get(self.key, "3s")

    @property
    @override
    def english_person(self) -> Person:
        """The same, but man is you."""
        return "2s" if self.key == "man" else self.german_person

    @property
    @override
    def is_pronoun(self) -> bool:
        return True

    @override
    def german(self, case: Case, negation: Origin | None = None) -> list[Word]:
        return spell(german.pronoun(self.key, case), (self, "pronoun"))

    @override
    def english(self, *, subject: bool, negation: Origin | None = None) -> list[Word]:
        return spell(english.PRONOUNS[self.key][0 if subject else 1], (self, "pronoun"))


@dataclass(eq=False)
class Indefinite(Nominal):
    """Jemand, niemand, nichts, alles: pronouns that stand where noun phrases stand."""

    key: str

    @property
    @override
    def is_new(self) -> bool:
        return True

    @override
    def german(self, case: Case, negation: Origin | None = None) -> list[Word]:
        """One word; jemand and niemand have endings."""
        return spell(self.key + german.INDEFINITE_ENDINGS.get(self.key, {}).get(case, ""), (self, "pronoun"))

    @override
    def english(self, *, subject: bool, negation: Origin | None = None) -> list[Word]:
        return spell(english.INDEFINITE_PRONOUNS[self.key], (self, "pronoun"))


@dataclass(eq=False)
class ClockTime(Nominal):
    """A full hour: acht Uhr, eight o'clock."""

    numeral: str

    @override
    def german(self, case: Case, negation: Origin | None = None) -> list[Word]:
        return [Word(self.numeral, ((self, "numeral"),)), Word("Uhr", ((self, "clock"),))]

    @override
    def english(self, *, subject: bool, negation: Origin | None = None) -> list[Word]:
        return [Word(english.NUMERALS[self.numeral], ((self, "numeral"),)), Word("o'clock", ((self, "clock"),))]


@dataclass(eq=False)
class Name(Nominal):
    """A proper name."""

    name: ProperName

    @override
    def german(self, case: Case, negation: Origin | None = None) -> list[Word]:
        """The name; -s in the genitive."""
        return spell(self.name.key + ("s" if case == "genitive" else ""), (self, "noun"))

    @override
    def english(self, *, subject: bool, negation: Origin | None = None) -> list[Word]:
        return spell(self.name.english, (self, "noun"))

    @override
    def nouns(self) -> list[str]:
        return [self.name.key]


@dataclass(eq=False)
class NounPhrase(Nominal):
    """Determiner, adjective, noun, possessor and relative clause.

    The determiner is named by its masculine nominative ("der", "ein", "dieser", "mein"), a numeral ("drei"), or "" for
    none. A person's possessor stands in the genitive in German and takes 's in English; any other takes "of".
    """

    noun: Noun
    determiner: str = "der"
    plural: bool = False
    adjective: Adjective | None = None
    comparative: bool = False
    possessor: "NounPhrase | Name | None" = None
    relative: Relative | None = None

    @property
    @override
    def german_person(self) -> Person:
        return "3p" if self.plural else "3s"

    @property
    @override
    def is_indefinite(self) -> bool:
        """True with ein or no determiner: kein negates it."""
        return self.determiner in _INDEFINITE and self.possessor is None

    @property
    @override
    def is_new(self) -> bool:
        return self.is_indefinite or self.determiner in ("kein", "viele", *german.NUMERALS)

    @override
    def german(self, case: Case, negation: Origin | None = None) -> list[Word]:
        """Determiner, adjective, noun, genitive; a name in the genitive replaces the determiner."""
        where = german.column(self.noun, plural=self.plural)
        key = "kein" if negation and self.is_indefinite else self.determiner
        said: list[Word] = []
        if isinstance(self.possessor, Name):
            said += self.possessor.german("genitive")
            key = ""
        else:
            origins = ((self, "determiner"), negation) if negation and key == "kein" else ((self, "determiner"),)
            said += spell(german.determiner(key, case, where), *origins)
        if self.adjective:
            form = german.adjective(self.adjective, key, case, where, comparative=self.comparative)
            said.append(Word(form, ((self, "adjective"),)))
        said.append(Word(german.noun(self.noun, case, plural=self.plural), ((self, "noun"),)))
        if isinstance(self.possessor, NounPhrase):
            said += self.possessor.german("genitive")
        return said

    @override
    def german_relative(self) -> list[Word]:
        return [COMMA, *self.relative.german(), COMMA] if self.relative else []

    @override
    def english(self, *, subject: bool, negation: Origin | None = None) -> list[Word]:
        """Determiner, adjective, noun, relative clause, with 's or of for the possessor."""
        described: list[Word] = []
        if self.adjective:
            form = english.comparative(self.adjective) if self.comparative else self.adjective.english
            described += spell(form, (self, "adjective"))
        described.append(Word(english.noun(self.noun, plural=self.plural), ((self, "noun"),)))
        said = self._english_determiner(described[0].text, negation) + described
        if isinstance(self.possessor, NounPhrase) and "person" not in self.possessor.noun.kinds:
            said += [Word("of", ((self.possessor, "determiner"),)), *self.possessor.english(subject=False)]
        if self.relative:
            said += self.relative.english()
        return said

    def _english_determiner(self, following: str, negation: Origin | None) -> list[Word]:
        if self.possessor and ("person" in _kinds(self.possessor)):
            *first, last = self.possessor.english(subject=False)
            return [*first, Word(last.text + "'s", last.origins)]
        origin = (self, "determiner")
        if self.is_indefinite:
            if self.determiner == "ein" and not self.plural:
                return [Word(english.article(following), (origin,))]
            return [Word("any", (origin,))] if negation else []
        if self.determiner in english.NUMERALS:
            return [Word(english.NUMERALS[self.determiner], (origin,))]
        return spell(english.DETERMINERS[self.determiner][self.plural], origin)

    @override
    def nouns(self) -> list[str]:
        return [self.noun.key]

    @override
    def clauses(self) -> list[Relative]:
        return [self.relative] if self.relative else []


def _kinds(possessor: "NounPhrase | Name") -> tuple[str, ...]:
    return possessor.name.kinds if isinstance(possessor, Name) else possessor.noun.kinds


@dataclass(eq=False)
class Both(Nominal):
    """Two phrases joined by und: a plural."""

    first: Nominal
    second: Nominal

    @property
    @override
    def german_person(self) -> Person:
        return "3p"

    @override
    def german(self, case: Case, negation: Origin | None = None) -> list[Word]:
        return [*self.first.german(case), Word("und", ((self, "and"),)), *self.second.german(case)]

    @override
    def english(self, *, subject: bool, negation: Origin | None = None) -> list[Word]:
        return [
            *self.first.english(subject=subject),
            Word("and", ((self, "and"),)),
            *self.second.english(subject=subject),
        ]

    @override
    def nouns(self) -> list[str]:
        return self.first.nouns() + self.second.nouns()

    @override
    def clauses(self) -> list[Relative]:
        return self.first.clauses() + self.second.clauses()


@dataclass(eq=False)
class There(Nominal):
    """The subject of es gibt: "es" in German, "there" in English, where the verb agrees with what there is."""

    what: NounPhrase

    @property
    @override
    def english_person(self) -> Person:
        return self.what.english_person

    @property
    @override
    def is_pronoun(self) -> bool:
        """It stands where pronouns stand."""
        return True

    @override
    def german(self, case: Case, negation: Origin | None = None) -> list[Word]:
        return [Word("es", ((self, "there"),))]

    @override
    def english(self, *, subject: bool, negation: Origin | None = None) -> list[Word]:
        return [Word("there", ((self, "there"),))]


@dataclass(eq=False)
class RelativePronoun(Nominal):
    """The relative pronoun for `antecedent`: der, who; den, whom; das, that."""

    antecedent: NounPhrase

    @property
    @override
    def german_person(self) -> Person:
        return self.antecedent.german_person

    @property
    @override
    def is_pronoun(self) -> bool:
        """It stands first whatever else there is."""
        return True

    @override
    def german(self, case: Case, negation: Origin | None = None) -> list[Word]:
        """The pronoun with the antecedent's gender and number in its own case."""
        where = german.column(self.antecedent.noun, plural=self.antecedent.plural)
        return [Word(german.RELATIVE_PRONOUN[case, where], ((self, "relative"),))]

    @override
    def english(self, *, subject: bool, negation: Origin | None = None) -> list[Word]:
        """Who and whom for people, that for everything else."""
        person = "who" if subject else "whom"
        return [Word(person if "person" in self.antecedent.noun.kinds else "that", ((self, "relative"),))]

    @override
    def nouns(self) -> list[str]:
        return self.antecedent.nouns()


def prepositional(preposition: Word, governed: Nominal, case: Case) -> list[Word]:
    """A German preposition and what it governs: im for in dem, unless a relative clause needs the article's stress."""
    said = governed.german(case)
    contracted = german.CONTRACTIONS.get((preposition.text, said[0].text))
    if contracted and len(said) > 1 and not governed.german_relative():
        return [Word(contracted, preposition.origins + said[0].origins), *said[1:]]
    return [preposition, *said]


@dataclass(eq=False)
class AdverbPhrase:
    """An adverb or a fixed phrase of the lexicon, in the place that its slot has in the sentence."""

    adverb: Adverb
    asked: bool = False

    @property
    def slot(self) -> str:
        """time, frequency, manner, place, goal or sentence."""
        return self.adverb.slot

    def german(self) -> list[Word]:
        """The German words."""
        return self._say(self.adverb.key)

    def german_relative(self) -> list[Word]:
        """No words: an adverb has no relative clause."""
        return []

    def english(self) -> list[Word]:
        """The English words."""
        return self._say(self.adverb.english)

    def _say(self, text: str) -> list[Word]:
        word_by_word = len(self.adverb.key.split()) == len(self.adverb.english.split())
        return [
            Word(word, ((self, f"adverb {place if word_by_word else 0}"),)) for place, word in enumerate(text.split())
        ]


@dataclass(eq=False)
class PrepositionalPhrase:
    """A preposition of each language and what it governs; `slot` is its place in the sentence."""

    preposition: str
    case: Case
    english_preposition: str
    object: Nominal
    slot: str = "place"
    bare: bool = False  # English without a determiner: by train
    after: bool = False  # English behind its object: three days ago

    def german(self) -> list[Word]:
        """The phrase, with im for in dem."""
        return prepositional(Word(self.preposition, ((self, "preposition"),)), self.object, self.case)

    def german_relative(self) -> list[Word]:
        """The relative clause of what the preposition governs."""
        return self.object.german_relative()

    def english(self) -> list[Word]:
        """The phrase."""
        preposition = spell(self.english_preposition, (self, "preposition"))
        said = self.object.english(subject=False)[1 if self.bare else 0 :]
        return [*said, *preposition] if self.after else [*preposition, *said]


Adverbial = AdverbPhrase | PrepositionalPhrase
