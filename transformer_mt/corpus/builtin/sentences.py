"""Sentences: statements, questions, commands, and clauses joined to each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from transformer_mt.corpus.builtin import english_order, german_order
from transformer_mt.corpus.builtin.clauses import Clause
from transformer_mt.corpus.builtin.german import Person
from transformer_mt.corpus.builtin.phrases import Adverbial
from transformer_mt.corpus.builtin.subordination import CONJUNCTIONS, Subordinate
from transformer_mt.corpus.builtin.words import COMMA, Word, linked_pair, tidy
from transformer_mt.corpus.pairs import SentencePair

Mark = Literal[".", "?", "!"]


@dataclass(eq=False)
class Statement:
    """A main clause; `first` is what stands before the German finite verb if it is not the subject."""

    clause: Clause
    first: object = None

    mark: Mark = "."

    def german(self) -> list[Word]:
        """Verb-second order."""
        return german_order.verb_second(self.clause, self.first)

    def german_after_clause(self) -> list[Word]:
        """The same after a subordinate clause, which counts as what stands before the verb."""
        return german_order.verb_first(self.clause)

    def english(self) -> list[Word]:
        """Subject first, but for an adverbial of time or of the whole sentence that starts the German."""
        fronted = self.first if isinstance(self.first, Adverbial) and self.first.slot in ("time", "sentence") else None
        return english_order.declarative(self.clause, fronted)

    def clauses(self) -> Iterator[Clause]:
        """The one clause."""
        yield self.clause


@dataclass(eq=False)
class Question:
    """A yes/no question, or a w-question for the part of the clause that is `asked`."""

    clause: Clause
    asked: object = None

    mark: Mark = "?"

    def german(self) -> list[Word]:
        """The verb first, or second after the w-word."""
        if self.asked is None:
            return german_order.verb_first(self.clause)
        return german_order.verb_second(self.clause, self.asked)

    def german_after_clause(self) -> list[Word]:
        """The same after a subordinate clause."""
        return self.german()

    def english(self) -> list[Word]:
        """The auxiliary before the subject."""
        return english_order.question(self.clause, self.asked)

    def clauses(self) -> Iterator[Clause]:
        """The one clause."""
        yield self.clause


@dataclass(eq=False)
class Command:
    """An imperative to du, ihr or Sie."""

    clause: Clause
    to: Literal["du", "ihr", "Sie"] = "du"

    mark: Mark = "!"

    def german(self) -> list[Word]:
        """The imperative first."""
        person: dict[str, Person] = {"du": "2s", "ihr": "2p", "Sie": "3p"}
        return german_order.imperative(self.clause, person[self.to])

    def german_after_clause(self) -> list[Word]:
        """The same after a subordinate clause."""
        return self.german()

    def english(self) -> list[Word]:
        """The imperative, after please if it is there."""
        return english_order.imperative(self.clause)

    def clauses(self) -> Iterator[Clause]:
        """The one clause."""
        yield self.clause


Main = Statement | Question | Command


@dataclass(eq=False)
class Complex:
    """A main clause and a subordinate clause, which may come first."""

    main: Main
    subordinate: Subordinate
    subordinate_first: bool = False

    @property
    def mark(self) -> Mark:
        """That of the main clause."""
        return self.main.mark

    def german(self) -> list[Word]:
        """With a comma between the two."""
        if self.subordinate_first:
            return [*self.subordinate.german(), *self.main.german_after_clause()]
        return [*self.main.german(), *self.subordinate.german()]

    def english(self) -> list[Word]:
        """With a comma only if the subordinate clause comes first."""
        if self.subordinate_first:
            return [*self.subordinate.english(), COMMA, *self.main.english()]
        return [*self.main.english(), *self.subordinate.english()]

    def clauses(self) -> Iterator[Clause]:
        """Both clauses."""
        yield from self.main.clauses()
        yield self.subordinate.clause


@dataclass(eq=False)
class Joined:
    """Two sentences with und, aber or oder between them."""

    first: "Main | Complex | Joined"
    conjunction: Literal["und", "aber", "oder"]
    second: "Main | Complex | Joined"

    @property
    def mark(self) -> Mark:
        """That of the second."""
        return self.second.mark

    def german(self) -> list[Word]:
        """With a comma before aber."""
        comma = [COMMA] if self.conjunction == "aber" else []
        return [*self.first.german(), *comma, self._conjunction(self.conjunction), *tidy(self.second.german())]

    def english(self) -> list[Word]:
        """With a comma before but."""
        comma = [COMMA] if self.conjunction == "aber" else []
        return [
            *self.first.english(),
            *comma,
            self._conjunction(CONJUNCTIONS[self.conjunction]),
            *self.second.english(),
        ]

    def _conjunction(self, text: str) -> Word:
        return Word(text, ((self, "conjunction"),))

    def clauses(self) -> Iterator[Clause]:
        """The clauses of both."""
        yield from self.first.clauses()
        yield from self.second.clauses()


Sentence = Main | Complex | Joined


def realise(sentence: Sentence) -> SentencePair:
    """The German and English sentence of a derivation, with its punctuation and the links of its words."""
    mark = Word(sentence.mark)
    return linked_pair([*tidy(sentence.german()), mark], [*tidy(sentence.english()), mark])


def pairings(sentence: Sentence) -> list[tuple[str, str]]:
    """Every (verb, object noun) in the sentence."""
    return [pairing for clause in sentence.clauses() for pairing in clause.pairings()]
