"""Random clauses: a verb, what it needs, a tense that it bears, and some of what may stand around it."""

from collections.abc import Callable

from transformer_mt.corpus.builtin.german import NUMERALS
from transformer_mt.corpus.builtin.lexicon import Adjective, Entity, Noun, ProperName, Verb
from transformer_mt.corpus.builtin.meaning import (
    Adverbial,
    Clause,
    Clock,
    Infinitive,
    Name,
    Nominal,
    NounPhrase,
    Prepositional,
    Pronoun,
    Quality,
    fixed_noun,
    is_indefinite,
    is_person,
    subject_key,
)
from transformer_mt.corpus.builtin.notation import prepositional
from transformer_mt.corpus.builtin.sampler import FEW, Sampler

# Ways of saying when, and how often each verb aspect takes them: now, again and again, at a time to come, …
_TENSES: dict[str, dict[str, float]] = {
    "state": {"present": 7, "past": 2, "future": 0.4},
    "habit": {"present": 3, "habit": 2, "past": 2, "future": 0.6, "modal": 1.2, "planned": 0.6, "perfect": 0.4},
    "activity": {"present": 3.2, "habit": 1.3, "past": 3, "future": 0.7, "modal": 2, "planned": 1, "perfect": 0.8},
    "event": {"habit": 0.8, "past": 3.4, "future": 0.8, "modal": 1.8, "planned": 0.6, "perfect": 0.8},
}
_MODALS = {"können": 3.0, "müssen": 3.0, "wollen": 2.5, "dürfen": 1.3, "sollen": 1.3, "möchten": 2.5}
_MODALS |= {
    "konnte": 0.6,
    "musste": 0.6,
    "wollte": 0.6,
    "durfte": 0.25,
    "könnte": 0.5,
    "würde gern": 0.9,
    "sollte": 0.5,
}
_ABLE = {"können": 4.0, "wollen": 1.0, "konnte": 0.7}
_PERFECT = {"schon": 2.0, "noch nicht": 1.6, "noch nie": 1.0}
# What is planned or remembered by the year, and the words that do so.
_LONG = frozenset(
    ("heiraten", "um|ziehen", "bauen", "kaufen (house)", "kennen|lernen", "besuchen", "wandern", "lernen")
)
_FAR = frozenset(("Jahr", "Sommer", "Winter", "Monat", "Frühling", "Herbst"))
_LASTING = frozenset(("ganze", "ganzen"))
_ANYWHERE = ("hier", "dort", "draußen", "drinnen", "zu Hause")
_OCCASIONS = ("nach", "vor", "während")


def is_deed(verb: Verb) -> bool:
    """True for what people do, and do on purpose."""
    return verb.aspect != "state" and "infinitive" not in verb.without_set and "person" in verb.subject


def clause(
    sampler: Sampler,
    *,
    verb: Verb | None = None,
    subject: Nominal | None = None,
    fits: Callable[[Verb], bool] = lambda verb: True,
    tense: str = "",
    negations: float = 0.12,
    extras: float = 1.0,
    before: bool = True,
) -> Clause:
    """A finite clause; the subject stands `before` the German verb or behind it; the rest as already decided."""
    if verb is None:
        by_people = subject is not None
        verb = sampler.verb(lambda verb: fits(verb) and (not by_people or sampler.anybody_can(verb)))
    chosen = tense or _tense(sampler, verb)
    node = Clause(verb, subject or sampler.subject(verb, before=before))
    _say_when(sampler, node, chosen)
    add_objects(sampler, node, habitual=chosen == "habit")
    add_circumstances(sampler, node, extras)
    negate(sampler, node, negations)
    return node


def infinitive(sampler: Sampler, *, fits: Callable[[Verb], bool] = lambda verb: True, extras: float = 0.5) -> Clause:
    """A clause without a subject, for an infinitive or a command."""
    node = Clause(sampler.verb(lambda verb: fits(verb) and is_deed(verb) and verb.subject_is != "plural"))
    add_objects(sampler, node)
    add_circumstances(sampler, node, extras)
    return node


def _tense(sampler: Sampler, verb: Verb) -> str:
    options = dict(_TENSES[verb.aspect])
    for name in verb.without_set:
        options.pop("present" if name == "progressive" and verb.aspect == "activity" else name, None)
    if verb.able:
        options["modal"] = 2.5
    if not sampler.can_act(verb) or verb.swap:
        options.pop("modal", None)
    if "future" in verb.without_set:
        options.pop("planned", None)
    return sampler.weighted(options or {"past": 1})


def _say_when(sampler: Sampler, node: Clause, tense: str) -> None:
    """Put the clause into the tense, with an adverb of time or frequency where it needs or bears one."""
    verb = node.verb
    deed = is_deed(verb)
    if tense == "present":
        if verb.gern and sampler.chance(0.16):
            node.tense = "gern"
        elif verb.aspect == "activity" and sampler.chance(0.2):
            node.particle = "gerade" if sampler.chance(0.6) else "noch"
        elif verb.aspect != "event" and sampler.chance(0.06):
            node.particle = sampler.one_of(("noch", "nicht mehr", "auch"))
    elif tense == "habit":
        slot = sampler.weighted({"time": 5.0, "frequency": 6.0})
        node.adverbials.append(
            time(sampler, verb, "habit") if slot == "time" else adverb(sampler, "frequency", "habit")
        )
    elif tense == "planned":
        node.adverbials.append(time(sampler, verb, "future"))
    elif tense == "modal":
        node.tense = sampler.weighted(_ABLE if verb.able else _MODALS)
        if node.tense == "würde gern" and not (verb.gern or verb.would):
            node.tense = "möchten"
        past = node.tense in ("konnte", "musste", "wollte", "durfte")
        if deed and sampler.chance(0.3):
            node.adverbials.append(time(sampler, verb, "past" if past else "future"))
    elif tense == "perfect":
        node.tense, node.particle = "past", sampler.weighted(_PERFECT)
    else:
        node.tense = tense
        if tense in ("past", "future") and verb.aspect != "state" and sampler.chance(0.5):
            node.adverbials.append(time(sampler, verb, tense))


# ---- objects


def add_objects(sampler: Sampler, node: Clause, *, habitual: bool = False) -> None:
    """The objects that the verb needs, and sometimes the recipient that it may have."""
    verb = node.verb
    if verb.named:
        female = subject_key(node.subject) == "sie" or (subject_key(node.subject) != "er" and sampler.chance(0.5))
        names = "Anna Lena Maria Sophie Laura Julia" if female else "Paul Peter Tim David Jan Martin"
        node.object = Name(_name(sampler.fair(sampler.select(names))))
    elif verb.takes == "quality":
        node.predicate = Quality(sampler.fair(_qualities(sampler, node)))
    elif verb.takes == "profession" and not verb.governs:
        node.predicate = profession(sampler, node.subject)
    elif verb.takes == "profession":
        node.object = profession(sampler, node.subject)
    elif verb.object:
        noun = None
        if verb.recipient and (verb.needs_recipient or sampler.chance(0.35)):
            noun = sampler.fair(sampler.objects_of(verb))
            if noun in sampler.words.select(verb.recipient_object or verb.object):
                node.recipient = sampler.person(pronouns=0.6)
        node.object = sampler.object(verb, noun, habitual=habitual)


def profession(sampler: Sampler, subject: Nominal | None) -> NounPhrase:
    """A bare profession that suits the subject's gender and number."""
    key = subject_key(subject)
    female = key == "sie" or (key in ("ich", "du", "Sie") and sampler.chance(0.5))
    nouns = [noun for noun in sampler.select("profession") if isinstance(noun, Noun) and (noun.gender == "f") == female]
    plural = key in ("wir", "ihr", "sie, plural")
    return NounPhrase(sampler.fair(nouns), "" if plural else "als", plural)


def _name(entity: Entity) -> ProperName:
    assert isinstance(entity, ProperName)
    return entity


def _noun(entity: Entity) -> Noun:
    assert isinstance(entity, Noun)
    return entity


def _qualities(sampler: Sampler, node: Clause) -> list[Adjective]:
    """What a verb such as aussehen or schmecken may be followed by."""
    people = sampler.can_act(node.verb) and node.subject is not None and is_person(node.subject)
    keys = "müde krank glücklich traurig gut schlecht besser" if people else "gut schlecht"
    return [sampler.words.adjectives[key] for key in keys.split() if key in sampler.words.adjectives]


# ---- circumstances


def add_circumstances(sampler: Sampler, node: Clause, extras: float) -> None:
    """Where to if the verb needs it; perhaps how, where, with whom, for whom."""
    verb = node.verb
    needed = [role for role in ("place", "spot", "onto", "goal", "path", "origin") if getattr(verb, role)]
    if needed and verb.needs_place:
        node.adverbials.append(location(sampler, node, sampler.one_of(needed)))
    if node.recipient is not None or not sampler.chance(min(1.0, extras) * 0.8):
        return
    if any(part.slot in ("place", "goal", "path") for part in node.adverbials):
        needed = []
    kinds = [*needed, *needed, *[name for name in ("company", "benefit", "by") if getattr(verb, name)]]
    if verb.manner and node.tense != "gern" and not verb.takes:
        kinds += ["manner"]
    if kinds:
        node.adverbials.append(_circumstance(sampler, node, sampler.one_of(kinds)))


def _circumstance(sampler: Sampler, node: Clause, kind: str) -> Adverbial | Prepositional:
    verb = node.verb
    if kind == "manner":
        return Adverbial(sampler.fair([sampler.words.adverbs["manner"][key] for key in verb.manner.split()]))
    if kind == "company":
        preposition = "mit" if sampler.chance(0.92) else "ohne"
        return prepositional(preposition, sampler.person(pronouns=0.3))
    if kind == "benefit":
        return prepositional("für", sampler.person(pronouns=0.3))
    if kind == "by":
        means = NounPhrase(_noun(sampler.fair(sampler.select(verb.by))))
        return Prepositional("mit", "dative", "by", means, "company", bare=True)
    return location(sampler, node, kind)


def location(sampler: Sampler, node: Clause, role: str) -> Adverbial | Prepositional:
    """Where, where to, where from, along what: as the verb wants it, with the preposition that the noun takes."""
    if role == "place" and sampler.chance(0.12):
        return Adverbial(sampler.words.adverbs["place"][sampler.one_of(_ANYWHERE)])
    if role == "goal" and node.verb.key in ("gehen", "fahren", "kommen", "laufen") and sampler.chance(0.12):
        return adverb(sampler, "goal")
    found = [entity for entity in sampler.select(getattr(node.verb, role)) if _is_place(entity, role)]
    if not found:
        return Adverbial(sampler.words.adverbs["place"][sampler.one_of(_ANYWHERE)])
    return at(sampler, sampler.fair(found), role)


def _is_place(entity: Entity, role: str) -> bool:
    field = "spot" if role == "onto" else role
    return isinstance(entity, ProperName) or bool(getattr(entity, field))


def at(sampler: Sampler, entity: Entity, role: str) -> Prepositional:
    """The entity as a place, goal, origin or path, or as what something lies on or is put on."""
    slot = {"goal": "goal", "onto": "goal", "path": "path", "origin": "goal"}.get(role, "place")
    if isinstance(entity, ProperName):
        pair = {"goal": ("nach", "to"), "origin": ("aus", "from")}.get(role, ("in", "in"))
        if entity.article and role == "goal":
            return Prepositional("in", "accusative", "to", Name(entity), slot)
        return Prepositional(pair[0], "dative", pair[1], Name(entity), slot)
    options = getattr(entity, "spot" if role == "onto" else role).split(" | ")
    german, _, english = sampler.one_of(options).partition(" ")
    towards = role in ("onto", "path") or (role == "goal" and german not in ("zu", "nach"))
    phrase = sampler.noun_phrase(entity, "definite", number="" if entity.plural_only else "singular", adjectives=0.1)
    if role in entity.bare.split():
        phrase = NounPhrase(entity)
    if "body" in entity.kind_set:
        phrase.adjectives = ()
    return Prepositional(
        german, "accusative" if towards else "dative", english, phrase, slot, role in entity.bare.split()
    )


def adverb(sampler: Sampler, slot: str, *tenses: str) -> Adverbial:
    """An adverb of a slot that goes with one of the tenses."""
    group = sampler.words.adverbs[slot].values()
    return Adverbial(sampler.fair([entry for entry in group if not tenses or entry.tenses & set(tenses)]))


def time(sampler: Sampler, verb: Verb, tense: str) -> Adverbial | Prepositional:
    """When something happens: an adverb, a day or month, an occasion, so long ago, at so many o'clock."""
    kinds = {"adverb": 8.0}
    if tense in ("past", "future"):
        kinds |= {"occasion": 0.8, "when": 1.6}
    if tense == "past":
        kinds |= {"ago": 1.2}
    if verb.timetable or (is_deed(verb) and verb.aspect != "event" and tense == "future"):
        kinds |= {"clock": 1.2 + 6.0 * verb.timetable}
    kind = sampler.weighted(kinds)
    if kind == "clock":
        return Prepositional("um", "accusative", "at", clock(sampler), "time")
    if kind == "ago":
        span = NounPhrase(_noun(sampler.fair(sampler.select("period -Minute -Stunde"))), sampler.fair(FEW), True)
        return Prepositional("vor", "dative", "ago", span, "time", after=True)
    if kind == "occasion":
        event = NounPhrase(_noun(sampler.fair(sampler.select("Film Konzert Party Prüfung Kurs Spiel"))))
        node = prepositional(sampler.one_of(_OCCASIONS), event)
        node.slot = "time"
        if node.preposition == "vor":
            node.english = "before"
        return node
    if kind == "when":
        kinds_of_day = "weekday daytime month season" if verb.goal or verb.key in _LONG else "weekday daytime"
        noun = _noun(sampler.fair([noun for noun in sampler.select(kinds_of_day) if getattr(noun, "when", "")]))
        german, _, english = noun.when.partition(" ")
        return Prepositional(german, "dative", english, NounPhrase(noun), "time", "when" in noun.bare)
    if verb.goal or verb.aspect == "habit" or verb.key in _LONG:
        return adverb(sampler, "time", tense)
    group = [entry for entry in sampler.words.adverbs["time"].values() if tense in entry.tenses]
    unfit = _FAR if not verb.object and verb.aspect == "activity" else _FAR | _LASTING
    return Adverbial(sampler.fair([entry for entry in group if not unfit & set(entry.key.split())]))


def clock(sampler: Sampler) -> Clock:
    """Five o'clock, half past seven."""
    return Clock(sampler.one_of(tuple(NUMERALS)[:11]), half=sampler.chance(0.2))


# ---- negation


def negate(sampler: Sampler, node: Clause, probability: float) -> None:
    """Perhaps negate the clause, where that makes sense."""
    crowded = node.particle or node.in_slot("frequency", "company", "manner", "path")
    if crowded or node.tense in ("würde gern", "könnte") or not sampler.chance(probability):
        return
    if any(isinstance(part, Pronoun) and part.key in _UNNEGATED for part in (node.subject, node.object)):
        return
    if node.tense in ("present", "future") and node.in_slot("time"):
        return
    if isinstance(node.object, NounPhrase) and not _negatable(node.object, node.verb):
        return
    if isinstance(node.object, NounPhrase) and is_indefinite(node.object) and node.verb.object_is == "bare":
        return
    plain = node.tense == "present" and node.verb.aspect == "activity"
    if plain and not (is_indefinite(node.object) or fixed_noun(node.verb)):
        return  # I am not reading the book: rarely said
    node.negated = True


_UNNEGATED = frozenset(("jemand", "niemand", "etwas", "nichts", "alles", "alle"))


def _negatable(phrase: NounPhrase, verb: Verb) -> bool:
    if is_indefinite(phrase):
        return not verb.governs
    return phrase.determiner not in ("viele", "einige", "alle", "jeder", *NUMERALS)


# ---- to be


def being(sampler: Sampler, subject: Nominal, predicate: Quality | NounPhrase | Adverbial | Prepositional) -> Clause:
    """A clause with sein; only what passes is dated."""
    node = Clause(sampler.words.verbs["sein"], subject, predicate=predicate)
    quality = predicate if isinstance(predicate, Quality) else None
    passing = quality is not None and quality.adjective.passing and quality.than is None
    node.tense = sampler.weighted({"present": 6.0, "past": 2.5 if passing else 1.0, "future": 0.5 if passing else 0.0})
    if passing and sampler.chance(0.3):
        if node.tense == "present":
            node.adverbials.append(
                adverb(sampler, *(("time", "state") if sampler.chance(0.7) else ("frequency", "state")))
            )
        else:
            node.adverbials.append(adverb(sampler, "time", node.tense))
    elif sampler.chance(0.06) and node.tense == "present" and passing:
        node.particle = sampler.one_of(("noch", "nicht mehr", "schon"))
    if not node.particle and sampler.chance(0.14) and not node.in_slot("frequency"):
        node.negated = quality is None or quality.degree != "zu"
    return node


def quality(sampler: Sampler, adjective: Adjective) -> Quality:
    """The adjective, perhaps with very or too."""
    degrees = {"": 6.0}
    if adjective.graded:
        degrees |= {"sehr": 2.2, "ziemlich": 0.4}
    if adjective.too:
        degrees["zu"] = 1.0
    return Quality(adjective, sampler.weighted(degrees))


def with_infinitive(
    sampler: Sampler, node: Clause, kind: str, fits: Callable[[Verb], bool] = lambda verb: True, extras: float = 0.5
) -> Clause:
    """Add what somebody tries, hopes, helps to do: an infinitive clause of the kind that the verb takes."""
    who = node.object if kind == "bare" else node.subject
    sampler.owner = subject_key(who)
    inner = infinitive(sampler, fits=fits, extras=extras)
    inner.subject = who  # not said, but what reflexives agree with
    node.complement = Infinitive(inner, bare=kind == "bare")
    return node
