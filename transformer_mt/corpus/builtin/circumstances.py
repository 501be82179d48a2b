"""Random circumstances: when, where, where to, how, with whom and for whom something happens."""

from transformer_mt.corpus.builtin.german import NUMERALS
from transformer_mt.corpus.builtin.lexicon import Case, Entity, Noun, ProperName, Verb
from transformer_mt.corpus.builtin.phrases import (
    Adverbial,
    AdverbPhrase,
    ClockTime,
    Name,
    NounPhrase,
    PrepositionalPhrase,
)
from transformer_mt.corpus.builtin.sampler import Sampler

# Each with the case it governs and its translation.
OCCASIONS: dict[str, tuple[Case, str]] = {
    "nach": ("dative", "after"),
    "vor": ("dative", "before"),
    "während": ("genitive", "during"),
}
_BESIDE_BUILDINGS = {"vor": "in front of", "hinter": "behind", "neben": "next to"}
_BESIDE_FURNITURE = {"neben": "next to", "hinter": "behind", "unter": "under"}


def adverb(sampler: Sampler, slot: str, *tenses: str) -> AdverbPhrase:
    """An adverb of a slot that goes with one of the tenses."""
    group = sampler.words.adverbs[slot].values()
    return AdverbPhrase(sampler.fair([entry for entry in group if not set(tenses).isdisjoint(entry.tenses)]))


def time(sampler: Sampler, verb: Verb, tense: str) -> Adverbial:
    """When something happens: an adverb, an occasion, so long ago, at so many o'clock."""
    kinds: dict[str, float] = {"adverb": 8}
    if tense in ("past", "future"):
        kinds |= {"occasion": 1.4}
    if tense == "past":
        kinds |= {"ago": 1.2}
    if verb.aspect == "habit" and verb.object_is != "indefinite":
        kinds |= {"clock": 0.8}
    kind = sampler.weighted(kinds)
    if kind == "occasion":
        return _occasion(sampler)
    if kind == "ago":
        period = sampler.fair(sampler.words.select("period"))
        assert isinstance(period, Noun)
        span = NounPhrase(period, sampler.fair(NUMERALS), True)
        return PrepositionalPhrase("vor", "dative", "ago", span, "time", after=True)
    if kind == "clock":
        return PrepositionalPhrase("um", "accusative", "at", ClockTime(sampler.fair(NUMERALS)), "time")
    seasonal = ("season",) if tense in ("past", "future") and verb.aspect == "habit" else ()
    return adverb(sampler, "time", tense, *seasonal)


def _occasion(sampler: Sampler) -> PrepositionalPhrase:
    event = sampler.fair(sampler.words.select("event"))
    assert isinstance(event, Noun)
    preposition = sampler.one_of(tuple(OCCASIONS))
    case, english = OCCASIONS[preposition]
    return PrepositionalPhrase(preposition, case, english, NounPhrase(event), "time")


def reason(sampler: Sampler) -> PrepositionalPhrase:
    """Because of something."""
    noun = sampler.fair(sampler.words.select("weather Prüfung Musik Problem Konzert Kurs Spiel Party Film"))
    assert isinstance(noun, Noun)
    return PrepositionalPhrase("wegen", "genitive", "because of", NounPhrase(noun), "time")


def manner(sampler: Sampler, verb: Verb, *, lasting: bool) -> AdverbPhrase | None:
    """How the verb may be done; what lasts is not done at once."""
    options = [entry for entry in verb.manners if not (lasting and entry.key == "sofort")]
    return AdverbPhrase(sampler.fair(options)) if options else None


def place(sampler: Sampler, verb: Verb) -> Adverbial:
    """Where the verb may happen."""
    if not verb.needs_place and sampler.chance(0.2):
        return AdverbPhrase(sampler.fair(tuple(sampler.words.adverbs["place"].values())))
    return location(sampler, sampler.fair(verb.places), "place")


def goal(sampler: Sampler, verb: Verb) -> Adverbial:
    """Where somebody goes."""
    if verb.key in ("gehen", "fahren", "kommen") and sampler.chance(0.15):
        return AdverbPhrase(sampler.words.adverbs["goal"]["nach Hause"])
    return location(sampler, sampler.fair(verb.goals), "goal")


def location(sampler: Sampler, entity: Entity, role: str) -> PrepositionalPhrase:
    """A place (place, spot) or a goal (goal, laid) with the preposition that it takes."""
    slot = "goal" if role in ("goal", "laid") else "place"
    if isinstance(entity, ProperName):
        german, english = ("nach", "to") if role == "goal" else ("in", "in")
        return PrepositionalPhrase(german, "dative", english, Name(entity), slot)
    german, english = entity.prepositions["spot" if role == "laid" else role]
    towards = role == "laid" or (role == "goal" and german != "zu")
    phrase = sampler.noun_phrase(entity, "definite", plurals=0.0, adjectives=0.12)
    return PrepositionalPhrase(german, "accusative" if towards else "dative", english, phrase, slot)


def spot(sampler: Sampler, *, laid: bool) -> PrepositionalPhrase:
    """Where something lies, or is laid: on, in, next to, behind, under."""
    if sampler.chance(0.65):
        return location(
            sampler, sampler.fair(sampler.words.select("luggage furniture fridge")), "laid" if laid else "spot"
        )
    holder = sampler.fair(sampler.words.select("furniture fridge"))
    assert isinstance(holder, Noun)
    options = [key for key in _BESIDE_FURNITURE if key != "unter" or holder.prepositions["spot"][0] == "auf"]
    german = sampler.one_of(options)
    phrase = sampler.noun_phrase(holder, "definite", plurals=0.0, adjectives=0.0)
    case: Case = "accusative" if laid else "dative"
    return PrepositionalPhrase(german, case, _BESIDE_FURNITURE[german], phrase, "goal" if laid else "place")


def beside_a_building(sampler: Sampler) -> PrepositionalPhrase:
    """In front of, behind or next to a building."""
    german = sampler.one_of(tuple(_BESIDE_BUILDINGS))
    building = sampler.fair(sampler.words.select("building"))
    assert isinstance(building, Noun)
    phrase = NounPhrase(building, sampler.weighted({"der": 3, "dieser": 1}))
    return PrepositionalPhrase(german, "dative", _BESIDE_BUILDINGS[german], phrase, "place")


def company(sampler: Sampler) -> PrepositionalPhrase:
    """With or without somebody."""
    person = sampler.person_or_pronoun(0.25)
    if sampler.chance(0.75):
        return PrepositionalPhrase("mit", "dative", "with", person, "company")
    return PrepositionalPhrase("ohne", "accusative", "without", person, "company")


def benefit(sampler: Sampler) -> PrepositionalPhrase:
    """For somebody."""
    return PrepositionalPhrase("für", "accusative", "for", sampler.person_or_pronoun(0.25), "company")


def vehicle(sampler: Sampler, verb: Verb) -> PrepositionalPhrase:
    """By train."""
    means = sampler.fair(verb.vehicles)
    assert isinstance(means, Noun)
    return PrepositionalPhrase("mit", "dative", "by", NounPhrase(means), "company", bare=True)
