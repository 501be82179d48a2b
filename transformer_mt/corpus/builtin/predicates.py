"""Random clauses: a verb, what it needs, a tense that it bears, and some of what may stand around it."""

from collections.abc import Callable
from typing import cast

from transformer_mt.corpus.builtin import circumstances
from transformer_mt.corpus.builtin.clauses import Clause, Degree, Experience, ModalVerb, Quality, Tense
from transformer_mt.corpus.builtin.german import NUMERALS
from transformer_mt.corpus.builtin.lexicon import Adjective, Entity, Verb
from transformer_mt.corpus.builtin.phrases import Adverbial, Indefinite, Nominal, NounPhrase, RelativePronoun
from transformer_mt.corpus.builtin.sampler import BEFORE, Sampler, SubjectPlace

# Ways of saying when, and how often each verb aspect takes them.
_TENSES: dict[str, dict[str, float]] = {
    "state": {"present": 7, "past": 2.5, "future": 0.5},
    "habit": {
        "present": 1.6,
        "habit": 2.6,
        "progressive": 1.6,
        "past": 2.4,
        "future": 0.7,
        "modal": 1.5,
        "experience": 0.9,
    },
    "event": {"habit": 1.2, "progressive": 2, "past": 3.2, "future": 0.8, "modal": 2, "experience": 0.9},
}
_MODALS: dict[ModalVerb | None, float] = {
    "können": 3,
    "müssen": 3,
    "wollen": 2.5,
    "dürfen": 1.5,
    "sollen": 1.5,
    "möchten": 2.5,
}
# The past of sollen and möchten would be something else in English.
_PAST_MODALS: dict[ModalVerb | None, float] = {"können": 1, "müssen": 1, "wollen": 1, "dürfen": 0.6}
_ABLE_MODALS: dict[ModalVerb | None, float] = {"können": 4, "wollen": 1}
_EXPERIENCES: dict[Experience | None, float] = {"schon": 2, "noch nicht": 1.5, "noch nie": 1}


def is_any(verb: Verb) -> bool:
    """True for every verb that makes a clause by itself."""
    return verb.subjects != ()


def is_deed(verb: Verb) -> bool:
    """True for what people do, and do on purpose."""
    return verb.aspect != "state" and "infinitive" not in verb.without


def clause(
    sampler: Sampler,
    *,
    where: SubjectPlace = BEFORE,
    subject: Nominal | None = None,
    verb: Verb | None = None,
    fits: Callable[[Verb], bool] = is_any,
    tense: str | None = None,
    negations: float = 0.13,
    extras: float = 1.0,
) -> Clause:
    """A finite clause; `where` the subject will stand, and whatever is already decided."""
    if verb is None:
        by_people = subject is not None and not isinstance(subject, RelativePronoun)
        verb = sampler.verb(lambda verb: fits(verb) and (not by_people or sampler.can_act(verb)))
    chosen = tense or _tense_of(sampler, verb)
    inflected = chosen in ("present", "habit", "progressive")
    result = Clause(verb=verb, subject=subject or sampler.subject(verb, where, inflected=inflected))
    choose_tense(sampler, result, chosen)
    add_objects(sampler, result, habitual=chosen == "habit")
    add_circumstances(sampler, result, extras)
    negate(sampler, result, negations)
    _avoid_double_negation(result)
    return result


def _avoid_double_negation(clause: Clause) -> None:
    """Nobody, nothing and everything keep no company with never, not yet and other words of frequency."""
    if isinstance(clause.subject, Indefinite) or isinstance(clause.object, Indefinite):
        without(clause, "frequency")
        clause.experience = "schon" if clause.experience else None


def infinitive(
    sampler: Sampler, *, verb: Verb | None = None, fits: Callable[[Verb], bool] = is_any, extras: float = 0.4
) -> Clause:
    """A clause without a subject, for an infinitive or a command."""
    result = Clause(verb or sampler.verb(lambda verb: fits(verb) and is_deed(verb) and sampler.can_act(verb)))
    add_objects(sampler, result)
    add_circumstances(sampler, result, extras)
    return result


def _tense_of(sampler: Sampler, verb: Verb) -> str:
    options = {tense: weight for tense, weight in _TENSES[verb.aspect].items() if tense not in verb.without}
    if verb.able:
        options["modal"] = 2.5
    if not sampler.can_act(verb):
        options.pop("modal", None)
    return sampler.weighted(options)


def choose_tense(sampler: Sampler, clause: Clause, tense: str) -> None:
    """Put the clause into the tense, with an adverb of time or frequency where it needs or bears one."""
    verb = clause.verb
    if tense == "present":
        if verb.aspect == "habit" and sampler.chance(0.1):
            add(clause, circumstances.adverb(sampler, "frequency", "state"))
    elif tense == "habit":
        slot = sampler.weighted({"time": 5, "frequency": 6})
        timely = slot == "time"
        add(clause, circumstances.time(sampler, verb, "habit") if timely else _frequency(sampler, "habit"))
    elif tense == "progressive":
        clause.progressive = True
    elif tense == "modal":
        _choose_modal(sampler, clause)
    elif tense == "experience":
        clause.experience = sampler.weighted(_EXPERIENCES)
    else:
        clause.tense = cast(Tense, tense)
        _date(sampler, clause, tense, 0.5)
        repeatable = tense == "past" and "habit" not in verb.without and not clause.adverbials
        if repeatable and sampler.chance(0.12):
            add(clause, _frequency(sampler, "past"))


def _frequency(sampler: Sampler, tense: str) -> Adverbial:
    return circumstances.adverb(sampler, "frequency", tense)


def _date(sampler: Sampler, clause: Clause, tense: str, probability: float) -> None:
    if clause.verb.aspect != "state" and sampler.chance(probability):
        add(clause, circumstances.time(sampler, clause.verb, tense))


def _choose_modal(sampler: Sampler, clause: Clause) -> None:
    """A modal verb, now and then in the past."""
    if clause.verb.able:
        clause.modal = sampler.weighted(_ABLE_MODALS)
    elif sampler.chance(0.2):
        clause.tense = "past"
        clause.modal = sampler.weighted(_PAST_MODALS)
        _date(sampler, clause, "past", 0.4)
    else:
        clause.modal = sampler.weighted(_MODALS)
        _date(sampler, clause, "future", 0.35)


def add(clause: Clause, *adverbials: Adverbial) -> None:
    """Add adverbials to the clause."""
    clause.adverbials += adverbials


def without(clause: Clause, *slots: str) -> None:
    """Take the adverbials of these slots out of the clause."""
    clause.adverbials = tuple(adverbial for adverbial in clause.adverbials if adverbial.slot not in slots)


def add_objects(sampler: Sampler, clause: Clause, *, habitual: bool = False) -> None:
    """The objects that the verb needs, and sometimes the recipient that it may have."""
    verb = clause.verb
    if not verb.objects:
        return
    noun = None
    if verb.recipients and (verb.needs_recipient or sampler.chance(0.5)):
        noun = sampler.object_noun(verb)
        if noun in verb.recipient_objects:
            clause.recipient = sampler.person_or_pronoun(0.55)
    elif _takes_anything(clause) and sampler.chance(0.05):
        clause.object = Indefinite(sampler.one_of(("nichts", "alles")))
        return
    clause.object = sampler.object(verb, noun, habitual=habitual)


def _takes_anything(clause: Clause) -> bool:
    plain = clause.subject is not None and clause.verb.case == "accusative" and not clause.verb.preposition
    plain = plain and not isinstance(clause.subject, Indefinite)
    return plain and clause.verb.object_is == "either" and "person" not in clause.verb.objects[0].kinds


def add_circumstances(sampler: Sampler, clause: Clause, extras: float) -> None:
    """Where to if the verb needs it; perhaps how, where, with whom, for whom; perhaps gern."""
    verb = clause.verb
    if verb.goals:
        add(clause, circumstances.goal(sampler, verb))
    if verb.spot:
        add(clause, circumstances.spot(sampler, laid=bool(verb.objects)))
    if verb.needs_place:
        add(clause, circumstances.place(sampler, verb))
    if _can_be_liked(clause) and sampler.chance(0.3 * extras):
        clause.gladly = True
    if clause.recipient is None and sampler.chance(min(1.0, extras) * 0.75):
        chosen = _circumstance(sampler, clause)
        if chosen is not None:
            add(clause, chosen)


def _circumstance(sampler: Sampler, clause: Clause) -> Adverbial | None:
    """One that the verb may have, if the kind that is drawn is among them."""
    verb = clause.verb
    lasting = clause.progressive or clause.gladly or any(clause.in_slot("time", "frequency"))
    kind = sampler.one_of(("how", "how", "where", "where", "where", "with", "for", "by", "beside"))
    if kind == "how" and verb.manners and not clause.gladly:
        return circumstances.manner(sampler, verb, lasting=lasting)
    if kind == "where" and verb.places and not verb.needs_place:
        return circumstances.place(sampler, verb)
    if kind == "with" and verb.company:
        return circumstances.company(sampler)
    if kind == "for" and verb.benefit:
        return circumstances.benefit(sampler)
    if kind == "by" and verb.vehicles:
        return circumstances.vehicle(sampler, verb)
    if kind == "beside" and verb.key in ("warten auf", "treffen", "tanzen", "spielen", "ab|holen"):
        return circumstances.beside_a_building(sampler)
    return None


def _can_be_liked(clause: Clause) -> bool:
    plain_present = clause.tense == "present" and not (clause.modal or clause.progressive or clause.experience)
    likable = clause.verb.aspect == "habit" and "infinitive" not in clause.verb.without
    timeless = not any(clause.in_slot("time", "frequency"))
    return plain_present and likable and timeless and clause.subject is not None


def negate(sampler: Sampler, clause: Clause, probability: float) -> None:
    """Perhaps negate the clause, where that makes sense."""
    if not sampler.chance(probability) or clause.progressive or clause.experience:
        return
    if any(clause.in_slot("frequency", "company", "manner")) or isinstance(clause.object, Indefinite):
        return
    if isinstance(clause.subject, Indefinite) or (clause.tense == "present" and any(clause.in_slot("time"))):
        return
    if isinstance(clause.object, NounPhrase) and not _negatable(clause.object, clause.verb):
        return
    clause.negated = True


def _negatable(phrase: NounPhrase, verb: Verb) -> bool:
    if phrase.is_indefinite:
        return not verb.preposition and "sport" not in phrase.noun.kinds
    return phrase.determiner not in ("viele", "alle", "jeder", *NUMERALS)


# ---- to be


def being(sampler: Sampler, subject: Nominal, predicate: Quality, *, tense: str | None = None) -> Clause:
    """A clause with sein and an adjective; only what passes is dated."""
    made = Clause(sampler.words.verbs["sein"], subject, predicate=predicate)
    passing = predicate.adjective.passing and predicate.than is None
    chosen = tense or sampler.weighted({"present": 6, "past": 3 if passing else 1.5, "future": 0.7 if passing else 0})
    if chosen != "present":
        made.tense = cast(Tense, chosen)
    if passing and tense is None and sampler.chance(0.35):
        adverb_tense = "state" if chosen == "present" else chosen
        slot = sampler.weighted({"time": 1, "frequency": 1}) if chosen == "present" else "time"
        add(made, circumstances.adverb(sampler, slot, adverb_tense))
    if sampler.chance(0.15) and not any(made.in_slot("frequency")) and predicate.degree != "zu":
        made.negated = True
    return made


def quality(sampler: Sampler, adjective: Adjective) -> Quality:
    """The adjective, perhaps with very or too."""
    degrees: dict[Degree | None, float] = {None: 6}
    if adjective.graded:
        degrees["sehr"] = 2.5
    if adjective.too:
        degrees["zu"] = 1.5
    return Quality(adjective, sampler.weighted(degrees))


def bearer(sampler: Sampler, entities: tuple[Entity, ...], where: SubjectPlace = BEFORE) -> Nominal:
    """Somebody or something among the entities, as a subject."""
    if any("name" in entity.kinds for entity in entities) and sampler.chance(0.5):
        return sampler.subject_pronoun(where)
    return sampler.named(sampler.fair(entities), adjectives=0.0)
