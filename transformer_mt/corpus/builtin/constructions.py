"""The constructions of the corpus: each makes one random sentence of its kind; CONSTRUCTIONS says how often."""

from collections.abc import Callable

from transformer_mt.corpus.builtin.clauses import Clause, Identity, Infinitive, Quality, Role, Subordinate
from transformer_mt.corpus.builtin.lexicon import Entity, Noun, ProperName
from transformer_mt.corpus.builtin.phrases import (
    AdverbPhrase,
    Name,
    Nominal,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
    RelativePronoun,
    There,
)
from transformer_mt.corpus.builtin.predicates import add, clause, infinitive
from transformer_mt.corpus.builtin.sampler import Sampler, SubjectPlace
from transformer_mt.corpus.builtin.sentences import Command, Complex, Joined, Main, Question, Sentence, Statement

Construction = Callable[[Sampler], Sentence]


# ---- simple sentences


def statement(sampler: Sampler) -> Statement:
    """A statement, sometimes with something else than the subject in first place."""
    if sampler.chance(0.3):
        return fronted(sampler)
    return Statement(clause(sampler))


def fronted(sampler: Sampler) -> Statement:
    """A statement that starts with an adverbial or, where the cases are plain, with the object."""
    made = clause(sampler, where="after the verb", negations=0.08)
    adverbials = [adverbial for adverbial in made.in_slot("time")]
    if not adverbials and made.tense != "present" and sampler.chance(0.4):
        add(made, sampler.adverb("sentence", made.tense))
        adverbials = list(made.in_slot("sentence"))
    if not adverbials and _object_can_start(made):
        return Statement(made, made.object)
    if not adverbials:
        adverbials = list(made.in_slot("place"))
    return Statement(made, adverbials[0] if adverbials else None) if adverbials or _may_start(made) else fronted(sampler)


def _may_start(made: Clause) -> bool:
    """False for the formal you, which must not start a sentence: it would look like they."""
    return not (isinstance(made.subject, Pronoun) and made.subject.key == "Sie")


def _object_can_start(made: Clause) -> bool:
    """True if nobody can take the object for the subject: it is masculine, or the subject shows its case."""
    nominative = isinstance(made.subject, Pronoun) and made.subject.key in ("ich", "du", "er", "wir")
    return (
        isinstance(made.object, NounPhrase)
        and made.object.determiner not in ("ein", "")
        and made.verb.case == "accusative"
        and not made.verb.preposition
        and made.recipient is None
        and not made.negated
        and nominative
    )


def modal_statement(sampler: Sampler) -> Statement:
    """A statement with a modal verb."""
    return Statement(clause(sampler, fits=_doable(sampler), tense="modal"))


def _doable(sampler: Sampler) -> Callable[..., bool]:
    man = sampler.words.nouns["Mann"]
    return lambda verb: verb.aspect != "state" and man in verb.subjects


def yes_no_question(sampler: Sampler) -> Question:
    """A yes/no question."""
    return Question(clause(sampler, where="after the verb", negations=0.0))


def command(sampler: Sampler) -> Command:
    """An imperative; to Sie always with bitte."""
    made = infinitive(sampler)
    to = sampler.addressee
    sampler.subject_key = to
    made.please = to == "Sie" or sampler.chance(0.5)
    return Command(made, to)  # type: ignore[arg-type]


# ---- w-questions


def who_question(sampler: Sampler) -> Question:
    """Who does it?"""
    made = clause(sampler, subject=Pronoun("wer"), fits=_doable(sampler), negations=0.0)
    return Question(made, made.subject)


def object_question(sampler: Sampler) -> Question:
    """What, whom, which book, how many books?"""
    made = clause(
        sampler,
        where="after the verb",
        fits=lambda verb: bool(verb.objects) and verb.key not in ("haben", "gehören"),
        negations=0.0,
        extras=0.3,
    )
    made.object = _asked_object(sampler, made)
    made.gladly = False
    return Question(made, made.object)


def _asked_object(sampler: Sampler, made: Clause) -> Nominal:
    person = isinstance(made.object, Pronoun) or "person" in made.verb.objects[0].kinds
    entity = sampler.object_noun(made.verb)
    if sampler.chance(0.45) or not isinstance(entity, Noun) or entity.shared or "relative" in entity.kinds:
        return Pronoun("wer" if person or made.verb.preposition or made.verb.case == "dative" else "was")
    if entity.mass:
        return NounPhrase(entity, "welcher")
    several = not made.verb.preposition and sampler.chance(0.4)
    return NounPhrase(entity, "wie viele" if several else "welcher", several or entity.plural_only)


def adverb_question(sampler: Sampler) -> Question:
    """Where, where to, when, why, how?"""
    word = sampler.weighted({"wo": 2, "wohin": 1.5, "wann": 2.5, "warum": 2.5, "wie": 1})
    if word == "wo":
        made = clause(sampler, where="after the verb", fits=lambda verb: bool(verb.places), extras=0.0, negations=0.0)
        made.adverbials = tuple(a for a in made.adverbials if a.slot not in ("place", "frequency"))
    elif word == "wohin":
        made = clause(sampler, where="after the verb", fits=lambda verb: bool(verb.goals), extras=0.0, negations=0.0)
        made.adverbials = tuple(a for a in made.adverbials if a.slot not in ("goal", "frequency"))
    elif word == "wann":
        tense = sampler.one_of(["past", "future", "modal"])
        made = clause(sampler, where="after the verb", fits=_doable(sampler), extras=0.3, negations=0.0, tense=tense)
        made.adverbials = tuple(a for a in made.adverbials if a.slot not in ("time", "frequency"))
    elif word == "wie":
        made = clause(sampler, where="after the verb", fits=lambda verb: bool(verb.manners), extras=0.0, negations=0.0)
        made.adverbials = tuple(a for a in made.adverbials if a.slot != "frequency")
    else:
        made = clause(sampler, where="after the verb", fits=_doable(sampler), extras=0.3, negations=0.25)
    made.gladly = False
    asked = AdverbPhrase(sampler.words.adverbs["question"][word])
    add(made, asked)
    return Question(made, asked)


# ---- to be, there is, there are


def _be(sampler: Sampler, subject: Nominal, predicate: Quality | Role | Identity | PrepositionalPhrase) -> Clause:
    made = Clause(sampler.words.verbs["sein"], subject, predicate=predicate)
    tense = sampler.weighted({"present": 6, "past": 3, "future": 0.7})
    if tense != "present":
        made.tense = tense  # type: ignore[assignment]
        if sampler.chance(0.4):
            add(made, sampler.adverb("time", tense))
    elif sampler.chance(0.2):
        add(made, sampler.adverb("frequency", "state"))
    if sampler.chance(0.15) and not made.adverbials:
        made.negated = True
    return made


def described(sampler: Sampler) -> Sentence:
    """Something is somehow."""
    return _statement_or_question(sampler, _described)


def _described(sampler: Sampler, where: SubjectPlace) -> Clause:
    adjective = sampler.fair(list(sampler.words.adjectives.values()))
    subject = _subject_for(sampler, adjective.suits, where)
    degree = sampler.weighted({"": 6, "sehr": 2.5, "zu": 1.2}) or None
    made = _be(sampler, subject, Quality(adjective, degree))  # type: ignore[arg-type]
    return made


def _statement_or_question(sampler: Sampler, make: Callable[[Sampler, SubjectPlace], Clause]) -> Sentence:
    if sampler.chance(0.2):
        made = make(sampler, "after the verb")
        made.negated = False
        return Question(made)
    if sampler.chance(0.2):
        made = make(sampler, "after the verb")
        times = list(made.in_slot("time"))
        if times or _may_start(made):
            return Statement(made, times[0] if times else None)
    return Statement(make(sampler, "before the verb"))


def _subject_for(sampler: Sampler, entities: tuple[Entity, ...], where: SubjectPlace) -> Nominal:
    if any("name" in entity.kinds for entity in entities) and sampler.chance(0.5):
        return sampler.subject_pronoun(where)
    entity = sampler.fair(entities)
    if isinstance(entity, ProperName):
        return Name(entity)
    return sampler.noun_phrase(entity, role="subject", definite=True, adjectives=0.0)


def compared(sampler: Sampler) -> Sentence:
    """Something is more or as much so as something else."""
    return _statement_or_question(sampler, _compared)


def _compared(sampler: Sampler, where: SubjectPlace) -> Clause:
    adjective = sampler.fair([entry for entry in sampler.words.adjectives.values() if entry.compares])
    first = sampler.fair(adjective.compares)
    alike = [entity for entity in adjective.compares if entity is not first and set(entity.kinds) & set(first.kinds)]
    second = sampler.fair(alike or [entity for entity in adjective.compares if entity is not first])
    than = _named(sampler, second)
    made = _be(sampler, _named(sampler, first), Quality(adjective, None, than, equal=sampler.chance(0.3)))
    made.adverbials = ()
    return made


def _named(sampler: Sampler, entity: Entity) -> Nominal:
    if isinstance(entity, ProperName):
        return Name(entity)
    return sampler.noun_phrase(entity, role="subject", definite=True, adjectives=0.0, plurals=0.1)


def better_thing(sampler: Sampler) -> Statement:
    """Somebody wants something that is more so."""
    adjective = sampler.fair([entry for entry in sampler.words.adjectives.values() if entry.compares])
    verb = sampler.fair([sampler.words.verbs[key] for key in ("kaufen", "suchen", "brauchen", "finden")])
    nouns = [
        noun
        for noun in adjective.compares
        if noun in verb.objects and sampler.allowed(verb, noun) and isinstance(noun, Noun) and not noun.mass
    ]
    if not nouns:
        return better_thing(sampler)
    subject = sampler.subject_pronoun()
    noun = sampler.fair(nouns)
    assert isinstance(noun, Noun)
    made = Clause(verb, subject, NounPhrase(noun, "ein", False, adjective, True))
    if verb.aspect != "state":
        made.modal = "möchten" if sampler.chance(0.5) else "wollen"
    return Statement(made)


def occupation(sampler: Sampler) -> Sentence:
    """Somebody is a teacher."""

    def make(sampler: Sampler, where: SubjectPlace) -> Clause:
        noun = sampler.fair([n for n in sampler.words.nouns.values() if "profession" in n.kinds])
        masculine = [e for e in sampler.words.select("relative name") if e.gender == "m" and "person" in e.kinds]
        subject = _subject_for(sampler, tuple(masculine), where) if sampler.chance(0.6) else Pronoun("er")
        if isinstance(subject, Pronoun) and subject.key not in ("ich", "du", "er"):
            subject = Pronoun("er")
        if subject.german_person[1] == "p":
            subject = Pronoun("er")
        made = _be(sampler, subject, Role(noun))
        made.adverbials = ()
        return made

    return _statement_or_question(sampler, make)


def this_is(sampler: Sampler) -> Sentence:
    """That is my brother."""
    entity = sampler.fair([n for n in sampler.words.nouns.values() if not {"language", "sport"} & set(n.kinds)])
    phrase = sampler.noun_phrase(entity, definite=entity.mass, plurals=0.0, role="subject", adjectives=0.35)
    if phrase.plural or phrase.determiner in ("dieser", "jeder", ""):
        return this_is(sampler)
    made = Clause(sampler.words.verbs["sein"], Pronoun("das"), predicate=Identity(phrase))
    made.negated = sampler.chance(0.15)
    if sampler.chance(0.25):
        made.negated = False
        return Question(made)
    return Statement(made)


def is_somewhere(sampler: Sampler) -> Sentence:
    """Somebody or something is in a place."""

    def make(sampler: Sampler, where: SubjectPlace) -> Clause:
        if sampler.chance(0.6):
            subject = sampler.subject(sampler.words.verbs["arbeiten"], where)
            spots = [n for n in sampler.words.nouns.values() if "place" in n.prepositions]
            return _be(sampler, subject, sampler.location(sampler.fair(spots), "place"))
        spots = [n for n in sampler.words.nouns.values() if "spot" in n.prepositions]
        things = sampler.words.select("small kitchenware clothing Brief Buch Zeitung Geld")
        made = _be(sampler, _named(sampler, sampler.fair(things)), sampler.location(sampler.fair(spots), "spot"))
        made.adverbials = ()
        return made

    return _statement_or_question(sampler, make)


def existence(sampler: Sampler) -> Sentence:
    """There is something somewhere."""
    entity = sampler.fair(sampler.words.select("public animal plant sight food drink -Bahnhof"))
    assert isinstance(entity, Noun)
    plural = not entity.mass and sampler.chance(0.45)
    if entity.mass:
        determiner = ""
    elif plural:
        determiner = sampler.weighted({"viele": 3, sampler.one_of(("zwei", "drei", "vier", "fünf")): 2, "kein": 1, "": 0.5})
    else:
        determiner = sampler.weighted({"ein": 4, "kein": 1.2})
    adjectives = 0.3 if determiner != "kein" else 0.0
    phrase = sampler.noun_phrase(entity, plurals=0.0, adjectives=adjectives)
    phrase.determiner, phrase.plural, phrase.possessor = determiner, plural, None
    made = Clause(sampler.words.verbs["geben (es)"], There(phrase), phrase)
    made.tense = "past" if sampler.chance(0.2) else "present"
    location = _where_things_are(sampler, entity)
    add(made, location)
    if determiner != "kein" and sampler.chance(0.3):
        return Question(made)
    return Statement(made, location if sampler.chance(0.55) else None)


def _where_things_are(sampler: Sampler, entity: Noun) -> AdverbPhrase | PrepositionalPhrase:
    if sampler.chance(0.3):
        return AdverbPhrase(sampler.words.adverbs["place"][sampler.one_of(("hier", "dort"))])
    if "food" in entity.kinds or "drink" in entity.kinds:
        places = sampler.words.select("eatery shop Hotel Küche")
    elif "animal" in entity.kinds or "plant" in entity.kinds:
        places = sampler.words.select("green Dorf")
    else:
        return sampler.location(sampler.fair(sampler.words.select("settlement town")), "place")
    return sampler.location(sampler.fair(places), "place")


def weather(sampler: Sampler) -> Sentence:
    """It rains, it snows."""
    made = weather_clause(sampler)
    times = list(made.in_slot("time"))
    if times and sampler.chance(0.4):
        return Statement(made, times[0])
    return Question(made) if sampler.chance(0.25) else Statement(made)


def weather_clause(sampler: Sampler) -> Clause:
    """It rains."""
    verb = sampler.words.verbs[sampler.one_of(("regnen", "schneien"))]
    made = Clause(verb, Pronoun("es"))
    tense = sampler.weighted({"habit": 1, "progressive": 1, "past": 2, "future": 2})
    made.progressive = tense == "progressive"
    made.tense = "past" if tense == "past" else "future" if tense == "future" else "present"
    if tense != "progressive":
        add(made, sampler.adverb("time", tense))
    if sampler.chance(0.4):
        town = sampler.fair(sampler.words.select("town country"))
        add(made, sampler.location(town, "place"))
    return made


# ---- one (man)


def in_general(sampler: Sampler) -> Statement:
    """What one can, must or may do somewhere."""
    made = infinitive(sampler, fits=lambda verb: bool(verb.places) and not verb.recipients)
    made.subject = Pronoun("man")
    made.modal = sampler.one_of(("können", "müssen", "dürfen"))
    made.adverbials = ()
    here = AdverbPhrase(sampler.words.adverbs["place"][sampler.one_of(("hier", "dort"))])
    where = here if sampler.chance(0.3) else sampler.location(sampler.fair(made.verb.places), "place")
    add(made, where)
    made.object = _general(sampler, made)
    made.negated = made.modal == "dürfen" and sampler.chance(0.6) or sampler.chance(0.1)
    return Statement(made, where if sampler.chance(0.6) else None)


def _general(sampler: Sampler, made: Clause) -> Nominal | None:
    if not isinstance(made.object, NounPhrase):
        return made.object if not isinstance(made.object, Pronoun) else Pronoun("er")
    noun = made.object.noun
    if noun.mass:
        return NounPhrase(noun, "")
    return NounPhrase(noun, "", True) if "relative" not in noun.kinds else NounPhrase(noun, "mein", noun.plural_only)


# ---- infinitives


def try_to(sampler: Sampler) -> Sentence:
    """Somebody tries, hopes, forgets or promises to do something."""
    verb = sampler.words.verbs[sampler.one_of(("versuchen", "versuchen", "hoffen", "vergessen", "versprechen"))]
    return _with_infinitive(sampler, verb.key)


def _with_infinitive(sampler: Sampler, key: str) -> Sentence:
    asks = sampler.chance(0.2)
    where: SubjectPlace = "after the verb" if asks else "before the verb"
    verb = sampler.words.verbs[key]
    subject = sampler.subject(sampler.words.verbs["arbeiten"], where, pronouns=0.6)
    made = Clause(verb, subject)
    tense = {"hoffen": "present", "vergessen": "past", "versprechen": "past"}.get(key)
    tense = tense or sampler.weighted({"past": 3, "modal": 2, "progressive": 1, "future": 1})
    made.progressive = tense == "progressive"
    if tense == "modal":
        made.modal = sampler.one_of(("müssen", "wollen", "möchten", "können"))
    elif tense in ("past", "future"):
        made.tense = tense  # type: ignore[assignment]
    made.complement = Infinitive(infinitive(sampler))
    return Question(made) if asks else Statement(made)


def help_to(sampler: Sampler) -> Sentence:
    """Can you help me do it?"""
    asks = sampler.chance(0.7)
    where: SubjectPlace = "after the verb" if asks else "before the verb"
    made = Clause(sampler.words.verbs["helfen"])
    if asks and sampler.chance(0.6):
        made.subject = Pronoun(sampler.addressee)
        sampler.subject_key = sampler.addressee
    else:
        made.subject = sampler.subject(made.verb, where, pronouns=0.7)
    made.object = sampler.object_pronoun() if sampler.chance(0.65) else sampler.person()
    tense = sampler.weighted({"modal": 7, "past": 1.5, "future": 1.5})
    if tense == "modal":
        made.modal = sampler.weighted({"können": 5, "müssen": 1.5, "wollen": 1.5, "sollen": 1, "möchten": 1})  # type: ignore[assignment]
    else:
        made.tense = tense  # type: ignore[assignment]
    if asks and tense == "modal" and made.modal == "können" and sampler.chance(0.25):
        made.please = True
    if sampler.chance(0.8):
        made.complement = Infinitive(infinitive(sampler, fits=lambda verb: bool(verb.objects)), bare=True)
    return Question(made) if asks else Statement(made)


def request(sampler: Sampler) -> Question:
    """A short question with a modal verb: Can you help me?"""
    made = Clause(sampler.words.verbs[sampler.one_of(("helfen", "zu|hören", "antworten", "danken", "an|rufen", "ab|holen", "besuchen"))])
    if sampler.chance(0.5):
        made.subject = Pronoun(sampler.addressee)
        sampler.subject_key = sampler.addressee
    else:
        made.subject = sampler.subject(made.verb, "after the verb", pronouns=0.6)
    made.object = sampler.object_pronoun() if sampler.chance(0.8) else sampler.person()
    made.modal = sampler.weighted({"können": 4, "müssen": 1, "wollen": 1, "sollen": 1, "möchten": 1})  # type: ignore[assignment]
    if sampler.chance(0.2):
        add(made, sampler.adverb("time", "future"))
    return Question(made)


def judged(sampler: Sampler) -> Statement:
    """It is difficult to do something."""
    adjective = sampler.one_of(("wichtig", "leicht", "schwierig", "schön", "langweilig", "gefährlich", "interessant"))
    made = Clause(sampler.words.verbs["sein"], Pronoun("es"))
    made.predicate = Quality(sampler.words.adjectives[adjective], sampler.weighted({"": 3, "sehr": 1, "zu": 0.5}) or None)  # type: ignore[arg-type]
    made.tense = "past" if sampler.chance(0.3) else "present"
    made.negated = sampler.chance(0.2) and not made.predicate.degree
    made.complement = Infinitive(infinitive(sampler, fits=lambda verb: bool(verb.objects)))
    return Statement(made)


def have_time_to(sampler: Sampler) -> Sentence:
    """Have time to do something."""
    asks = sampler.chance(0.3)
    subject = sampler.subject(sampler.words.verbs["arbeiten"], "after the verb" if asks else "before the verb")
    made = Clause(sampler.words.verbs["haben"], subject, NounPhrase(sampler.words.nouns["Zeit"], ""))
    made.negated = not asks and sampler.chance(0.6)
    made.tense = "past" if sampler.chance(0.4) else "present"
    made.complement = Infinitive(infinitive(sampler))
    return Question(made) if asks else Statement(made)


# ---- subordinate clauses


def that_clause(sampler: Sampler) -> Sentence:
    """Somebody knows, thinks, says, hopes or believes that."""
    key = sampler.one_of(("wissen", "denken", "sagen", "hoffen", "glauben"))
    return _with_clause(sampler, key, "dass")


def whether_clause(sampler: Sampler) -> Sentence:
    """Somebody knows or asks whether."""
    return _with_clause(sampler, sampler.one_of(("wissen", "wissen", "fragen")), "ob")


def _with_clause(sampler: Sampler, key: str, conjunction: str) -> Sentence:
    asks = sampler.chance(0.2)
    verb = sampler.words.verbs[key]
    subject = sampler.subject(sampler.words.verbs["arbeiten"], "after the verb" if asks else "before the verb", pronouns=0.7)
    made = Clause(verb, subject)
    if key in ("sagen", "fragen"):
        made.tense = "past"
    if key == "fragen":
        made.object = sampler.object_pronoun() if sampler.chance(0.6) else sampler.person()
    if key == "wissen" and conjunction == "ob" and not asks:
        made.negated = True
    made.complement = Subordinate(conjunction, _inner_clause(sampler))
    return Question(made) if asks else Statement(made)


def _inner_clause(sampler: Sampler, subject: Nominal | None = None) -> Clause:
    """What stands after a conjunction."""
    if subject is None and sampler.chance(0.25):
        kind = sampler.one_of((_described, _compared))
        made = kind(sampler, "before the verb")
        return made
    return clause(sampler, subject=subject, extras=0.4)


def because(sampler: Sampler) -> Sentence:
    """Something is so because, although."""
    main: Main = sampler.one_of((statement, described_simply, modal_statement))(sampler)
    conjunction = sampler.weighted({"weil": 3, "obwohl": 1})
    if sampler.chance(0.15):
        return Complex(main, Subordinate(conjunction, weather_clause(sampler)))
    return Complex(main, Subordinate(conjunction, _inner_clause(sampler, _same_subject(sampler, main))))


def described_simply(sampler: Sampler) -> Statement:
    """Somebody is somehow."""
    return Statement(_described(sampler, "before the verb"))


def _same_subject(sampler: Sampler, main: Main) -> Nominal | None:
    """A pronoun for the subject of the main clause, now and then."""
    subject = main.clause.subject
    if isinstance(subject, Pronoun) and subject.key in ("ich", "du", "er", "sie", "wir", "ihr", "sie, plural"):
        if sampler.chance(0.6):
            sampler.subject_key = subject.key
            return Pronoun(subject.key)
    return None


def if_clause(sampler: Sampler) -> Sentence:
    """If something is so, something else will, can or must happen."""
    condition = _condition(sampler)
    first = sampler.chance(0.6)
    where: SubjectPlace = "after the verb" if first else "before the verb"
    if sampler.chance(0.2):
        return Complex(command(sampler), Subordinate("wenn", condition))
    main = clause(sampler, where=where, fits=_doable(sampler), tense=sampler.one_of(("future", "modal")), extras=0.5)
    return Complex(Statement(main), Subordinate("wenn", condition), first)


def _condition(sampler: Sampler) -> Clause:
    kind = sampler.weighted({"weather": 1.5, "time": 2, "quality": 3, "deed": 2})
    if kind == "weather":
        return Clause(sampler.words.verbs[sampler.one_of(("regnen", "schneien"))], Pronoun("es"))
    if kind == "time":
        time = NounPhrase(sampler.words.nouns[sampler.one_of(("Zeit", "Geld"))], "")
        made = Clause(sampler.words.verbs["haben"], sampler.subject_pronoun(), time)
        made.negated = sampler.chance(0.3)
        return made
    if kind == "quality":
        adjective = sampler.words.adjectives[sampler.one_of(("müde", "krank", "hungrig", "durstig", "fertig", "traurig"))]
        subject = _subject_for(sampler, sampler.words.select("person"), "before the verb")
        return Clause(sampler.words.verbs["sein"], subject, predicate=Quality(adjective))
    made = clause(sampler, tense="modal", fits=_doable(sampler), extras=0.3)
    made.modal, made.tense = sampler.one_of(("wollen", "müssen")), "present"
    made.adverbials = tuple(a for a in made.adverbials if a.slot != "time")
    return made


def when_clause(sampler: Sampler) -> Sentence:
    """What happened when something else happened."""
    first = sampler.chance(0.5)
    main = clause(sampler, where="after the verb" if first else "before the verb", fits=_doable(sampler), tense="past", extras=0.4)
    main.adverbials = tuple(a for a in main.adverbials if a.slot not in ("time", "frequency"))
    if sampler.chance(0.5):
        inner = clause(sampler, verb=sampler.words.verbs[sampler.one_of(("an|kommen", "zurück|kommen", "auf|stehen", "ein|schlafen", "an|rufen"))], tense="past", extras=0.0, negations=0.0)
        inner.adverbials = ()
    else:
        inner = _described(sampler, "before the verb")
        inner.tense, inner.adverbials, inner.negated = "past", (), False
    return Complex(Statement(main), Subordinate("als", inner), first)


# ---- relative clauses


def relative_on_subject(sampler: Sampler) -> Sentence:
    """The man who reads the book is my brother."""
    entity = sampler.fair(sampler.words.select("person -relative -name"))
    assert isinstance(entity, Noun)
    phrase = sampler.noun_phrase(entity, role="subject", definite=True, plurals=0.2, adjectives=0.1)
    phrase.possessor = None
    if phrase.determiner not in ("der", "dieser"):
        phrase.determiner = "der"
    attach_relative(sampler, phrase)
    if sampler.chance(0.5):
        adjective = sampler.fair([a for a in sampler.words.adjectives.values() if entity in a.suits])
        return Statement(_be(sampler, phrase, Quality(adjective)))
    made = clause(sampler, subject=phrase, fits=_doable(sampler), extras=0.3, negations=0.05)
    return Statement(made)


def relative_on_object(sampler: Sampler) -> Sentence:
    """I know the man who reads the book; I read the book that he wrote."""
    asks = sampler.chance(0.25)
    made = clause(
        sampler,
        where="after the verb" if asks else "before the verb",
        fits=lambda verb: bool(verb.objects) and verb.key not in ("haben", "gehören") and not verb.goals and not verb.spot,
        extras=0.0,
        negations=0.05,
    )
    noun = sampler.object_noun(made.verb)
    if not isinstance(noun, Noun) or "relative" in noun.kinds or noun.mass:
        return relative_on_object(sampler)
    phrase = NounPhrase(noun, sampler.weighted({"der": 4, "ein": 1}), sampler.chance(0.15))
    if phrase.plural:
        phrase.determiner = "der"
    attach_relative(sampler, phrase)
    made.object = phrase
    made.adverbials = tuple(a for a in made.adverbials if a.slot == "frequency")
    return Question(made) if asks else Statement(made)


def attach_relative(sampler: Sampler, phrase: NounPhrase) -> None:
    """Give the phrase a relative clause in which it is the subject or the object."""
    noun = phrase.noun
    key = sampler.subject_key
    verbs = [
        verb
        for verb in sampler.words.verbs.values()
        if verb.weight and noun in verb.objects and sampler.allowed(verb, noun) and verb.key != "haben"
    ]
    pronoun = RelativePronoun(phrase)
    if verbs and (not {"person"} & set(noun.kinds) or sampler.chance(0.4)):
        verb = sampler.fair(verbs, lambda verb: verb.weight)
        inner = clause(sampler, verb=verb, extras=0.2, negations=0.05, tense="past" if verb.aspect == "event" else None)
        inner.object = pronoun
    else:
        sampler.subject_key = ""
        inner = clause(sampler, subject=pronoun, fits=lambda verb: noun in verb.subjects, extras=0.5, negations=0.05)
    inner.relative = pronoun
    inner.gladly = False
    phrase.relative = inner
    sampler.subject_key = key


# ---- several clauses


def coordination(sampler: Sampler) -> Sentence:
    """Two statements with und, aber or oder."""
    conjunction = sampler.weighted({"und": 3, "aber": 2})
    first = Statement(clause(sampler, extras=0.5))
    second = Statement(clause(sampler, extras=0.5))
    return Joined(first, conjunction, second)  # type: ignore[arg-type]


def long_sentence(sampler: Sampler) -> Sentence:
    """Several constructions stacked: longer than what training shows."""
    kinds: tuple[Construction, ...] = (because, if_clause, relative_on_subject, relative_on_object, that_clause, when_clause)
    first = sampler.one_of(kinds)(sampler)
    while isinstance(first, Question | Joined) or first.mark != ".":
        first = sampler.one_of(kinds)(sampler)
    second = sampler.one_of((*kinds, statement, coordination))(sampler)
    while second.mark != "." or (isinstance(second, Joined) and sampler.chance(0.5)):
        second = sampler.one_of((*kinds, statement))(sampler)
    return Joined(first, sampler.weighted({"und": 2, "aber": 1}), second)  # type: ignore[arg-type]


CONSTRUCTIONS: dict[Construction, float] = {
    statement: 20,
    modal_statement: 8,
    yes_no_question: 7,
    command: 5,
    who_question: 2.5,
    object_question: 3.5,
    adverb_question: 5,
    described: 7,
    compared: 3,
    better_thing: 1,
    occupation: 1.5,
    this_is: 2,
    is_somewhere: 2.5,
    existence: 3,
    weather: 1,
    in_general: 2.5,
    try_to: 4,
    help_to: 5,
    request: 2,
    judged: 2.5,
    have_time_to: 1.5,
    that_clause: 4,
    whether_clause: 2.5,
    because: 4,
    if_clause: 4,
    when_clause: 2,
    relative_on_subject: 2.5,
    relative_on_object: 4,
    coordination: 3,
}
