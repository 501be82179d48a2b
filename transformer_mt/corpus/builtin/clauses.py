"""The clause: a verb with everything that belongs to it, and the predicates and clauses that complete it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from transformer_mt.corpus.builtin import english
from transformer_mt.corpus.builtin.lexicon import Adjective, Noun, Verb
from transformer_mt.corpus.builtin.phrases import Adverbial, Nominal, PrepositionalPhrase
from transformer_mt.corpus.builtin.words import Origin, Word, spell

Tense = Literal["present", "past", "future"]
ModalVerb = Literal["können", "müssen", "wollen", "dürfen", "sollen", "möchten"]
# What makes the German perfect an English present perfect.
Experience = Literal["schon", "noch nicht", "noch nie"]

Degree = Literal["sehr", "zu", "wie"]
DEGREES: dict[Degree, str] = {"sehr": "very", "zu": "too", "wie": "how"}


@dataclass(eq=False)
class Quality:
    """An adjective as predicate: müde, sehr müde, größer als …, so groß wie …."""

    adjective: Adjective
    degree: Degree | None = None
    than: Nominal | None = None
    equal: bool = False

    is_indefinite = False

    def german(self, negation: Origin | None = None) -> list[Word]:
        """The uninflected adjective, its degree, and what it is compared with."""
        compared = self.than is not None and not self.equal
        said = [Word(self.adjective.comparative if compared else self.adjective.key, ((self, "adjective"),))]
        if self.degree:
            said.insert(0, Word(self.degree, ((self, "degree"),)))
        if self.than:
            if self.equal:
                said.insert(0, Word("so", ((self, "as"),)))
            than = Word("wie", ((self, "like"),)) if self.equal else Word("als", ((self, "than"),))
            said += [than, *self.than.german("nominative")]
        return said

    def english(self) -> list[Word]:
        """The adjective; as … as for equals."""
        compared = self.than is not None and not self.equal
        said = spell(english.comparative(self.adjective) if compared else self.adjective.english, (self, "adjective"))
        if self.degree:
            said.insert(0, Word(DEGREES[self.degree], ((self, "degree"),)))
        if self.than:
            if self.equal:
                said.insert(0, Word("as", ((self, "as"),)))
            than = Word("as", ((self, "like"),)) if self.equal else Word("than", ((self, "than"),))
            said += [than, *self.than.english(subject=False)]
        return said


@dataclass(eq=False)
class Role:
    """A profession as predicate: Arzt, a doctor."""

    noun: Noun

    is_indefinite = True

    def german(self, negation: Origin | None = None) -> list[Word]:
        """The bare noun, or kein and the noun."""
        noun = Word(self.noun.key, ((self, "noun"),))
        return [Word("kein", (negation,)), noun] if negation else [noun]

    def english(self) -> list[Word]:
        """The noun with its article."""
        return [Word(english.article(self.noun.english)), Word(self.noun.english, ((self, "noun"),))]


@dataclass(eq=False)
class Identity:
    """A noun phrase as predicate: Das ist mein Bruder."""

    nominal: Nominal

    @property
    def is_indefinite(self) -> bool:
        """As the noun phrase."""
        return self.nominal.is_indefinite

    def german(self, negation: Origin | None = None) -> list[Word]:
        """The nominative."""
        return self.nominal.german("nominative", negation)

    def english(self) -> list[Word]:
        """The noun phrase."""
        return self.nominal.english(subject=False)


Predicate = Quality | Role | Identity | PrepositionalPhrase


class Complement(ABC):
    """A clause that completes another, as that other sees it."""

    @abstractmethod
    def german(self) -> list[Word]:
        """The clause between commas."""

    @abstractmethod
    def english(self) -> list[Word]:
        """The clause."""

    @abstractmethod
    def pairings(self) -> Iterator[tuple[str, str]]:
        """Every (verb, object noun) in it."""


@dataclass(eq=False)
class Clause:
    """A verb, its subject (None for infinitives and imperatives), objects and adverbials, and how it is said."""

    verb: Verb
    subject: Nominal | None = None
    object: Nominal | None = None
    recipient: Nominal | None = None
    predicate: Predicate | None = None
    adverbials: tuple[Adverbial, ...] = ()
    complement: Complement | None = None
    tense: Tense = "present"
    modal: ModalVerb | None = None
    experience: Experience | None = None
    negated: bool = False
    progressive: bool = False
    gladly: bool = False
    please: bool = False

    def in_slot(self, *slots: str) -> Iterator[Adverbial]:
        """The adverbials that stand in these slots."""
        return (adverbial for adverbial in self.adverbials if adverbial.slot in slots)

    def pairings(self) -> Iterator[tuple[str, str]]:
        """Every (verb, object noun) of this clause and the clauses within it."""
        nominals = [self.subject, self.object, self.recipient]
        nominals += [part.object for part in self.adverbials if isinstance(part, PrepositionalPhrase)]
        for nominal in nominals:
            for relative in nominal.clauses() if nominal is not None else ():
                yield from relative.pairings()
        if self.object is not None:
            yield from ((self.verb.key, noun) for noun in self.object.nouns())
        if self.complement is not None:
            yield from self.complement.pairings()
