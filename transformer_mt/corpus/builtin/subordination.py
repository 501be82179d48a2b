"""Clauses inside others: after a conjunction, as an infinitive, as a relative clause."""

from collections.abc import Iterator
from dataclasses import dataclass

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

    def german(self) -> list[Word]:
        """Comma, conjunction, clause, comma."""
        conjunction = Word(self.conjunction, ((self, "conjunction"),))
        return [COMMA, conjunction, *german_order.verb_final(self.clause), COMMA]

    def english(self) -> list[Word]:
        """Conjunction and clause."""
        conjunction = Word(CONJUNCTIONS[self.conjunction], ((self, "conjunction"),))
        return [conjunction, *english_order.declarative(self.clause)]

    def pairings(self) -> Iterator[tuple[str, str]]:
        """Those of the clause."""
        return self.clause.pairings()


@dataclass(eq=False)
class Infinitive(Complement):
    """A clause without subject: zu and to; English leaves "to" out after help."""

    clause: Clause
    bare: bool = False

    def german(self) -> list[Word]:
        """Comma and the clause, ending in the infinitive with zu."""
        return [COMMA, *german_order.zu_infinitive(self.clause), COMMA]

    def english(self) -> list[Word]:
        """The infinitive and the rest of the clause."""
        return english_order.infinitive(self.clause, bare=self.bare)

    def pairings(self) -> Iterator[tuple[str, str]]:
        """Those of the clause."""
        return self.clause.pairings()


@dataclass(eq=False)
class RelativeClause(Relative):
    """A clause of which one part is the relative pronoun, which starts it."""

    clause: Clause
    pronoun: RelativePronoun

    def german(self) -> list[Word]:
        """The relative pronoun, the rest, and the verb at the end."""
        return german_order.verb_final(self.clause, first=self.pronoun)

    def english(self) -> list[Word]:
        """The relative pronoun and the clause with a gap."""
        return english_order.relative(self.clause, self.pronoun)

    def pairings(self) -> Iterator[tuple[str, str]]:
        """Those of the clause."""
        return self.clause.pairings()
