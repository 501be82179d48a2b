"""English morphology: plurals, verb forms, comparatives, a and an."""

from functools import cache

from grammar.german import IRREGULAR, Person, inflected
from grammar.lexicon import CLOSED, Adjective, Noun

_DOUBLING = frozenset(CLOSED["doubling"]["verbs"].split())


def article(following: str) -> str:
    """The indefinite article before the word `following`."""
    return inflected(following, "article")


def noun(entry: Noun, *, plural: bool) -> str:
    """The noun, singular or plural."""
    if entry.in_english in ("plural", "pair", "mass"):
        return entry.english_plural or entry.english
    return entry.english_plural or inflected(entry.english, "s") if plural else entry.english


@cache
def verb_form(base: str, past: str, form: str, person: Person) -> str:
    """A form of a verb: base, ing, participle, present, past or unreal; `past` holds its irregular forms."""
    if (base, form) in IRREGULAR:
        return IRREGULAR[base, form][person]
    if form in ("", "base") or (form == "present" and person != "3s"):
        return base
    if form == "present":
        return inflected(base, "s")
    if past and form != "ing":
        return past.split()[-1 if form == "participle" else 0]
    return inflected(base + base[-1] if base in _DOUBLING else base, "ing" if form == "ing" else "ed")


def graded(entry: Adjective, grade: str) -> str:
    """The adjective, its comparative or superlative: bigger, happier, more interesting, biggest, best."""
    if grade and entry.better == "more":
        return f"{'more' if grade == 'comparative' else 'most'} {entry.english}"
    if grade == "superlative":
        return entry.best or inflected(entry.english, "comparative").removesuffix("r") + "st"
    return (entry.better or inflected(entry.english, "comparative")) if grade else entry.english
