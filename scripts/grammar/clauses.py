"""Random clauses that satisfy a row: a suitable verb, a tense it allows, and optional circumstances."""

from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

from grammar import meaning as m
from grammar.german import PRONOUNS
from grammar.lexicon import Choice, Entity, Noun, ProperName, Verb, table
from grammar.notation import SLOTS, Reader, prepositional
from grammar.sampler import ACQUAINTANCES, EVERYDAY_PEOPLE, TIMES, WEIGHTS, Sampler

_TABLES = table("constructions")
_DEFAULTS = _TABLES.pop("defaults")
_ROLES = ("place", "spot", "onto", "goal", "path", "origin")
_THEIRS = ("sein", "ihr", "ihr, plural")
# For each tense, modal, particle or kind of time, the keys of verbs that it makes sense with.
_TABLE = table("fits")
_HOURS: dict[str, str] = _TABLE.pop("hours")
_NEGATION = Choice(*_TABLE.pop("negation")["options"])
FITS = {
    name: frozenset(map(str.strip, verbs.split(","))) for names, verbs in _TABLE.items() for name in names.split(", ")
}
_UNNEGATED = ("jemand", "niemand", "etwas", "nichts", "alles", "alle")


class Row(SimpleNamespace):
    """The requirements of a construction; constructions.toml explains the keys and has their defaults."""

    def __init__(self, **keys: Any) -> None:
        assert keys.keys() <= _DEFAULTS.keys(), f"unknown key in {keys}"
        super().__init__(**_DEFAULTS | keys)


ROWS = {kind: [Row(**row) for row in rows] for kind, rows in _TABLES.items()}


def clause(
    sampler: Sampler, row: Row, *, verb: Verb | None = None, subject: m.Nominal | None = None, place: str = "first"
) -> m.Clause:
    """A clause as the row requires; `place` is the subject's position: first, behind the verb, or asked."""
    while verb is None or not _tenses(verb, row):
        verb = sampler.verb(row.verb)
    node = m.Clause(verb)
    sampler.asking = place == "asked"
    if row.adjective:
        node.predicate = _quality(sampler, row, asked=place == "asked")
    node.subject = subject or sampler.as_subject(_subject(sampler, row, node, place))
    if node.verb.swap and isinstance(node.subject, m.NounPhrase) and node.subject.determiner in _THEIRS:
        node.subject.determiner = "mein"  # the possessor would be ambiguous in both languages
    when = sampler.weighted(_tenses(node.verb, row))
    _say_when(sampler, node, when, row)
    _add_objects(sampler, node, row, habitual=when in ("habit", "gern"))
    _add_circumstances(sampler, node, row)
    wished = node.tense in ("möchten", "gern", "würde gern") or row.subject == "addressee" or row.form in ("zu", "bare")
    if wished and isinstance(node.object, m.Pronoun) and node.object.key == "nichts":
        node.object.key = "etwas"
    if _says_how_many(node):
        node.particle = ""
    if row.complement:
        infinitive = Row(**row.complement)
        who = node.object if infinitive.form == "bare" else node.subject
        sampler.owner = "" if getattr(who, "key", "") == "es" else m.subject_key(who)  # "own" has no owner here
        sampler.actor = m.entity_of(who)
        node.complete(infinitive.form, clause(sampler, infinitive, subject=who))
    node.please = (row.form == "command" and sampler.addressee == "Sie") or sampler.chance(row.please)
    node.negated = not node.please and sampler.chance(row.negated) and bears_negation(node, when)
    return node


def _subject(sampler: Sampler, row: Row, node: m.Clause, place: str) -> m.Nominal:
    wanted = row.subject or (node.predicate.adjective.suits if isinstance(node.predicate, m.Quality) else "")
    if not wanted:
        return sampler.subject(node.verb, place)
    if wanted in PRONOUNS or wanted == "addressee":
        return m.Pronoun(sampler.addressee if wanted == "addressee" else wanted)
    entities = sampler.select(wanted)
    if sampler.chance(row.pronouns) and any("person" in entity.kind_set for entity in entities):
        return sampler.pronoun(place)
    return sampler.entity(sampler.fair(entities), adjectives=0, plurals=0 if place == "asked" else 0.06)


# ---- tenses and times


@cache
def _unfit(verb: Verb) -> frozenset[str]:
    """The time expressions that make no sense with a verb."""
    unfit = verb.without_set | {name for name in FITS if not fits(verb, name)}
    modals, particles = WEIGHTS["modals"].keys(), WEIGHTS["particles"]["perfect"].keys()
    now = "progressive" in unfit and verb.aspect in ("activity", "event")
    follows = {
        "now": now,
        "present": now,
        "future": verb.timetable,
        "planned": verb.aspect == "habit",
        "modal": modals <= unfit,
        "perfect": particles <= unfit,
    }
    return unfit | {name for name, holds in follows.items() if holds}


def fits(verb: Verb, name: str) -> bool:
    """Whether a tense, modal, particle or kind of time makes sense with the verb."""
    return name not in FITS or verb.key in FITS[name]


def _tenses(verb: Verb, row: Row) -> dict[str, float]:
    """The time expressions of the row, or of the verb's aspect, as far as the verb allows them."""
    options = row.tenses or WEIGHTS["tenses"][verb.aspect] | (WEIGHTS["tenses"]["able"] if verb.able else {})
    unfit = _unfit(verb) - (WEIGHTS["modals"].keys() if row.subject == "addressee" else set())  # requests allow modals
    fitting = {name: weight for name, weight in options.items() if name not in unfit}
    return fitting or (row.tenses if isinstance(row.verb, list) else {})


def _say_when(sampler: Sampler, node: m.Clause, when: str, row: Row) -> None:
    """Set the tense of the clause, with a particle or an adverb of time where required or allowed."""
    verb = node.verb
    if when == "modal":
        when = sampler.weighted(_fitting(verb, WEIGHTS["modals"]))
    rule = WEIGHTS["when"].get(when, {})
    node.tense = rule.get("tense", when)
    if "particles" in rule:
        node.particle = sampler.weighted(_fitting(verb, WEIGHTS["particles"][rule["particles"] or verb.aspect]))
    if row.particles != "any":
        node.particle = row.particles.get(node.particle, "")
    time = rule.get("time", "state")
    kinds = _fitting(verb, WEIGHTS["times"]["timetable" if verb.timetable and time == "future" else time])
    if "time" in row.first:
        kinds.pop("frequency", None)
    dated = row.times if row.tenses else rule.get("dated", 0) * (verb.aspect != "state")
    if kinds and not node.particle and sampler.chance(dated):
        kind = sampler.weighted(kinds)
        if kind in TIMES:
            Reader(sampler.of_kind).add(node, "@" + (_HOURS.get(verb.key, kind) if kind == "clock" else kind))
        else:
            unfit = () if time == "habit" or fits(verb, "long") else WEIGHTS["far"]
            node.adverbials.append(adverb(sampler, kind, time, without=unfit))


def _fitting(verb: Verb, options: dict[str, float]) -> dict[str, float]:
    return {name: weight for name, weight in options.items() if fits(verb, name)}


def adverb(sampler: Sampler, slot: str, tense: str, without: Sequence[str] = ()) -> m.Adverbial:
    """An adverb of a slot that fits the tense and contains none of the excluded words."""
    group = [entry for entry in sampler.words.adverbs[slot].values() if tense in entry.tenses]
    return m.Adverbial(sampler.fair([entry for entry in group if not set(without) & set(entry.key.split())]))


# ---- objects and predicates


def _add_objects(sampler: Sampler, node: m.Clause, row: Row, *, habitual: bool) -> None:
    """Add the object and predicate that the row or the verb requires, and sometimes a recipient."""
    verb = node.verb
    if row.object != "any":
        node.object = _wanted_object(sampler, verb, row.object)
    elif verb.object:
        noun = None
        if verb.needs_recipient or (verb.recipient and "recipient" not in row.without and sampler.chance(0.35)):
            noun = sampler.fair(sampler.objects[verb])
            if noun in sampler.words.select(verb.recipient_object or verb.object):
                node.recipient = sampler.person(EVERYDAY_PEOPLE, pronouns=0.6)
        node.object = sampler.object(verb, noun, known=row.known, habitual=habitual)
        if isinstance(node.object, m.NounPhrase) and not fits(verb, "described"):
            node.object.adjectives = ()
        if sampler.chance(WEIGHTS["lists"]):
            node.object = sampler.with_others(verb, node.object)


def _wanted_object(sampler: Sampler, verb: Verb, wanted: str) -> m.Nominal | None:
    if wanted == "pronoun":
        return sampler.object_pronoun()
    if wanted in PRONOUNS or not wanted:
        return m.Pronoun(wanted) if wanted else None
    nouns = [noun for noun in sampler.objects[verb] if isinstance(noun, Noun)]
    counted = [noun for noun in nouns if not noun.mass and not noun.plural_only]
    noun = sampler.fair(counted or nouns)
    plural = noun.plural_only or (bool(counted) and wanted == "wie_viele")
    return m.NounPhrase(noun, wanted if counted else "welcher", plural)


def _quality(sampler: Sampler, row: Row, *, asked: bool) -> m.Quality:
    """An adjective as the row requires, sometimes with very or too, except in questions."""
    adjective = sampler.adjective(row.adjective)
    unfit = {*(() if adjective.graded else ("sehr", "ziemlich")), "" if adjective.too else "zu"}
    degrees = {degree: weight for degree, weight in WEIGHTS["degrees"].items() if degree not in unfit or not degree}
    return m.Quality(adjective, row.degree or ("" if asked else sampler.weighted(degrees)))


# ---- circumstances


def _add_circumstances(sampler: Sampler, node: m.Clause, row: Row) -> None:
    """Add the place that the row or the verb requires, and sometimes manner, company or benefit."""
    if row.where:
        node.adverbials.append(at(sampler, sampler.fair(sampler.select(row.where)), "place"))
    else:
        _add_own_circumstances(sampler, node, row.extras)
    node.adverbials = [part for part in node.adverbials if part.slot not in row.without.split()]
    if row.asks in sampler.words.adverbs["question"]:
        node.adverbials.append(m.Adverbial(sampler.words.adverbs["question"][row.asks]))


def _add_own_circumstances(sampler: Sampler, node: m.Clause, extras: float) -> None:
    verb = node.verb
    where = [role for role in _ROLES if getattr(verb, role)]
    if where and verb.needs_place:
        node.adverbials.append(_circumstance(sampler, verb, sampler.one_of(where)))
        where = []
    if node.recipient is not None or node.particle or not sampler.chance(extras * 0.8):
        return
    is_known = node.object is not None and "indefinite" not in m.traits(node.object)
    others = () if is_known else ("company", "benefit", "by")
    kinds = [*where, *where, *(name for name in others if getattr(verb, name))]
    bears_manner = "gern" not in node.tense and not verb.takes and not node.adverbials
    if verb.manner and bears_manner and sampler.chance(0.5):
        kinds.append("manner")
    if kinds:
        node.adverbials.append(_circumstance(sampler, verb, sampler.one_of(kinds)))


def _circumstance(sampler: Sampler, verb: Verb, kind: str) -> m.Adverbial | m.Prepositional:
    """A circumstance the verb allows: manner, company, benefit, place, goal, origin or path."""
    if kind == "manner":
        return m.Adverbial(sampler.words.adverbs["manner"][sampler.one_of(verb.manner.split())])
    if kind in ("company", "benefit"):
        preposition = "für" if kind == "benefit" else "mit" if sampler.chance(0.97) else "ohne"
        return prepositional(preposition, sampler.person(ACQUAINTANCES, pronouns=0.3))
    if kind == "by":
        return prepositional("mit", m.NounPhrase(sampler.noun(verb.by)))
    role = "spot" if kind == "onto" else kind
    found = [entity for entity in sampler.select(getattr(verb, kind)) if getattr(entity, role, kind != "spot")]
    if not found or (kind == "place" and sampler.chance(0.05)):
        return m.Adverbial(sampler.words.adverbs["place"][sampler.one_of(WEIGHTS["places"]["anywhere"])])
    return at(sampler, sampler.fair(found), kind)


def at(sampler: Sampler, entity: Entity, role: str) -> m.Prepositional:
    """The entity as a place, goal, origin or path, or as a surface."""
    if isinstance(entity, ProperName):
        german = {"goal": "in" if entity.article else "nach", "origin": "aus"}.get(role, "in")
        return prepositional(german, m.Name(entity), goal=role == "goal")
    options = getattr(entity, "spot" if role == "onto" else role).split(" | ")
    german, _, english = sampler.one_of(options).partition(" ")
    bare = role in entity.bare.split()
    phrase = m.NounPhrase(entity) if bare else sampler.noun_phrase(entity, "definite", plurals=0, adjectives=0)
    if phrase.determiner in _THEIRS:  # the possessor would be ambiguous
        phrase.determiner, phrase.own = "der", ""
    return m.Prepositional(german, english, phrase, SLOTS.get(role, "place"), bare)


# ---- negation


def _says_how_many(node: m.Clause) -> bool:
    """Whether the clause has alle, jemand, nichts …, which do not combine with nicht or noch nicht."""
    roles = (node.subject, node.object, node.recipient)
    return any(getattr(part, "key", getattr(part, "determiner", "")) in _UNNEGATED for part in roles)


def bears_negation(node: m.Clause, when: str) -> bool:
    """Whether a clause makes sense when negated, by the rows of fits.toml."""
    told = {
        "counted": _says_how_many(node),
        "dated": any(isinstance(part, m.Prepositional) for part in node.in_slot("time")),
        "bare": node.verb.object_is in ("bare", "generic"),
        "refused": fits(node.verb, "kein"),
    }
    holds = {when, getattr(node.predicate, "degree", ""), *(part.slot for part in node.adverbials)}
    holds |= m.facts(node, "", english=False) | {name for name, value in told.items() if value}
    return _NEGATION(holds) == "bears"
