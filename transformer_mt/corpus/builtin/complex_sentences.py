"""Constructions of several clauses: infinitives, subordinate and relative clauses, coordination."""

from collections.abc import Callable

from transformer_mt.corpus.builtin import circumstances
from transformer_mt.corpus.builtin.clauses import Clause, ModalVerb, Quality
from transformer_mt.corpus.builtin.lexicon import Noun, Verb
from transformer_mt.corpus.builtin.phrases import (
    AdverbPhrase,
    Indefinite,
    Nominal,
    NounPhrase,
    Pronoun,
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
from transformer_mt.corpus.builtin.relative_sentences import relative_on_object, relative_on_subject
from transformer_mt.corpus.builtin.sampler import AFTER, BEFORE, Sampler
from transformer_mt.corpus.builtin.sentences import Command, Complex, Joined, Question, Sentence, Statement
from transformer_mt.corpus.builtin.simple_sentences import command, compared_clause, described_clause, keep_deniable
from transformer_mt.corpus.builtin.subordination import Infinitive, Subordinate

_ASKING: dict[ModalVerb | None, float] = {"können": 5, "müssen": 1.5, "wollen": 1.5, "sollen": 1, "möchten": 1}


def _has_object(verb: Verb) -> bool:
    return bool(verb.objects)


# ---- infinitives


def try_to(sampler: Sampler) -> Sentence:
    """Somebody tries, hopes or promises to do something, or forgot to."""
    key = sampler.weighted({"versuchen": 3, "hoffen": 1, "vergessen": 1, "versprechen": 1})
    asks = sampler.chance(0.2)
    made = Clause(sampler.words.verbs[key], sampler.somebody(AFTER if asks else BEFORE, pronouns=0.6))
    tense = {"hoffen": "present", "vergessen": "past", "versprechen": "past"}.get(key)
    tense = tense or sampler.weighted({"past": 3, "modal": 2, "progressive": 1, "future": 1})
    made.progressive = tense == "progressive"
    if tense == "modal":
        made.modal = sampler.weighted({"müssen": 1, "wollen": 1, "möchten": 1})
    elif tense in ("past", "future"):
        made.tense = tense  # type: ignore[assignment]
    made.complement = Infinitive(infinitive(sampler))
    return Question(made) if asks else Statement(made)


def help_to(sampler: Sampler) -> Sentence:
    """Can you help me do it? Somebody helps somebody do something."""
    asks = sampler.chance(0.7)
    made = Clause(sampler.words.verbs["helfen"])
    if asks and sampler.chance(0.55):
        made.subject = sampler.as_subject(sampler.addressee)
    else:
        made.subject = sampler.somebody(AFTER if asks else BEFORE, pronouns=0.7)
    made.object = _helped(sampler)
    tense = sampler.weighted({"modal": 7, "past": 1.5, "future": 1.5})
    if tense == "modal":
        made.modal = sampler.weighted(_ASKING)
        made.please = asks and made.modal == "können" and sampler.chance(0.2)
    else:
        made.tense = tense  # type: ignore[assignment]
    made.complement = Infinitive(infinitive(sampler, fits=_has_object), bare=True)
    return Question(made) if asks else Statement(made)


def _helped(sampler: Sampler) -> Nominal:
    """Often me, where somebody is asked."""
    if sampler.subject_key == sampler.addressee and sampler.chance(0.5):
        return Pronoun("ich")
    return sampler.person_or_pronoun(0.65)


def request(sampler: Sampler) -> Question:
    """A short question with a modal verb: Can you help me?"""
    keys = ("helfen", "helfen", "zu|hören", "antworten", "danken", "an|rufen", "ab|holen", "besuchen")
    made = Clause(sampler.words.verbs[sampler.one_of(keys)])
    if sampler.chance(0.5):
        made.subject = sampler.as_subject(sampler.addressee)
    else:
        made.subject = sampler.somebody(AFTER, pronouns=0.6)
    made.object = _helped(sampler)
    made.modal = sampler.weighted(_ASKING)
    if sampler.chance(0.2):
        add(made, circumstances.adverb(sampler, "time", "future"))
    return Question(made)


def judged(sampler: Sampler) -> Statement:
    """It is difficult to do something."""
    key = sampler.weighted({"wichtig": 2, "leicht": 2, "schwierig": 2, "langweilig": 0.5, "interessant": 0.5})
    verdict = Quality(sampler.words.adjectives[key], sampler.weighted({None: 3, "sehr": 1}))
    made = Clause(sampler.words.verbs["sein"], Pronoun("es"), predicate=verdict)
    made.tense = "past" if sampler.chance(0.3) else "present"
    made.negated = verdict.degree is None and sampler.chance(0.2)
    made.complement = Infinitive(infinitive(sampler, fits=_has_object))
    return Statement(made)


def have_time_to(sampler: Sampler) -> Sentence:
    """Have time to do something."""
    asks = sampler.chance(0.3)
    made = Clause(sampler.words.verbs["haben"], sampler.somebody(AFTER if asks else BEFORE))
    made.object = NounPhrase(sampler.words.nouns["Zeit"], "")
    made.negated = not asks and not isinstance(made.subject, Indefinite) and sampler.chance(0.6)
    made.tense = "past" if sampler.chance(0.4) else "present"
    made.complement = Infinitive(infinitive(sampler))
    return Question(made) if asks else Statement(made)


# ---- clauses that are objects


def that_clause(sampler: Sampler) -> Sentence:
    """Somebody knows, thinks, says, hopes or believes that."""
    return _with_clause(sampler, sampler.one_of(("wissen", "denken", "sagen", "hoffen", "glauben")), "dass")


def whether_clause(sampler: Sampler) -> Sentence:
    """Somebody knows or asks whether, when, why."""
    conjunction = sampler.weighted({"ob": 4, "warum": 1, "wann": 1})
    return _with_clause(sampler, sampler.one_of(("wissen", "wissen", "fragen")), conjunction)


def _with_clause(sampler: Sampler, key: str, conjunction: str) -> Sentence:
    asks = key in ("wissen", "denken", "glauben") and sampler.chance(0.25)
    made = Clause(sampler.words.verbs[key], sampler.somebody(AFTER if asks else BEFORE, pronouns=0.7))
    if key in ("sagen", "fragen"):
        made.tense = "past"
    if key == "fragen":
        made.object = sampler.person_or_pronoun(0.6)
    made.negated = key == "wissen" and conjunction != "dass" and not asks and not isinstance(made.subject, Indefinite)
    sampler.subject_key = ""
    made.complement = Subordinate(conjunction, _told_clause(sampler, conjunction))
    return Question(made) if asks else Statement(made)


def _told_clause(sampler: Sampler, conjunction: str) -> Clause:
    if conjunction in ("dass", "ob") and sampler.chance(0.25):
        return sampler.one_of((described_clause, compared_clause))(sampler, BEFORE)
    told = clause(sampler, fits=is_any if conjunction in ("dass", "ob") else is_deed, extras=0.4)
    if conjunction == "wann":
        without(told, "time", "frequency")
        if told.tense == "present" and not told.modal:
            told.progressive, told.gladly, told.experience, told.tense = False, False, None, "past"
    return told


# ---- clauses that say why and when


def because(sampler: Sampler) -> Sentence:
    """Something is so because of something that explains it."""
    return sampler.weighted({_cannot_because: 3, _feels_because: 3, _likes_because: 2, _despite: 2})(sampler)


def _again(sampler: Sampler, subject: Nominal | None) -> Nominal:
    """The pronoun for the subject of the main clause, which must be a person of plain sex."""
    assert subject is not None
    assert sampler.subject_key
    return Pronoun(sampler.subject_key)


def _somebody_plain(sampler: Sampler) -> Nominal:
    """A subject that a pronoun can take up."""
    subject = sampler.somebody(pronouns=0.6)
    return subject if sampler.subject_key else sampler.subject_pronoun()


def _obstacle(sampler: Sampler, subject: Nominal, *, past: bool) -> Clause:
    """Being tired, having no time."""
    made = Clause(sampler.words.verbs["sein"], subject)
    if sampler.chance(0.35):
        made.verb = sampler.words.verbs["haben"]
        made.object, made.negated = NounPhrase(sampler.words.nouns["Zeit"], ""), True
    else:
        key = sampler.one_of(("müde", "krank", "hungrig", "durstig", "traurig"))
        made.predicate = Quality(sampler.words.adjectives[key], "sehr" if sampler.chance(0.3) else None)
    made.tense = "past" if past else "present"
    return made


def _cannot_because(sampler: Sampler) -> Complex:
    """I cannot come because I am ill; I stayed at home because it rained."""
    past = sampler.chance(0.45)
    subject = _somebody_plain(sampler)
    if sampler.chance(0.25):
        made = clause(
            sampler, subject=subject, verb=sampler.words.verbs["bleiben"], tense="past", extras=0.0, negations=0.0
        )
        made.adverbials, past = (AdverbPhrase(sampler.words.adverbs["place"]["zu Hause"]),), True
    else:
        made = clause(sampler, subject=subject, fits=is_deed, tense="modal", extras=0.2, negations=0.0)
        made.modal, made.tense, made.negated = sampler.one_of(("können", "wollen")), "past" if past else "present", True
        keep_deniable(sampler, made)
    if past and sampler.chance(0.2):
        reason = Clause(sampler.words.verbs[sampler.one_of(("regnen", "schneien"))], Pronoun("es"), tense="past")
    else:
        reason = _obstacle(sampler, _again(sampler, subject), past=past)
    return Complex(Statement(made), Subordinate("weil", reason))


# How one feels after what: verbs, and whether it was not done.
_FEELINGS: dict[str, tuple[tuple[str, ...], bool]] = {
    "müde": (("arbeiten", "tanzen", "schwimmen", "reisen", "auf|räumen", "spielen"), False),
    "glücklich": (("finden", "bekommen", "treffen", "besuchen", "kaufen"), False),
    "traurig": (("verlieren", "vergessen"), False),
    "hungrig": (("essen",), True),
    "durstig": (("trinken",), True),
}


def _feels_because(sampler: Sampler) -> Complex:
    """She is sad because she lost her key."""
    key = sampler.one_of(tuple(_FEELINGS))
    verbs, negated = _FEELINGS[key]
    subject = _somebody_plain(sampler)
    feeling = Quality(sampler.words.adjectives[key], "sehr" if sampler.chance(0.3) else None)
    made = Clause(sampler.words.verbs["sein"], subject, predicate=feeling)
    made.tense = "past" if sampler.chance(0.3) else "present"
    verb = sampler.words.verbs[sampler.one_of(verbs)]
    again = _again(sampler, subject)
    reason = clause(sampler, subject=again, verb=verb, tense="past", extras=0.5, negations=0.0)
    if negated:
        reason.adverbials = ()
        reason.object = Indefinite("nichts")
    return Complex(Statement(made), Subordinate("weil", reason))


def _likes_because(sampler: Sampler) -> Complex:
    """I read the book because it is interesting."""
    adjective_keys = (
        "interessant",
        "schön",
        "lustig",
        "billig",
        "gut",
        "neu",
        "wichtig",
        "klein",
        "groß",
        "süß",
        "kurz",
    )
    adjective = sampler.words.adjectives[sampler.one_of(adjective_keys)]
    verbs = [sampler.words.verbs[key] for key in ("kaufen", "lesen", "mögen", "verkaufen", "nehmen", "übersetzen")]
    options = [
        (verb, noun)
        for verb in verbs
        for noun in sampler.objects_of(verb)
        if noun in adjective.suits and isinstance(noun, Noun) and noun.gender == "n" and "person" not in noun.kinds
    ]
    if not options:
        return _likes_because(sampler)
    verb, noun = sampler.one_of(options)
    past = "past" not in verb.without and sampler.chance(0.6)
    assert isinstance(noun, Noun)
    subject = sampler.somebody(pronouns=0.7)
    thing = NounPhrase(noun, sampler.weighted({"der": 2, "dieser": 2}))
    made = Clause(verb, subject, thing, tense="past" if past else "present")
    made.modal = None if past or verb.aspect == "state" else sampler.weighted({"wollen": 1, "möchten": 1})
    reason = Clause(sampler.words.verbs["sein"], Pronoun("es"), predicate=quality(sampler, adjective))
    reason.predicate = Quality(adjective, "sehr" if sampler.chance(0.3) else None)
    reason.tense = "past" if past else "present"
    return Complex(Statement(made), Subordinate("weil", reason))


def _despite(sampler: Sampler) -> Complex:
    """He worked although he was ill."""
    subject = _somebody_plain(sampler)
    past = sampler.chance(0.6)
    tense = "past" if past else "modal"
    made = clause(sampler, subject=subject, fits=is_deed, tense=tense, extras=0.3, negations=0.0)
    if not past:
        made.modal, made.tense = sampler.weighted({"wollen": 1, "müssen": 1, "möchten": 1}), "present"
    without(made, "time", "frequency")
    if past and sampler.chance(0.2):
        against = Clause(sampler.words.verbs[sampler.one_of(("regnen", "schneien"))], Pronoun("es"), tense="past")
    else:
        against = _obstacle(sampler, _again(sampler, subject), past=past)
    return Complex(Statement(made), Subordinate("obwohl", against), sampler.chance(0.3) and not _formal(made))


def _formal(made: Clause) -> bool:
    return isinstance(made.subject, Pronoun) and made.subject.key == "sie, plural"


def if_clause(sampler: Sampler) -> Sentence:
    """If something is so, something else will, can or must be done."""
    condition = _condition(sampler)
    sampler.subject_key = ""
    if sampler.chance(0.2):
        return Complex(command(sampler), Subordinate("wenn", condition))
    first = sampler.chance(0.6)
    tense = sampler.one_of(("future", "modal"))
    main = clause(sampler, where=AFTER if first else BEFORE, fits=is_deed, tense=tense, extras=0.3)
    without(main, "time", "frequency")
    if main.tense == "past":
        main.tense = "present"
    return Complex(Statement(main), Subordinate("wenn", condition), first)


def _condition(sampler: Sampler) -> Clause:
    kind = sampler.weighted({"weather": 1.5, "means": 2, "state": 3, "will": 2})
    if kind == "weather":
        return Clause(sampler.words.verbs[sampler.one_of(("regnen", "schneien"))], Pronoun("es"))
    if kind == "means":
        made = Clause(sampler.words.verbs["haben"], sampler.somebody(pronouns=0.8))
        made.object = NounPhrase(sampler.words.nouns[sampler.one_of(("Zeit", "Geld"))], "")
        made.negated = not isinstance(made.subject, Indefinite) and sampler.chance(0.3)
        return made
    if kind == "state":
        key = sampler.one_of(("müde", "krank", "hungrig", "durstig", "fertig", "traurig"))
        subject = bearer(sampler, sampler.words.select("person"))
        return Clause(sampler.words.verbs["sein"], subject, predicate=Quality(sampler.words.adjectives[key]))
    made = clause(sampler, tense="modal", fits=is_deed, extras=0.2)
    made.modal, made.tense = sampler.weighted({"wollen": 1, "müssen": 1}), "present"
    without(made, "time", "frequency")
    return made


def when_clause(sampler: Sampler) -> Sentence:
    """What happened when somebody came back, was young, was ill."""
    first = sampler.chance(0.5)
    main = clause(sampler, where=AFTER if first else BEFORE, fits=is_deed, tense="past", extras=0.4, negations=0.05)
    without(main, "time", "frequency")
    if sampler.chance(0.6):
        keys = ("zurück|kommen", "auf|stehen", "ein|schlafen", "an|rufen", "lachen")
        verb = sampler.words.verbs[sampler.one_of(keys)]
        inner = clause(sampler, verb=verb, tense="past", extras=0.0, negations=0.0)
        inner.adverbials = ()
    else:
        key = sampler.one_of(("jung", "klein", "krank", "müde", "traurig"))
        inner = being(sampler, sampler.somebody(), Quality(sampler.words.adjectives[key]), tense="past")
        inner.negated = False
    return Complex(Statement(main), Subordinate("als", inner), first)


# ---- several sentences in one


def coordination(sampler: Sampler) -> Sentence:
    """Two statements about two people, with und or aber."""
    tense = sampler.weighted({"past": 3, "progressive": 2, "modal": 2, "future": 1})

    def half() -> Statement:
        def fits(verb: Verb) -> bool:
            return is_deed(verb) and tense not in verb.without

        made = clause(sampler, subject=sampler.somebody(pronouns=0.45), fits=fits, tense=tense, extras=0.25)
        without(made, "time", "frequency")
        return Statement(made)

    return Joined(half(), sampler.weighted({"und": 3, "aber": 2}), half())


def long_sentence(sampler: Sampler) -> Sentence:
    """Two sentences of several clauses each: longer than what training shows."""
    first = _one_of_several_clauses(sampler)
    second = _one_of_several_clauses(sampler)
    return Joined(first, sampler.weighted({"und": 2, "aber": 1}), second)


_LONG: tuple[Callable[[Sampler], Sentence], ...] = (
    because,
    if_clause,
    relative_on_subject,
    relative_on_object,
    that_clause,
    whether_clause,
    when_clause,
    try_to,
    have_time_to,
    coordination,
)


def _one_of_several_clauses(sampler: Sampler) -> Statement | Complex | Joined:
    sampler.subject_key = ""
    made = sampler.one_of(_LONG)(sampler)
    if made.mark != "." or isinstance(made, Question | Command):
        return _one_of_several_clauses(sampler)
    return made
