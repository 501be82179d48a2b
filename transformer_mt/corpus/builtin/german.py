"""German morphology: how articles, adjectives, nouns, pronouns and verbs inflect."""

from typing import Any, Literal

from transformer_mt.corpus.builtin.lexicon import CASES, CLOSED, Adjective, Case, Noun, Verb

# The columns of a declension table: three genders in the singular, one plural.
Column = Literal["m", "n", "f", "plural"]
# Person and number of the finite verb: ich, du, er, wir, ihr, sie.
Person = Literal["1s", "2s", "3s", "1p", "2p", "3p"]
PERSONS: tuple[Person, ...] = ("1s", "2s", "3s", "1p", "2p", "3p")

PRONOUNS = CLOSED["pronouns"]
DETERMINERS = CLOSED["determiners"]
PREPOSITIONS: dict[str, dict[str, Any]] = CLOSED["prepositions"]
PARTICLES: dict[str, dict[str, Any]] = CLOSED["particles"]
JOINERS: dict[str, dict[str, Any]] = CLOSED["joiners"]
NUMERALS: dict[str, str] = CLOSED["numerals"]

_PLACES = [(case, column) for case in CASES for column in ("m", "n", "f", "plural")]
_DECLENSIONS = {
    name: {place: ending.strip("-") for place, ending in zip(_PLACES, endings.split(), strict=True)}
    for name, endings in CLOSED["declensions"].items()
}
_IRREGULAR = {
    (verb, tense): dict(zip(PERSONS, forms.split(), strict=True))
    for verb, row in CLOSED["verbs"].items()
    for tense, forms in row.items()
    if tense != "imperative"
}


# ---- what stands in a noun phrase


def column(noun: Noun, *, plural: bool) -> Column:
    """The column of the declension tables in which a noun stands."""
    return "plural" if plural else noun.gender


def _determiner_row(key: str, where: Column) -> dict[str, Any]:
    """Of ein in the plural and of numerals as of no determiner."""
    bare = key in NUMERALS or (key == "ein" and where == "plural")
    row: dict[str, Any] = DETERMINERS["" if bare else key]
    return row


def determiner(key: str, case: Case, where: Column) -> str:
    """The inflected determiner; the empty string for the bare noun and for the plural of `ein`."""
    if key in NUMERALS:
        return key
    row = _determiner_row(key, where)
    stem, ending = row.get("stem", ""), _DECLENSIONS[row["declension"]][case, where]
    return ("eur" if stem == "euer" and ending else stem) + ending


def relative_pronoun(case: Case, where: Column) -> str:
    """Der, den, dem, dessen."""
    return _DECLENSIONS["relative"][case, where]


def adjective(entry: Adjective, after: str, case: Case, where: Column, *, compared: bool = False) -> str:
    """The adjective before a noun, inflected as the determiner `after` demands; some never are."""
    stem = comparative(entry) if compared else entry.attributive or entry.german
    if entry.indeclinable:
        return stem
    row = _determiner_row(after, where)
    declension = row.get("adjectives") or CLOSED["adjectives_after"][row["declension"]]
    return stem + _DECLENSIONS[declension][case, where].removeprefix("e" if stem.endswith("e") else "")


def comparative(entry: Adjective) -> str:
    """The comparative as predicate: größer."""
    return entry.comparative or (entry.attributive or entry.german).removesuffix("e") + "er"


def noun(entry: Noun, case: Case, *, plural: bool) -> str:
    """The noun in its case: -n in the dative plural, -s in the genitive, -n of the weak nouns."""
    if plural and entry.measure and not entry.plural_only:  # zwei Euro
        return entry.key
    if plural:
        return entry.plural if case != "dative" or entry.plural.endswith(("n", "s")) else entry.plural + "n"
    if entry.weak and case != "nominative":
        return entry.plural
    if case != "genitive":
        return entry.key
    regular = "" if entry.article == "die" else "es" if entry.key.endswith(("s", "ß", "x", "z")) else "s"
    return entry.genitive or entry.key + regular


def pronoun(key: str, case: Case) -> str:
    """A pronoun of the closed class."""
    return str(PRONOUNS[key]["german"].split()[CASES.index(case)])


def possessive(key: str) -> str:
    """The possessive of a subject: mein; sein of man and jemand."""
    return str(PRONOUNS[key].get("own", "sein"))


def reflexive(key: str, case: str) -> str:
    """The reflexive pronoun of a subject: mich, mir, sich."""
    return str(PRONOUNS[key]["reflexive"].split()[case == "dative"])


# ---- verbs


def _stem(infinitive: str) -> str:
    return infinitive.removesuffix("n").removesuffix("e")


def _needs_e(stem: str) -> bool:
    """True where -st and -t cannot be said: arbeitest, öffnet, atmet."""
    return stem.endswith(("t", "d", "ffn", "gn", "chn", "tm", "ckn"))


def finite(verb: Verb | str, tense: str, person: Person) -> str:
    """The present or preterite, without the separable prefix; an auxiliary is named by its infinitive."""
    infinitive = verb if isinstance(verb, str) else verb.infinitive
    if isinstance(verb, str) or (infinitive, tense) in _IRREGULAR:
        return _IRREGULAR[infinitive, tense][person]
    if person in ("1p", "3p"):
        return infinitive
    if verb.du_er and person in ("2s", "3s"):
        return verb.du_er.split()[person == "3s"]
    stem = _stem(infinitive)
    if person == "1s":
        return (stem.removesuffix("el") + "l" if verb.infinitive.endswith("eln") else stem) + "e"
    changed = verb.vowel if verb.vowel and person != "2p" else stem
    if _needs_e(stem) and changed == stem:
        changed += "e"
    if person == "2s":
        return changed + ("t" if changed.endswith(("s", "ß", "z", "x")) else "st")
    return changed + ("" if changed.endswith("t") else "t")


def has_preterite(verb: Verb) -> bool:
    """True for the verbs whose past is said by the preterite: war, hatte, es gab, wusste, the modals."""
    return verb.key == "geben (es)" or verb.infinitive in ("sein", "haben", "möchten", "wissen")


def imperative(verb: Verb, person: Person) -> str:
    """The imperative to du ("2s"), to ihr ("2p") or to Sie ("3p", without the pronoun)."""
    if verb.infinitive == "sein":
        return str(CLOSED["verbs"]["sein"]["imperative"].split()[("2s", "2p", "3p").index(person)])
    if person != "2s":
        return finite(verb, "present", person)
    if verb.vowel and not any(umlaut in verb.vowel for umlaut in "äö"):
        return verb.vowel
    stem = _stem(verb.infinitive)
    if verb.infinitive.endswith("eln"):
        return stem[:-2] + "le"
    return stem + ("e" if _needs_e(stem) or stem.endswith(("er", "dig", "lg", "is")) else "")


def participle(verb: Verb) -> str:
    """The past participle with its prefix: gelesen, angerufen, übersetzt."""
    stem = _stem(verb.infinitive)
    regular = ("" if stem.endswith("ier") else "ge") + stem + ("et" if _needs_e(stem) else "t")
    return verb.participle or verb.prefix + regular


def zu_infinitive(verb: Verb) -> list[str]:
    """The infinitive with zu: zu lesen; anzurufen."""
    return [f"{verb.prefix}zu{verb.infinitive}"] if verb.prefix else ["zu", verb.infinitive]
