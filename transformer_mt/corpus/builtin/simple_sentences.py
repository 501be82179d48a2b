"""Constructions of one clause: each function makes one random sentence of its kind."""

from collections.abc import Callable

from transformer_mt.corpus.builtin import circumstances
from transformer_mt.corpus.builtin.clauses import Clause, Identity, Quality, Role
from transformer_mt.corpus.builtin.lexicon import Entity, Noun, ProperName, Verb
from transformer_mt.corpus.builtin.phrases import (
    Adverbial,
    AdverbPhrase,
    Indefinite,
    Name,
    Nominal,
    NounPhrase,
    Pronoun,
    There,
)
from transformer_mt.corpus.builtin.predicates import (
    add,
    bearer,
    being,
    clause,
    infinitive,
    is_any,
    is_deed,
    quality,
    without,
)
from transformer_mt.corpus.builtin.sampler import AFTER, BEFORE, Sampler, SubjectPlace
from transformer_mt.corpus.builtin.sentences import Command, Question, Sentence, Statement

# ---- statements


def statement(sampler: Sampler) -> Statement:
    """A statement that starts with its subject."""
    return Statement(clause(sampler))


def modal_statement(sampler: Sampler) -> Statement:
    """A statement with a modal verb."""
    return Statement(clause(sampler, fits=is_deed, tense="modal"))


def fronted_statement(sampler: Sampler) -> Statement:
    """A statement that starts with an adverbial or, where the cases leave no doubt, with the object."""
    made = clause(sampler, where=AFTER, negations=0.1)
    first: object = next(made.in_slot("time"), None)
    if first is None and (made.tense != "present" or made.modal) and sampler.chance(0.5):
        tense = "past" if made.tense == "past" else "future"
        add(made, circumstances.adverb(sampler, "sentence", tense))
        first = next(made.in_slot("sentence"))
    if first is None and _object_can_start(made):
        first = made.object
    if first is None:
        first = next(made.in_slot("place"), None)
    return Statement(made, first) if first is not None else fronted_statement(sampler)


def _object_can_start(made: Clause) -> bool:
    """True if nobody can take the object for the subject, because the subject shows its case."""
    nominative = isinstance(made.subject, Pronoun) and made.subject.key in ("ich", "du", "er", "wir")
    plain_object = isinstance(made.object, NounPhrase) and not made.object.is_indefinite
    accusative = made.verb.case == "accusative" and not made.verb.preposition and made.recipient is None
    return nominative and plain_object and accusative and not made.negated


def prevented(sampler: Sampler) -> Statement:
    """Because of the weather we cannot go to the park."""
    made = clause(sampler, where=AFTER, fits=is_deed, tense="modal", extras=0.0, negations=0.0)
    keep_deniable(sampler, made)
    made.modal, made.negated = "können", True
    reason = circumstances.reason(sampler)
    add(made, reason)
    return Statement(made, reason)


def keep_deniable(sampler: Sampler, made: Clause) -> None:
    """Give the clause a plain definite object, and take away what a negation would not be about."""
    without(made, "time", "manner", "company", "frequency")
    if isinstance(made.subject, Indefinite):
        made.subject = sampler.subject_pronoun(AFTER)
    if isinstance(made.object, Indefinite) or (isinstance(made.object, NounPhrase) and made.object.plural):
        noun = sampler.fair([noun for noun in sampler.objects_of(made.verb) if isinstance(noun, Noun)])
        made.object = NounPhrase(noun, "der", noun.plural_only)
    elif isinstance(made.object, NounPhrase) and made.object.is_indefinite and "sport" not in made.object.noun.kinds:
        made.object.determiner = "der"


# ---- commands


def command(sampler: Sampler) -> Command:
    """An imperative, now and then a negative one; to Sie always with bitte, or it could be a question."""
    sampler.subject_key = sampler.addressee
    made = infinitive(sampler, fits=lambda verb: verb.command)
    made.please = sampler.addressee == "Sie" or sampler.chance(0.5)
    if isinstance(made.object, NounPhrase) and not made.object.is_indefinite and sampler.chance(0.12):
        without(made, "manner", "company", "place")
        made.negated = True
    return Command(made, sampler.addressee)  # type: ignore[arg-type]


# ---- questions


def yes_no_question(sampler: Sampler) -> Question:
    """A yes/no question."""
    return Question(clause(sampler, where=AFTER, negations=0.0))


def who_question(sampler: Sampler) -> Question:
    """Who does it?"""
    sampler.subject_key = ""
    made = clause(sampler, subject=Pronoun("wer"), fits=is_deed, negations=0.05)
    return Question(made, made.subject)


def object_question(sampler: Sampler) -> Question:
    """What, whom, which book, how many books?"""
    made = clause(sampler, where=AFTER, fits=_has_plain_object, negations=0.0, extras=0.3)
    made.object = _asked_object(sampler, made.verb)
    made.gladly = False
    return Question(made, made.object)


def _has_plain_object(verb: Verb) -> bool:
    return bool(verb.objects) and verb.key not in ("haben", "gehören", "kommen aus", "träumen von", "besuchen")


def _asked_object(sampler: Sampler, verb: Verb) -> Nominal:
    entity = sampler.object_noun(verb)
    about_people = "person" in entity.kinds
    if about_people and sampler.chance(0.8):
        return Pronoun("wer")
    if not about_people and not verb.preposition and verb.case == "accusative" and sampler.chance(0.35):
        return Pronoun("was")
    if isinstance(entity, ProperName) or {"relative", "sport", "language"} & set(entity.kinds):
        return Pronoun("wer") if about_people else Pronoun("was")
    several = not entity.mass and not verb.preposition and sampler.chance(0.4)
    return NounPhrase(entity, "wie viele" if several else "welcher", several or entity.plural_only)


def adverb_question(sampler: Sampler) -> Question:
    """Where, where to, when, why, how?"""
    word = sampler.weighted({"wo": 2, "wohin": 1.5, "wann": 2.5, "warum": 2.5, "wie": 1})
    made = _ADVERB_QUESTIONS[word](sampler)
    without(made, *_ASKED_SLOTS[word])
    made.gladly = False
    asked = AdverbPhrase(sampler.words.adverbs["question"][word])
    add(made, asked)
    return Question(made, asked)


def _question_clause(sampler: Sampler, fits: Callable[[Verb], bool], *, negations: float = 0.0) -> Clause:
    tense = sampler.weighted({"past": 4, "future": 1.5, "modal": 2.5, "progressive": 1})

    def fitting(verb: Verb) -> bool:
        return fits(verb) and is_deed(verb) and "progressive" not in verb.without

    return clause(sampler, where=AFTER, fits=fitting, tense=tense, extras=0.3, negations=negations)


_ADVERB_QUESTIONS: dict[str, Callable[[Sampler], Clause]] = {
    "wo": lambda sampler: _question_clause(sampler, lambda verb: bool(verb.places)),
    "wohin": lambda sampler: _question_clause(sampler, lambda verb: bool(verb.goals) and verb.key != "kommen"),
    "wann": lambda sampler: _undated(_question_clause(sampler, is_any)),
    "wie": lambda sampler: _question_clause(sampler, lambda verb: bool(verb.manners)),
    "warum": lambda sampler: _question_clause(sampler, is_any, negations=0.3),
}
# What the question word stands for, or cannot stand beside.
_ASKED_SLOTS = {
    "wo": ("place", "frequency", "manner"),
    "wohin": ("goal", "frequency"),
    "wann": ("time", "frequency"),
    "wie": ("manner", "frequency", "company"),
    "warum": ("sentence",),
}


def _undated(made: Clause) -> Clause:
    """When is not asked about what is going on."""
    if made.progressive:
        made.progressive, made.tense = False, "past"
    return made


def where_is(sampler: Sampler) -> Question:
    """Where is my key?"""
    if sampler.chance(0.3):
        subject: Nominal = sampler.somebody(AFTER, pronouns=0.4)
    else:
        things = sampler.words.select("small luggage clothing Brief Buch Zeitung Geld pet public Bericht Glas Teller")
        subject = sampler.named(sampler.fair(things), adjectives=0.2)
    asked = AdverbPhrase(sampler.words.adverbs["question"]["wo"])
    made = Clause(sampler.words.verbs["sein"], subject, adverbials=(asked,))
    made.tense = "past" if sampler.chance(0.25) else "present"
    return Question(made, asked)


def how_question(sampler: Sampler) -> Question:
    """How old is your brother?"""
    adjectives = ("alt", "groß", "teuer", "schwer", "lang", "schnell", "warm", "wichtig", "gefährlich")
    adjective = sampler.words.adjectives[sampler.one_of(adjectives)]
    made = being(sampler, bearer(sampler, adjective.suits, AFTER), Quality(adjective, "wie"))
    made.negated, made.adverbials = False, ()
    return Question(made, made.predicate)


# ---- to be


def _statement_or_question(sampler: Sampler, make: Callable[[Sampler, SubjectPlace], Clause]) -> Sentence:
    point = sampler.random.random()
    if point < 0.2:
        made = make(sampler, AFTER)
        made.negated = False
        return Question(made)
    if point < 0.4:
        made = make(sampler, AFTER)
        first = next(made.in_slot("time"), None)
        formal = isinstance(made.subject, Pronoun) and made.subject.key == "Sie"
        if first is not None or not formal:
            return Statement(made, first)
    return Statement(make(sampler, BEFORE))


def described(sampler: Sampler) -> Sentence:
    """Something is somehow."""
    return _statement_or_question(sampler, described_clause)


def described_clause(sampler: Sampler, where: SubjectPlace) -> Clause:
    """A clause that says that something is somehow."""
    adjective = sampler.fair(tuple(sampler.words.adjectives.values()))
    return being(sampler, bearer(sampler, adjective.suits, where), quality(sampler, adjective))


def compared(sampler: Sampler) -> Sentence:
    """Something is more or as much so as something else."""
    return _statement_or_question(sampler, compared_clause)


def compared_clause(sampler: Sampler, where: SubjectPlace) -> Clause:
    """A clause that compares two alike."""
    adjective = sampler.fair([entry for entry in sampler.words.adjectives.values() if entry.compares])
    first = sampler.fair(adjective.compares)
    others = [entity for entity in adjective.compares if entity is not first]
    second = sampler.fair([entity for entity in others if set(entity.kinds) & set(first.kinds)] or others)
    than = sampler.named(second, adjectives=0.0)
    subject = sampler.named(first, adjectives=0.0)
    return being(sampler, subject, Quality(adjective, None, than, equal=sampler.chance(0.3)))


def better_thing(sampler: Sampler) -> Statement:
    """Somebody wants something that is more so."""
    keys = ("groß", "klein", "gut", "billig")
    adjective = sampler.words.adjectives[sampler.one_of(keys)]
    verb = sampler.fair([sampler.words.verbs[key] for key in ("kaufen", "suchen", "brauchen", "finden")])
    nouns = [noun for noun in adjective.suits if noun in sampler.objects_of(verb) and isinstance(noun, Noun)]
    nouns = [noun for noun in nouns if not noun.mass and "person" not in noun.kinds]
    if not nouns:
        return better_thing(sampler)
    noun = sampler.fair(nouns)
    made = Clause(verb, sampler.somebody(pronouns=0.7), NounPhrase(noun, "ein", False, adjective, True))
    if verb.aspect != "state":
        made.modal = sampler.one_of(("möchten", "wollen"))
    return Statement(made)


def occupation(sampler: Sampler) -> Sentence:
    """Somebody is a teacher."""
    return _statement_or_question(sampler, _occupation_clause)


def _occupation_clause(sampler: Sampler, where: SubjectPlace) -> Clause:
    noun = sampler.fair(sampler.words.select("profession"))
    assert isinstance(noun, Noun)
    if sampler.chance(0.4):
        subject: Nominal = Pronoun(sampler.one_of(("ich", "er", *(["du"] if sampler.addressee == "du" else []))))
    else:
        men = sampler.words.select("Vater Bruder Sohn Onkel Freund Nachbar Peter Paul Tim David Großvater")
        man = sampler.fair(men)
        subject = Name(man) if isinstance(man, ProperName) else NounPhrase(man, sampler.possessive())
    made = Clause(sampler.words.verbs["sein"], subject, predicate=Role(noun))
    made.tense = "past" if sampler.chance(0.3) else "present"
    made.negated = sampler.chance(0.15)
    return made


def this_is(sampler: Sampler) -> Sentence:
    """That is my brother."""
    entity = sampler.fair([noun for noun in sampler.words.nouns.values() if not noun.mass and not noun.plural_only])
    phrase = sampler.noun_phrase(entity, plurals=0.0, adjectives=0.4)
    if phrase.determiner == "dieser" or (phrase.determiner == "der" and not phrase.adjective and not phrase.possessor):
        phrase.determiner = "ein" if entity.shared or "relative" not in entity.kinds else "mein"
    made = Clause(sampler.words.verbs["sein"], Pronoun("das"), predicate=Identity(phrase))
    if sampler.chance(0.25):
        return Question(made)
    made.negated = sampler.chance(0.2)
    return Statement(made)


def is_somewhere(sampler: Sampler) -> Sentence:
    """Somebody or something is in a place."""
    return _statement_or_question(sampler, _somewhere_clause)


def _somewhere_clause(sampler: Sampler, where: SubjectPlace) -> Clause:
    made = Clause(sampler.words.verbs["sein"])
    if sampler.chance(0.6):
        made.subject = sampler.somebody(where)
        places = [noun for noun in sampler.words.nouns.values() if "place" in noun.prepositions]
        made.predicate = circumstances.location(sampler, sampler.fair(places), "place")
        made.tense = "past" if sampler.chance(0.5) else "present"
        if sampler.chance(0.4):
            add(made, circumstances.adverb(sampler, "time", "past" if made.tense == "past" else "state"))
    else:
        things = sampler.words.select("small kitchenware clothing Brief Buch Zeitung Geld")
        made.subject = sampler.named(sampler.fair(things), adjectives=0.1)
        made.predicate = circumstances.spot(sampler, laid=False)
    made.negated = sampler.chance(0.12)
    return made


# ---- there is, it rains, one can


def existence(sampler: Sampler) -> Sentence:
    """There is something somewhere."""
    entity = sampler.fair(sampler.words.select("public animal plant sight food drink -Bahnhof"))
    assert isinstance(entity, Noun)
    plural = not entity.mass and sampler.chance(0.45)
    determiners: dict[str, float] = {"": 1} if entity.mass else {"ein": 4, "kein": 1.2}
    if plural:
        determiners = {"viele": 3, sampler.one_of(("zwei", "drei", "vier", "fünf")): 2, "kein": 1}
    phrase = NounPhrase(entity, sampler.weighted(determiners), plural)
    if phrase.determiner != "kein" and sampler.chance(0.3):
        phrase.adjective = sampler.adjective_for(entity)
    where = _where_things_are(sampler, entity)
    made = Clause(sampler.words.verbs["geben (es)"], There(phrase), phrase, adverbials=(where,))
    made.tense = "past" if sampler.chance(0.2) else "present"
    if phrase.determiner != "kein" and sampler.chance(0.3):
        return Question(made)
    return Statement(made, where if sampler.chance(0.55) else None)


def _where_things_are(sampler: Sampler, entity: Noun) -> Adverbial:
    if sampler.chance(0.3):
        return AdverbPhrase(sampler.words.adverbs["place"][sampler.one_of(("hier", "dort"))])
    if {"food", "drink"} & set(entity.kinds):
        places = "eatery shop Hotel Küche"
    elif {"animal", "plant"} & set(entity.kinds):
        places = "green Dorf"
    else:
        places = "settlement town"
    return circumstances.location(sampler, sampler.fair(sampler.words.select(places)), "place")


def weather(sampler: Sampler) -> Sentence:
    """It rains, it snows."""
    tense = sampler.weighted({"habit": 1, "progressive": 1, "past": 2, "future": 2})
    made = weather_clause(sampler, tense)
    first = next(made.in_slot("time"), None)
    if first is not None and sampler.chance(0.4):
        return Statement(made, first)
    return Question(made) if sampler.chance(0.25) else Statement(made)


def weather_clause(sampler: Sampler, tense: str) -> Clause:
    """It rains."""
    verb = sampler.words.verbs[sampler.one_of(("regnen", "schneien"))]
    made = Clause(verb, Pronoun("es"), progressive=tense == "progressive")
    if tense in ("past", "future"):
        made.tense = tense  # type: ignore[assignment]
    if tense != "progressive":
        add(made, circumstances.adverb(sampler, "time", tense))
    if sampler.chance(0.4):
        region: Entity = sampler.fair(sampler.words.select("town country"))
        add(made, circumstances.location(sampler, region, "place"))
    return made


def in_general(sampler: Sampler) -> Statement:
    """What one can or may do somewhere."""
    deeds = ("kaufen", "essen", "trinken", "schwimmen", "tanzen", "lesen", "spielen", "singen", "lernen")
    made = infinitive(sampler, fits=lambda verb: verb.key in deeds and bool(verb.places), extras=0.0)
    made.subject = Pronoun("man")
    made.modal = sampler.one_of(("können", "dürfen"))
    noun = sampler.fair([noun for noun in sampler.objects_of(made.verb) if isinstance(noun, Noun)] or [None])
    made.object = None if noun is None else NounPhrase(noun, "", not noun.mass)
    here = AdverbPhrase(sampler.words.adverbs["place"][sampler.one_of(("hier", "dort"))])
    where = here if sampler.chance(0.3) else circumstances.location(sampler, sampler.fair(made.verb.places), "place")
    add(made, where)
    made.negated = "sport" not in (noun.kinds if noun else ()) and sampler.chance(0.35)
    return Statement(made, where if sampler.chance(0.6) else None)
