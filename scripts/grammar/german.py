"""German morphology: inflection of articles, adjectives, nouns, pronouns and verbs."""

import re
from functools import cache
from typing import Any, Literal

from grammar.lexicon import CASES, CLOSED, Adjective, Case, Noun, Verb

# The columns of a declension table: three genders in the singular, one plural.
Column = Literal["m", "n", "f", "plural"]
# Person and number of the finite verb: ich, du, er, wir, ihr, sie.
Person = Literal["1s", "2s", "3s", "1p", "2p", "3p"]
PERSONS: tuple[Person, ...] = ("1s", "2s", "3s", "1p", "2p", "3p")

PRONOUNS = CLOSED["pronouns"]
_BASIC = list(CLOSED["numerals"])
# Number words up to ninety-nine; and the English of all numbers before nouns, with "|" for a space.
WORDS = {1: "ein"} | dict(enumerate(_BASIC[:19], 2)) | {10 * ten: key for ten, key in enumerate(_BASIC[18:26], 2)}
WORDS |= {n: f"{WORDS[n % 10]}und{WORDS[n // 10 * 10]}" for n in range(21, 100) if n % 10}
_ONES = {"ein": "one"} | CLOSED["numerals"]
NUMERALS: dict[str, str] = CLOSED["numerals"] | {
    WORDS[n]: f"{_ONES[WORDS[n // 10 * 10]]}-{_ONES[WORDS[n % 10]]}" for n in range(21, 100) if n % 10
}
NUMERALS |= {str(n): str(n) for n in range(2, 10000)}
NUMERALS |= {f"{n // 100},{n % 100:02}": f"{n // 100}.{n % 100:02}" for n in range(10, 10000)}  # prices
# Numerals take the place of determiners.
DETERMINERS: dict[str, dict[str, Any]] = CLOSED["determiners"] | {
    key: CLOSED["numeral"] | {"stem": key, "english": f"{text} {text}"} for key, text in NUMERALS.items()
}
PREPOSITIONS: dict[str, dict[str, Any]] = CLOSED["prepositions"]
PARTICLES: dict[str, dict[str, Any]] = CLOSED["particles"]
JOINERS: dict[str, dict[str, Any]] = CLOSED["joiners"]
COORDINATION: dict[str, dict[str, Any]] = CLOSED["coordination"]

_PLACES = [(case, column) for case in CASES for column in ("m", "n", "f", "plural")]
_DECLENSIONS = {
    name: {place: ending.strip("-") for place, ending in zip(_PLACES, endings.split(), strict=True)}
    for name, endings in CLOSED["declensions"].items()
}
# Irregular verbs of both languages: one form per person.
IRREGULAR: dict[tuple[str, str], dict[Person, str]] = {
    (verb, form): dict(zip(PERSONS, forms.split(), strict=True))
    for name in ("verbs", "english_verbs")
    for verb, row in CLOSED[name].items()
    for form, forms in row.items()
}
_RULES = {rule: [(re.compile(pattern), text) for pattern, text in rows] for rule, rows in CLOSED["inflection"].items()}


@cache
def inflected(word: str, rule: str) -> str:
    """The word inflected by the first matching row of a rule, of either language."""
    return next(pattern.sub(text, word, count=1) for pattern, text in _RULES[rule] if pattern.search(word))


# ---- noun phrases


def _row(key: str, where: Column) -> dict[str, Any]:
    """The row of a determiner; ein has none in the plural."""
    return DETERMINERS["" if key == "ein" and where == "plural" else key]


def determiner(key: str, case: Case, where: Column, *, alone: bool = False) -> str:
    """The inflected determiner, or with `alone` the pronoun (meiner); empty for bare nouns and the plural of `ein`."""
    row = _row(key, where)
    declension = "alone" if alone and row["declension"] == "ein" else row["declension"]
    stem, ending = row.get("stem", ""), _DECLENSIONS[declension][case, where]
    return ("eur" if stem == "euer" and ending else stem) + ending


def relative_pronoun(case: Case, where: Column) -> str:
    """Der, den, dem, dessen."""
    return _DECLENSIONS["relative"][case, where]


def adjective(entry: Adjective, after: str, case: Case, where: Column, *, grade: str = "") -> str:
    """The adjective before a noun, inflected as the determiner `after` requires, unless it is indeclinable."""
    stem = graded(entry, grade) if grade else entry.attributive or entry.german
    if entry.indeclinable:
        return stem
    row = _row(after, where)
    declension = row.get("adjectives") or CLOSED["adjectives_after"][row["declension"]]
    return stem + _DECLENSIONS[declension][case, where].removeprefix("e" if stem.endswith("e") else "")


def graded(entry: Adjective, grade: str) -> str:
    """The adjective, its comparative (größer), or the stem of its superlative (größt)."""
    if grade == "superlative":
        return entry.superlative or inflected(entry.comparative.removesuffix("er") or entry.german, "Superlativ")
    compared = entry.comparative or inflected(entry.attributive or entry.german, "Komparativ")
    return compared if grade else entry.german


def noun(entry: Noun, case: Case, *, plural: bool) -> str:
    """The noun in its case: -n in the dative plural, -s in the genitive, -n for weak nouns."""
    if plural and entry.measure and not entry.plural_only:  # zwei Euro
        return entry.german
    if plural:
        return inflected(entry.plural, "Dativ Plural") if case == "dative" else entry.plural
    if entry.weak and case != "nominative":
        return entry.plural
    if case != "genitive":
        return entry.german
    return entry.genitive or (entry.german if entry.gender == "f" else inflected(entry.german, "Genitiv"))


def pronoun(key: str, case: Case) -> str:
    """A pronoun of the closed class."""
    return str(PRONOUNS[key]["german"].split()[CASES.index(case)])


def possessive(key: str) -> str:
    """The possessive of a subject: mein; sein for man and jemand."""
    return str(PRONOUNS[key].get("own", "sein"))


# ---- verbs


def finite(verb: Verb | str, tense: str, person: Person) -> str:
    """The present or preterite, without the separable prefix; an auxiliary is named by its infinitive."""
    infinitive = verb if isinstance(verb, str) else verb.infinitive
    if isinstance(verb, str) or (infinitive, tense) in IRREGULAR:
        return IRREGULAR[infinitive, tense][person]
    if tense == "preterite":
        past = CLOSED["preterites"].get(infinitive) or inflected(infinitive, "Stamm") + "te"
        return inflected(past, f"Präteritum {person}")
    if person in ("1p", "3p"):
        return infinitive
    if person == "1s":
        return inflected(infinitive, "ich")
    if verb.du_er and person != "2p":
        return verb.du_er.split()[person == "3s"]
    stem = verb.vowel if verb.vowel and person != "2p" else inflected(infinitive, "Stamm")
    return inflected(stem, "du" if person == "2s" else "er, ihr")


def imperative(verb: Verb, person: Person) -> str:
    """The imperative for du ("2s"), ihr ("2p") or Sie ("3p", without the pronoun)."""
    if (verb.infinitive, "imperative") in IRREGULAR:
        return IRREGULAR[verb.infinitive, "imperative"][person]
    if person != "2s":
        return finite(verb, "present", person)
    keeps_vowel = "ä" in verb.vowel or "ö" in verb.vowel  # fahr, but lies
    return inflected(verb.infinitive, "Imperativ") if keeps_vowel or not verb.vowel else verb.vowel


def participle(verb: Verb) -> str:
    """The past participle with its prefix: gelesen, angerufen, übersetzt."""
    return verb.participle or verb.prefix + inflected(verb.infinitive, "Partizip")


def zu_infinitive(verb: Verb) -> list[str]:
    """The infinitive with zu: zu lesen; anzurufen."""
    return [f"{verb.prefix}zu{verb.infinitive}"] if verb.prefix else ["zu", verb.infinitive]
