"""Clauses inside others: after a conjunction, as an infinitive, as a relative clause."""

from collections.abc import Iterator
from dataclasses import dataclass

from typing_extensions import override

from transformer_mt.corpus.builtin import english_order, german_order
from transformer_mt.corpus.builtin.clauses import Clause, Complement
from transformer_mt.corpus.builtin.phrases import Relative, RelativePronoun
from transformer_mt.corpus.builtin.words import COMMA, Word

CONJUNCTIONS = {
    "dass": "that",
    "ob": "whether",
    "weil": "because",
    "wenn": "if",
    "obwohl": "although",
    "bevor": "before",
    "als": "when",
    "warum": "why",
    "wann": "when",
    "und": "and",
    "aber": "but",
    "oder": "or",
}


@dataclass(eq=False)
class Subordinate(Complement):
    """A clause after a conjunction, with the German verb at its end."""

    conjunction: str
    clause: Clause

    @override
    def german(self) -> list[Word]:
        conjunction = Word(self.conjunction, ((self, "conjunction"),))
        return [COMMA, conjunction, *german_order.verb_final(self.clause), COMMA]

    @override
    def english(self) -> list[Word]:
        conjunction = Word(CONJUNCTIONS[self.conjunction], ((self, "conjunction"),))
        return [conjunction, *english_order.declarative(self.clause)]

    @override
    def pairings(self) -> Iterator[tuple[str, str]]:
        return self.clause.pairings()


@dataclass(eq=False)
class Infinitive(Complement):
    """A clause without subject: zu and to; English leaves "to" out after help."""

    clause: Clause
    bare: bool = False

    @override
    def german(self) -> list[Word]:
        return [COMMA, *german_order.zu_infinitive(self.clause), COMMA]

    @override
    def english(self) -> list[Word]:
        return english_order.infinitive(self.clause, bare=self.bare)

    @override
    def pairings(self) -> Iterator[tuple[str, str]]:
        return self.clause.pairings()


@dataclass(eq=False)
class RelativeClause(Relative):
    """A clause of which one part is the relative pronoun, which starts it."""

    clause: Clause
    pronoun: RelativePronoun

    @override
    def german(self) -> list[Word]:
        return german_order.verb_final(self.clause, first=self.pronoun)

    @override
    def english(self) -> list[Word]:
        return english_order.relative(self.clause, self.pronoun)

    @override
    def pairings(self) -> Iterator[tuple[str, str]]:
        return self.clause.pairings()
