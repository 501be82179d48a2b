"""Random clauses: a verb, what it needs, a tense that it bears, and some of what may stand around it."""

from collections.abc import Callable

from transformer_mt.corpus.builtin.clauses import Clause, ModalVerb
from transformer_mt.corpus.builtin.german import NUMERALS
from transformer_mt.corpus.builtin.lexicon import Verb
from transformer_mt.corpus.builtin.phrases import Adverbial, Nominal, NounPhrase, RelativePronoun
from transformer_mt.corpus.builtin.sampler import Sampler, SubjectPlace

# How often each verb aspect takes each way of saying when.
_TENSES: dict[str, dict[str, float]] = {
    "state": {"present": 7, "past": 2.5, "future": 0.5},
    "habit": {"present": 1.2, "habit": 2, "progressive": 1.2, "past": 2.6, "future": 0.9, "modal": 2, "experience": 0.6},
    "event": {"habit": 1.2, "progressive": 1.3, "past": 3.4, "future": 1.1, "modal": 2.4, "experience": 0.6},
}
_MODALS: dict[str, float] = {"können": 3, "müssen": 3, "wollen": 2.5, "dürfen": 1.5, "sollen": 1.5, "möchten": 2.5}
# The past of sollen and möchten would be something else in English.
_PAST_MODALS: dict[str, float] = {"können": 1, "müssen": 1, "wollen": 1, "dürfen": 0.6}


def is_plain(verb: Verb) -> bool:
    """True for the verbs that make a clause by themselves."""
    return verb.subjects != ()


def has_object(verb: Verb) -> bool:
    """True for verbs with an object."""
    return bool(verb.objects)


def clause(
    sampler: Sampler,
    *,
    where: SubjectPlace = "before the verb",
    subject: Nominal | None = None,
    verb: Verb | None = None,
    fits: Callable[[Verb], bool] = is_plain,
    tense: str | None = None,
    negations: float = 0.13,
    extras: float = 1.0,
) -> Clause:
    """A finite clause; `where` the subject will stand, and whatever is already decided."""
    if subject is not None and not isinstance(subject, RelativePronoun):
        person = sampler.words.nouns["Mann"]
        verb = verb or sampler.verb(lambda verb: fits(verb) and person in verb.subjects)
    verb = verb or sampler.verb(fits)
    subject = subject or sampler.subject(verb, where)
    result = Clause(verb=verb, subject=subject)
    choose_tense(sampler, result, tense or tense_of(sampler, verb, subject))
    add_objects(sampler, result)
    add_circumstances(sampler, result, extras)
    negate(sampler, result, negations)
    return result


def infinitive(sampler: Sampler, *, verb: Verb | None = None, fits: Callable[[Verb], bool] = is_plain) -> Clause:
    """A clause without a subject, for an infinitive or a command."""

    def can_be_done(verb: Verb) -> bool:
        return fits(verb) and verb.aspect != "state" and sampler.words.nouns["Mann"] in verb.subjects

    result = Clause(verb=verb or sampler.verb(can_be_done))
    add_objects(sampler, result)
    add_circumstances(sampler, result, 0.4)
    return result


def tense_of(sampler: Sampler, verb: Verb, subject: Nominal) -> str:
    """A way of saying when, from those that the verb bears."""
    options = dict(_TENSES[verb.aspect])
    if verb.only_present:
        options = {"present": 1}
    if verb.able and sampler.chance(0.3):
        return "modal"
    if sampler.words.nouns["Mann"] not in verb.subjects:
        options.pop("modal", None)
        options.pop("progressive", None)
    if verb.no_perfect:
        options = {"present": 1}
    return sampler.weighted(options)


def choose_tense(sampler: Sampler, clause: Clause, tense: str) -> None:
    """Put the clause into the tense, with an adverb of time or frequency where it needs or bears one."""
    if tense == "present":
        if clause.verb.aspect != "event" and not clause.verb.spot and sampler.chance(0.15):
            add(clause, sampler.adverb("frequency", "state"))
    elif tense == "habit":
        add(clause, sampler.adverb(sampler.weighted({"time": 5, "frequency": 6}), "habit"))
    elif tense == "progressive":
        clause.progressive = True
    elif tense == "past":
        clause.tense = "past"
        if sampler.chance(0.5):
            add(clause, sampler.adverb(sampler.weighted({"time": 6, "frequency": 1}), "past"))
    elif tense == "future":
        clause.tense = "future"
        if sampler.chance(0.6):
            add(clause, sampler.adverb("time", "future"))
    elif tense == "experience":
        clause.experience = sampler.weighted({"schon": 2, "noch nicht": 1.5, "noch nie": 1})  # type: ignore[assignment]
    else:
        choose_modal(sampler, clause)


def choose_modal(sampler: Sampler, clause: Clause) -> None:
    """A modal verb, now and then in the past."""
    if clause.verb.able:
        clause.modal = sampler.weighted({"können": 4, "wollen": 1, "möchten": 1})  # type: ignore[assignment]
    elif sampler.chance(0.2):
        clause.tense = "past"
        clause.modal = _modal(sampler.weighted(_PAST_MODALS))
        if sampler.chance(0.4):
            add(clause, sampler.adverb("time", "past"))
    else:
        clause.modal = _modal(sampler.weighted(_MODALS))
        if sampler.chance(0.35):
            add(clause, sampler.adverb("time", "future"))


def _modal(key: str) -> ModalVerb:
    return key  # type: ignore[return-value]


def add(clause: Clause, *adverbials: Adverbial) -> None:
    """Add adverbials to the clause."""
    clause.adverbials += adverbials


def add_objects(sampler: Sampler, clause: Clause) -> None:
    """The objects that the verb needs, and sometimes the recipient that it may have."""
    verb = clause.verb
    if verb.recipients and (verb.needs_recipient or sampler.chance(0.5)):
        clause.recipient = sampler.object_pronoun() if sampler.chance(0.5) else sampler.person()
        noun = sampler.object_noun(verb)
        if noun in verb.recipient_objects:
            clause.object = sampler.object(verb, entity=noun)
            return
        clause.recipient = None
    if verb.objects:
        clause.object = sampler.object(verb)


def add_circumstances(sampler: Sampler, clause: Clause, extras: float) -> None:
    """Where to if the verb needs it; perhaps how, where, with whom, for whom; perhaps gern."""
    verb = clause.verb
    if verb.goals:
        add(clause, sampler.goal(verb))
    if verb.spot:
        spots = [noun for noun in sampler.words.nouns.values() if "spot" in noun.prepositions]
        add(clause, sampler.location(sampler.fair(spots), "laid" if verb.objects else "spot"))
    if verb.needs_place:
        add(clause, sampler.place(verb))
    if clause.recipient is not None:
        return
    if _can_be_liked(clause) and sampler.chance(0.3 * extras):
        clause.gladly = True
    chosen = sampler.weighted({"none": 6 / max(extras, 0.01), "how": 1.5, "where": 2, "with": 1.2, "for": 1, "by": 1})
    if chosen == "how" and verb.manners:
        add(clause, sampler.manner(verb))
    elif chosen == "where" and verb.places and not verb.needs_place:
        add(clause, sampler.place(verb))
    elif chosen == "with" and verb.company:
        add(clause, sampler.company())
    elif chosen == "for" and verb.benefit:
        add(clause, sampler.benefit())
    elif chosen == "by" and verb.vehicles:
        add(clause, sampler.vehicle(verb))


def _can_be_liked(clause: Clause) -> bool:
    plain_present = clause.tense == "present" and not (clause.modal or clause.progressive or clause.experience)
    return plain_present and clause.subject is not None and clause.verb.aspect == "habit" and not clause.adverbials


def negate(sampler: Sampler, clause: Clause, probability: float) -> None:
    """Perhaps negate the clause, where that makes sense."""
    if not sampler.chance(probability) or clause.progressive or clause.experience:
        return
    if any(adverbial.slot in ("frequency", "company", "manner") for adverbial in clause.adverbials):
        return
    if isinstance(clause.object, NounPhrase) and not _negatable(clause.object, prepositional=bool(clause.verb.preposition)):
        return
    clause.negated = True


def _negatable(phrase: NounPhrase, *, prepositional: bool) -> bool:
    if phrase.determiner in ("ein", ""):
        return not prepositional and not any(kind in phrase.noun.kinds for kind in ("sport", "language"))
    return phrase.determiner not in ("viele", "alle", "jeder", *NUMERALS)
