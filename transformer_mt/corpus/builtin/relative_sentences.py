"""Constructions with a relative clause on the subject or on the object."""

from collections.abc import Iterable

from transformer_mt.corpus.builtin.lexicon import Noun, Verb
from transformer_mt.corpus.builtin.phrases import NounPhrase, RelativePronoun
from transformer_mt.corpus.builtin.predicates import being, clause, is_deed, quality, without
from transformer_mt.corpus.builtin.sampler import AFTER, BEFORE, Sampler
from transformer_mt.corpus.builtin.sentences import Question, Sentence, Statement
from transformer_mt.corpus.builtin.subordination import RelativeClause


def relative_on_subject(sampler: Sampler) -> Sentence:
    """The man who reads the book is tired."""
    entity = sampler.fair(sampler.words.select("person -relative -name"))
    assert isinstance(entity, Noun)
    phrase = NounPhrase(entity, sampler.weighted({"der": 4, "dieser": 1}), sampler.chance(0.2))
    if sampler.chance(0.1):
        phrase.adjective = sampler.adjective_for(entity)
    attach_relative(sampler, phrase)
    if sampler.chance(0.5):
        fitting = [entry for entry in sampler.words.adjectives.values() if entity in entry.suits]
        return Statement(being(sampler, phrase, quality(sampler, sampler.fair(fitting))))
    return Statement(clause(sampler, subject=phrase, fits=is_deed, extras=0.3, negations=0.05))


def relative_on_object(sampler: Sampler) -> Sentence:
    """I know the man who reads the book; I read the book that he wrote."""
    asks = sampler.chance(0.25)
    made = clause(sampler, where=AFTER if asks else BEFORE, fits=_can_have_long_object, extras=0.0, negations=0.05)
    nouns = [
        noun
        for noun in sampler.objects_of(made.verb)
        if isinstance(noun, Noun)
        and not noun.mass
        and "relative" not in noun.kinds
        and ("person" in noun.kinds or any(_can_take(sampler, verb, noun, made.verb) for verb in _verbs(sampler)))
    ]
    if not nouns:
        return relative_on_object(sampler)
    definite = made.verb.object_is == "definite" or made.negated
    phrase = NounPhrase(sampler.fair(nouns), "der" if definite else sampler.weighted({"der": 4, "ein": 1}))
    if phrase.determiner == "der" and sampler.chance(0.15):
        phrase.plural = True
    attach_relative(sampler, phrase, made.verb)
    made.object, made.recipient = phrase, None
    if made.experience == "noch nicht":  # "yet" would seem to belong to the relative clause
        made.experience = "schon"
    without(made, "time", "place", "company", "manner")
    return Question(made) if asks else Statement(made)


def _can_have_long_object(verb: Verb) -> bool:
    unfit = ("haben", "gehören", "kommen aus", "laufen durch")
    return bool(verb.objects) and verb.key not in unfit and not verb.spot and not verb.needs_recipient


def attach_relative(sampler: Sampler, phrase: NounPhrase, main: Verb | None = None) -> None:
    """Give the phrase a relative clause in which it is the subject or the object."""
    key = sampler.subject_key
    pronoun = RelativePronoun(phrase)
    verbs = [verb for verb in _verbs(sampler) if _can_take(sampler, verb, phrase.noun, main)]
    sampler.subject_key = ""
    if "person" not in phrase.noun.kinds or (verbs and sampler.chance(0.4)):
        verb = sampler.fair(verbs)
        tense = "present" if verb.aspect == "state" else "past"
        inner = clause(sampler, verb=verb, extras=0.2, negations=0.05, tense=tense)
        inner.object, inner.recipient = pronoun, None
    else:
        inner = clause(
            sampler, subject=pronoun, fits=lambda verb: phrase.noun in verb.subjects, extras=0.4, negations=0.0
        )
    inner.gladly = False
    phrase.relative = RelativeClause(inner, pronoun)
    sampler.subject_key = key


def _verbs(sampler: Sampler) -> Iterable[Verb]:
    return sampler.words.verbs.values()


def _can_take(sampler: Sampler, verb: Verb, noun: Noun, main: Verb | None) -> bool:
    """True if the relative clause may have this verb when the main clause has `main`."""
    usual = verb.weight > 0 and verb.key != "haben" and not verb.needs_recipient and not verb.spot
    return usual and verb is not main and noun in sampler.objects_of(verb)
