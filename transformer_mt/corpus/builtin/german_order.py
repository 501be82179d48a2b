"""German word order: where the finite verb stands, and the order of everything else.

After the finite verb (or the conjunction) come, in this order: subject, pronouns, time, frequency, gern, the dative,
the object, schon and nicht, manner and place, the prepositional object or goal, the predicate, and last what the verb
leaves for the end. An indefinite object stands behind manner and place: "Er hat in der Stadt ein Buch gekauft."
"""

from collections.abc import Iterator

from transformer_mt.corpus.builtin import german
from transformer_mt.corpus.builtin.clauses import Clause
from transformer_mt.corpus.builtin.german import Person
from transformer_mt.corpus.builtin.lexicon import Case
from transformer_mt.corpus.builtin.phrases import Adverbial, Nominal, prepositional
from transformer_mt.corpus.builtin.words import Origin, Word, spell

# Verbs whose past is the preterite; that of all others is the perfect.
_PRETERITE_VERBS = ("sein", "haben", "geben (es)")

Part = tuple[object, list[Word]]


def verb_second(clause: Clause, first: object = None) -> list[Word]:
    """A statement or w-question: `first` (the subject by default), the finite verb, the rest."""
    first = clause.subject if first is None else first
    finite, rest = verb_forms(clause)
    return [*_front(clause, first), finite, *_middle_field(clause, first), *rest, *_after_field(clause)]


def verb_first(clause: Clause) -> list[Word]:
    """A yes/no question, or a main clause after its subordinate clause."""
    finite, rest = verb_forms(clause)
    return [finite, *_middle_field(clause, None), *rest, *_after_field(clause)]


def verb_final(clause: Clause, first: object = None) -> list[Word]:
    """A subordinate clause without its conjunction, or a relative clause that starts with `first`."""
    finite, rest = verb_forms(clause)
    front = _front(clause, first) if first is not None else []
    if rest and rest[-1].text == clause.verb.prefix:
        end = [*rest[:-1], Word(rest[-1].text + finite.text, finite.origins)]
    else:
        end = [*rest, finite]
    return [*front, *_middle_field(clause, first), *end, *_after_field(clause)]


def zu_infinitive(clause: Clause) -> list[Word]:
    """A clause without a subject that ends in the infinitive with zu."""
    verb, to = ((clause, "verb"),), ((clause, "to"),)
    if clause.verb.prefix:
        end = [Word(german.zu_infinitive(clause.verb), verb + to)]
    else:
        end = [Word("zu", to), Word(clause.verb.infinitive, verb)]
    return [*_middle_field(clause, None), *end, *_after_field(clause)]


def imperative(clause: Clause, person: Person) -> list[Word]:
    """A command to du ("2s"), ihr ("2p") or Sie ("3p")."""
    verb = Word(german.imperative(clause.verb, person), ((clause, "verb"),))
    formal = [Word("Sie")] if person == "3p" else []
    prefix = spell(clause.verb.prefix, (clause, "verb"))
    return [verb, *formal, *_middle_field(clause, None), *prefix, *_after_field(clause)]


def verb_forms(clause: Clause) -> tuple[Word, list[Word]]:
    """The finite verb, and what stands at the end of a main clause: prefix, participle or infinitive."""
    assert clause.subject is not None, "a finite clause has a subject"
    verb, person = clause.verb, clause.subject.german_person
    as_finite, as_verb = ((clause, "finite"),), ((clause, "verb"),)
    if clause.modal:
        forms = (
            german.PRETERITE[clause.modal][person] if clause.tense == "past" else german.present(clause.modal, person)
        )
        return Word(forms, as_finite), [Word(german.infinitive(verb), as_verb)]
    if clause.tense == "future":
        return Word(german.present("werden", person), as_finite), [Word(german.infinitive(verb), as_verb)]
    if clause.experience or (clause.tense == "past" and verb.key not in _PRETERITE_VERBS):
        return Word(german.present(verb.auxiliary, person), as_finite), [Word(verb.participle, as_verb)]
    if clause.tense == "past":
        return Word(german.PRETERITE[verb.infinitive][person], as_finite + as_verb), []
    return Word(german.present_of(verb, person), as_finite + as_verb), spell(verb.prefix, *as_verb)


def negation(clause: Clause) -> Origin | None:
    """The origin of not and nicht."""
    return (clause, "not") if clause.negated else None


def _negation_is_kein(clause: Clause) -> bool:
    object_takes_it = clause.object is not None and not clause.verb.preposition and clause.object.is_indefinite
    return (
        clause.negated
        and not clause.gladly
        and (object_takes_it or bool(getattr(clause.predicate, "is_indefinite", False)))
    )


def _front(clause: Clause, first: object) -> list[Word]:
    if isinstance(first, Adverbial):
        return first.german()
    return [word for part, words in _parts(clause) if part is first for word in words]


def _middle_field(clause: Clause, first: object) -> list[Word]:
    return [word for part, words in _parts(clause) if part is None or part is not first for word in words]


def _parts(clause: Clause) -> Iterator[Part]:
    """The parts of the middle field in order, each with its words."""
    if clause.subject is not None:
        yield clause.subject, _with_relative(clause.subject, "nominative")
    yield from _pronouns(clause)
    if clause.please:
        yield None, [Word("bitte", ((clause, "please"),))]
    yield from _adverbials(clause, "sentence", "time")
    if clause.progressive:
        yield None, [Word("gerade", ((clause, "progressive"),))]
    yield from _adverbials(clause, "frequency")
    if clause.gladly:
        not_ = [Word("nicht", ((clause, "not"),))] if clause.negated else []
        yield None, [*not_, Word("gern", ((clause, "gladly"),))]
    if clause.recipient is not None and not clause.recipient.is_pronoun:
        yield clause.recipient, clause.recipient.german("dative")
    yield from _object_and_circumstances(clause)
    yield from _prepositional_object(clause)
    yield from _adverbials(clause, "goal")
    if clause.predicate is not None:
        yield clause.predicate, _predicate(clause)


def _pronouns(clause: Clause) -> Iterator[Part]:
    if clause.object is not None and clause.object.is_pronoun and not clause.verb.preposition:
        yield clause.object, clause.object.german(clause.verb.case)
    if clause.recipient is not None and clause.recipient.is_pronoun:
        yield clause.recipient, clause.recipient.german("dative")


def _object_and_circumstances(clause: Clause) -> Iterator[Part]:
    """The object, schon and nicht, manner and place: the order depends on whether the object is indefinite."""
    circumstances = list(_adverbials(clause, "manner", "company", "place"))
    stands_here = clause.object is not None and not clause.object.is_pronoun and not clause.verb.preposition
    says_nicht = clause.negated and not clause.gladly and not _negation_is_kein(clause)
    particles: list[Part] = []
    if clause.experience:
        particles.append((None, _experience(clause)))
    if says_nicht:
        particles.append((None, [Word("nicht", ((clause, "not"),))]))
    if not stands_here:
        yield from particles
        yield from circumstances
        return
    assert clause.object is not None
    noun_phrase = clause.object.german(clause.verb.case, negation(clause) if _negation_is_kein(clause) else None)
    if clause.object.is_new:
        yield from [*particles, *circumstances, (clause.object, noun_phrase)]
    else:
        yield from [(clause.object, noun_phrase), *particles, *circumstances]


def _experience(clause: Clause) -> list[Word]:
    return {
        "schon": [Word("schon", ((clause, "already"),))],
        "noch nicht": [Word("noch", ((clause, "yet"),)), Word("nicht", ((clause, "not"),))],
        "noch nie": spell("noch nie", (clause, "never")),
    }[clause.experience or "schon"]


def _prepositional_object(clause: Clause) -> Iterator[Part]:
    if clause.object is not None and clause.verb.preposition:
        preposition = Word(clause.verb.preposition, ((clause, "preposition"),))
        yield clause.object, prepositional(preposition, clause.object, clause.verb.case)


def _predicate(clause: Clause) -> list[Word]:
    if isinstance(clause.predicate, Adverbial):
        return clause.predicate.german()
    assert clause.predicate is not None
    return clause.predicate.german(negation(clause) if _negation_is_kein(clause) else None)


def _adverbials(clause: Clause, *slots: str) -> Iterator[Part]:
    for slot in slots:
        for adverbial in clause.in_slot(slot):
            yield adverbial, adverbial.german()


def _with_relative(nominal: Nominal, case: Case) -> list[Word]:
    return [*nominal.german(case), *nominal.german_relative()]


def _after_field(clause: Clause) -> list[Word]:
    """What stands behind the verb: relative clauses of the objects, and the clause that the verb takes."""
    said: list[Word] = []
    for part in (clause.recipient, clause.object, *clause.adverbials):
        if part is not None:
            said += part.german_relative()
    if clause.complement is not None:
        said += clause.complement.german()
    return said
