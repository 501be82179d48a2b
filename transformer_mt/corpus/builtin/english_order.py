"""English word order: auxiliaries, do-support, and the order of everything else.

Subject, auxiliary, not, frequency, verb, particle, object, manner, company, place, time. A pronoun stands before
the particle ("turn it on"), every other object behind it ("turn on the light").
"""

from dataclasses import dataclass, field

from transformer_mt.corpus.builtin import english
from transformer_mt.corpus.builtin.clauses import Clause
from transformer_mt.corpus.builtin.lexicon import EnglishVerb
from transformer_mt.corpus.builtin.phrases import Adverbial, Nominal
from transformer_mt.corpus.builtin.words import COMMA, Word, spell

# (present, past) of the modal verbs that are auxiliaries in English; the others are phrases with "to".
AUXILIARIES = {"können": ("can", "could"), "sollen": ("should", "should")}
_PHRASES = {"müssen": EnglishVerb("have", "had"), "wollen": EnglishVerb("want")}


@dataclass
class _VerbGroup:
    """The operator (the auxiliary that not follows and questions put first), what follows it, and the main verb."""

    operator: list[Word] = field(default_factory=list)
    middle: list[Word] = field(default_factory=list)
    main: list[Word] = field(default_factory=list)


def declarative(clause: Clause, first: Adverbial | None = None) -> list[Word]:
    """A statement or the inside of a subordinate clause; `first` is an adverbial that stands before the subject."""
    assert clause.subject is not None
    group = _verb_group(clause, needs_operator=clause.negated)
    front = [] if first is None else [*first.english(), *([COMMA] if first.slot == "sentence" else [])]
    return [*front, *clause.subject.english(subject=True), *_predicate(clause, group, without=(first,))]


def question(clause: Clause, asked: object = None) -> list[Word]:
    """A question: auxiliary before the subject, unless the subject is what is `asked`."""
    assert clause.subject is not None
    if asked is clause.subject:
        return declarative(clause)
    group = _verb_group(clause, needs_operator=True)
    front: list[Word] = []
    if isinstance(asked, Adverbial):
        front = asked.english()
    elif asked is clause.predicate and clause.predicate is not None:
        front = clause.predicate.english()
    elif asked is not None:
        front = _nominal(asked)
    inverted = [*group.operator, *clause.subject.english(subject=True)]
    return [*front, *inverted, *_predicate(clause, _VerbGroup([], group.middle, group.main), without=(asked,))]


def relative(clause: Clause, pronoun: Nominal) -> list[Word]:
    """A relative clause: the pronoun first, a gap where it belongs."""
    assert clause.subject is not None
    if pronoun is clause.subject:
        return declarative(clause)
    group = _verb_group(clause, needs_operator=clause.negated)
    front = pronoun.english(subject=False)
    return [*front, *clause.subject.english(subject=True), *_predicate(clause, group, without=(pronoun,))]


def infinitive(clause: Clause, *, bare: bool) -> list[Word]:
    """The infinitive with to, or without it, and the rest of the clause."""
    to = [] if bare else [Word("to", ((clause, "to"),))]
    base = Word(clause.verb.english.base, ((clause, "verb"),))
    not_ = [Word("not", ((clause, "not"),))] if clause.negated else []
    return [*not_, *to, base, *_complements(clause, ())]


def imperative(clause: Clause) -> list[Word]:
    """A command; please stands first."""
    please = [Word("please", ((clause, "please"),))] if clause.please else []
    base = Word(clause.verb.english.base, ((clause, "verb"),))
    if clause.negated:
        please += [Word("do"), Word("not", ((clause, "not"),))]
    return [*please, base, *_complements(clause, ())]


def _nominal(asked: object) -> list[Word]:
    said: list[Word] = asked.english(subject=False)  # type: ignore[attr-defined]
    return said


def _verb_group(clause: Clause, *, needs_operator: bool) -> _VerbGroup:
    """The verb forms; without an auxiliary of its own, the verb takes do where an operator is needed."""
    assert clause.subject is not None
    person, verb = clause.subject.english_person, clause.verb.english
    as_finite, as_verb = (clause, "finite"), (clause, "verb")
    past = clause.tense == "past"
    base = [Word(verb.base, (as_verb,))]
    if clause.modal:
        return _modal_group(clause, base, needs_operator=needs_operator)
    if clause.tense == "future":
        return _VerbGroup([Word("will", (as_finite,))], [], base)
    if clause.experience:
        have = "has" if person == "3s" else "have"
        return _VerbGroup([Word(have, (as_finite,))], [], [Word(english.participle(verb), (as_verb,))])
    if clause.gladly:
        return _gladly(clause, base, needs_operator=needs_operator)
    be = english.BE_PAST[person] if past else english.BE_PRESENT[person]
    if clause.progressive:
        operator = Word(be, (as_finite, (clause, "progressive")))
        return _VerbGroup([operator], [], [Word(english.progressive(verb), (as_verb,))])
    if verb.base == "be":
        return _VerbGroup([Word(be, (as_finite, as_verb))])
    if needs_operator:
        return _VerbGroup([_do(clause)], [], base)
    form = english.past(verb, person) if past else english.present(verb, person)
    return _VerbGroup([], [], [Word(form, (as_finite, as_verb))])


def _do(clause: Clause) -> Word:
    assert clause.subject is not None
    present = "does" if clause.subject.english_person == "3s" else "do"
    return Word("did" if clause.tense == "past" else present, ((clause, "finite"),))


def _modal_group(clause: Clause, base: list[Word], *, needs_operator: bool) -> _VerbGroup:
    assert clause.subject is not None
    assert clause.modal is not None
    person, past, finite = clause.subject.english_person, clause.tense == "past", (clause, "finite")
    if clause.modal in AUXILIARIES:
        return _VerbGroup(spell(AUXILIARIES[clause.modal][past], finite), [], base)
    if clause.modal == "möchten":
        return _VerbGroup(spell("would", finite), spell("like to", finite), base)
    if clause.modal == "dürfen":
        be = english.BE_PAST[person] if past else english.BE_PRESENT[person]
        return _VerbGroup(spell(be, finite), spell("allowed to", finite), base)
    phrase = _PHRASES[clause.modal]
    if needs_operator:
        return _VerbGroup([_do(clause)], spell(f"{phrase.base} to", finite), base)
    form = english.past(phrase, person) if past else english.present(phrase, person)
    return _VerbGroup([], spell(f"{form} to", finite), base)


def _predicate(clause: Clause, group: _VerbGroup, without: tuple[object, ...]) -> list[Word]:
    """Everything after the subject, but for the parts in `without`."""
    return [
        *_with_not(clause, group.operator),
        *_before_the_verb(clause, without),
        *group.middle,
        *group.main,
        *_complements(clause, without),
    ]


def _with_not(clause: Clause, operator: list[Word]) -> list[Word]:
    """The operator and not, which can and not write as one word."""
    if clause.experience == "noch nicht":
        return [*operator, Word("not", ((clause, "not"),))]
    if not clause.negated:
        return operator
    if operator and operator[0].text == "can":
        return [Word("cannot", (*operator[0].origins, (clause, "not")))]
    return [*operator, Word("not", ((clause, "not"),))]


def _before_the_verb(clause: Clause, without: tuple[object, ...]) -> list[Word]:
    said = [
        word for adverbial in clause.in_slot("frequency") if adverbial not in without for word in adverbial.english()
    ]
    if clause.please:
        said.append(Word("please", ((clause, "please"),)))
    if clause.experience == "schon":
        said.append(Word("already", ((clause, "already"),)))
    if clause.experience == "noch nie":
        said.append(Word("never", ((clause, "never"),)))
    return said


def _gladly(clause: Clause, base: list[Word], *, needs_operator: bool) -> _VerbGroup:
    """Gern is a verb in English: to like to."""
    assert clause.subject is not None
    if needs_operator:
        return _VerbGroup([_do(clause)], spell("like to", (clause, "gladly")), base)
    like = english.present(EnglishVerb("like"), clause.subject.english_person)
    return _VerbGroup(
        [], spell(f"{like} to", (clause, "gladly")), [Word(base[0].text, ((clause, "finite"), *base[0].origins))]
    )


def _complements(clause: Clause, without: tuple[object, ...]) -> list[Word]:
    """What follows the verb, but for the parts in `without`."""
    said = _objects(clause, without)
    if clause.predicate is not None and clause.predicate not in without:
        said += clause.predicate.english()
    for slot in ("goal", "manner", "company", "place", "time", "sentence"):
        for adverbial in clause.in_slot(slot):
            if adverbial not in without:
                said += adverbial.english()
    if clause.experience == "noch nicht":
        said.append(Word("yet", ((clause, "yet"),)))
    if clause.complement is not None:
        said += clause.complement.english()
    return said


def _objects(clause: Clause, without: tuple[object, ...]) -> list[Word]:
    verb = clause.verb.english
    particle = spell(verb.particle or "", (clause, "verb"))
    preposition = spell(
        verb.preposition or "", (clause, "preposition"), *(() if clause.verb.preposition else _verb(clause))
    )
    asked = clause.object in without if clause.object is not None else True
    thing: list[Word] = []
    if clause.object is not None and not asked:
        negation = (clause, "not") if clause.negated and not clause.gladly else None
        thing = clause.object.english(subject=False, negation=negation)
    recipient = _recipient(clause, without)
    if clause.object is None:
        return [*particle, *recipient]
    if preposition:
        return [*particle, *preposition, *thing]
    if clause.object.is_pronoun and not asked:
        return [*thing, *particle, *recipient]
    if clause.verb.recipient_preposition:
        return [*particle, *thing, *recipient]
    return [*recipient, *particle, *thing]


def _verb(clause: Clause) -> tuple[tuple[object, str], ...]:
    return ((clause, "verb"),)


def _recipient(clause: Clause, without: tuple[object, ...]) -> list[Word]:
    if clause.recipient is None or clause.recipient in without:
        return []
    to = spell(clause.verb.recipient_preposition or "", (clause.recipient, "to"))
    return [*to, *clause.recipient.english(subject=False)]
