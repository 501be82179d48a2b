"""German morphology: how articles, adjectives, nouns, pronouns and verbs inflect."""

from typing import Literal

from transformer_mt.corpus.builtin.lexicon import CASES, CLOSED, Adjective, Case, Noun, Verb

# The columns of a declension: three genders in the singular, one plural.
Column = Literal["m", "n", "f", "plural"]
_COLUMNS: tuple[Column, ...] = ("m", "n", "f", "plural")

Table = dict[tuple[Case, Column], str]


def _table(rows: str) -> Table:
    """A paradigm written as in a grammar book: one row a case, one column a gender; `-` is the empty ending."""
    lines = [line.split() for line in rows.strip().splitlines()]
    return {
        (case, column): "" if ending == "-" else ending
        for case, line in zip(CASES, lines, strict=True)
        for column, ending in zip(_COLUMNS, line, strict=True)
    }


DEFINITE_ARTICLE = _table("""
    der  das  die  die
    den  das  die  die
    dem  dem  der  den
    des  des  der  der
""")
# dieser, jeder, welcher, alle
STRONG_DETERMINER = _table("""
    er   es   e    e
    en   es   e    e
    em   em   er   en
    es   es   er   er
""")
# ein, kein, mein
EIN_DETERMINER = _table("""
    -    -    e    e
    en   -    e    e
    em   em   er   en
    es   es   er   er
""")
RELATIVE_PRONOUN = _table("""
    der    das    die    die
    den    das    die    die
    dem    dem    der    denen
    dessen dessen deren  deren
""")
ADJECTIVE_AFTER_DER = _table("""
    e    e    e    en
    en   e    e    en
    en   en   en   en
    en   en   en   en
""")
ADJECTIVE_AFTER_EIN = _table("""
    er   es   e    en
    en   es   e    en
    en   en   en   en
    en   en   en   en
""")
ADJECTIVE_ALONE = _table("""
    er   es   e    e
    en   es   e    e
    em   em   er   en
    en   en   er   er
""")

PRONOUNS = CLOSED["pronouns"]
DETERMINERS = CLOSED["determiners"]
NUMERALS: dict[str, str] = CLOSED["numerals"]

# Person and number of the finite verb: ich, du, er, wir, ihr, sie.
Person = Literal["1s", "2s", "3s", "1p", "2p", "3p"]
PERSONS: tuple[Person, ...] = ("1s", "2s", "3s", "1p", "2p", "3p")
_IRREGULAR = {
    (infinitive, tense): dict(zip(PERSONS, forms.split(), strict=True))
    for infinitive, row in CLOSED["verbs"].items()
    for tense, forms in row.items()
    if tense != "imperative"
}


def column(noun: Noun, *, plural: bool) -> Column:
    """The column of the declension tables in which a noun stands."""
    return "plural" if plural else noun.gender


def determiner(key: str, case: Case, where: Column) -> str:
    """The inflected determiner; the empty string for the bare noun and for the plural of `ein`."""
    row = DETERMINERS.get(key)
    if row is None:
        return key  # a numeral
    stem, declension = row.get("stem", ""), row["declension"]
    if declension == "der":
        return DEFINITE_ARTICLE[case, where]
    if declension == "none":
        return str(stem)
    if declension == "strong":
        return stem + STRONG_DETERMINER[case, where]
    if declension == "plain" or (key == "ein" and where == "plural"):
        return ""
    ending = EIN_DETERMINER[case, where]
    return ("eur" if stem == "euer" and ending else stem) + ending


def adjective(entry: Adjective, after: str, case: Case, where: Column, *, comparative: bool = False) -> str:
    """The adjective before a noun, inflected as the determiner `after` demands; some never are."""
    stem = _comparative(entry) if comparative else entry.attributive or entry.german
    if entry.indeclinable:
        return stem
    row = DETERMINERS.get(after, {"declension": "plain"})
    declension = "plain" if (after == "ein" and where == "plural") or row.get("adjectives") else row["declension"]
    endings = {"plain": ADJECTIVE_ALONE, "ein": ADJECTIVE_AFTER_EIN}.get(declension, ADJECTIVE_AFTER_DER)
    return stem + endings[case, where].removeprefix("e" if stem.endswith("e") else "")


def _comparative(entry: Adjective) -> str:
    return entry.comparative or (entry.attributive or entry.german).removesuffix("e") + "er"


def comparative(entry: Adjective) -> str:
    """The comparative as predicate: größer."""
    return _comparative(entry)


def noun(entry: Noun, case: Case, *, plural: bool) -> str:
    """The noun in its case: -n in the dative plural, -s in the genitive, -n of the weak nouns."""
    if plural and entry.measure and not entry.plural_only:
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
    form: str = PRONOUNS[key]["german"].split()[CASES.index(case)]
    return form


def reflexive(key: str, case: Case) -> str:
    """The reflexive pronoun of a subject: mich, mir, sich."""
    form: str = PRONOUNS[key]["reflexive"].split()[case == "dative"]
    return form


def _stem(infinitive: str) -> str:
    return infinitive.removesuffix("en") if infinitive.endswith("en") else infinitive.removesuffix("n")


def _needs_e(stem: str) -> bool:
    """True where -st and -t cannot be said: arbeitest, öffnet, atmet."""
    return stem.endswith(("t", "d", "ffn", "gn", "chn", "tm", "ckn"))


def _present(verb: str, person: Person, vowel: str, du_er: str) -> str:
    if (verb, "present") in _IRREGULAR:
        return _IRREGULAR[verb, "present"][person]
    if person in ("1p", "3p"):
        return verb
    if du_er and person in ("2s", "3s"):
        return du_er.split()[person == "3s"]
    stem = _stem(verb)
    if person == "1s":
        return (stem.removesuffix("el") + "l" if stem.endswith("el") else stem) + "e"
    changed = vowel if vowel and person != "2p" else stem
    link = "e" if _needs_e(stem) and changed == stem else ""
    if person == "2s":
        return changed + (link + "st" if not changed.endswith(("s", "ß", "z", "x")) else "t")
    return changed + link + ("" if changed.endswith("t") and not link else "t")


def finite(verb: Verb | str, tense: str, person: Person) -> str:
    """The present or preterite, without the separable prefix; an auxiliary is named by its infinitive."""
    if isinstance(verb, str):
        return _IRREGULAR[verb, tense][person]
    if tense == "present":
        return _present(verb.infinitive, person, verb.vowel, verb.du_er)
    return _IRREGULAR[verb.infinitive, tense][person]


def has_preterite(verb: Verb) -> bool:
    """True for the verbs whose past is said by the preterite: war, hatte, es gab, wusste, the modals."""
    return verb.key in ("sein", "haben", "geben (es)") or verb.infinitive in ("sein", "haben", "möchten", "wissen")


def imperative(verb: Verb, person: Person) -> str:
    """The imperative to du ("2s"), to ihr ("2p") or to Sie ("3p", without the pronoun)."""
    if verb.infinitive == "sein":
        return str(CLOSED["verbs"]["sein"]["imperative"].split()[("2s", "2p", "3p").index(person)])
    if person != "2s":
        return finite(verb, "present", person)
    if verb.vowel and not any(umlaut in verb.vowel for umlaut in "äö"):
        return verb.vowel
    stem = _stem(verb.infinitive)
    if stem.endswith("el"):
        return stem[:-2] + "le"
    return stem + ("e" if _needs_e(stem) or stem.endswith(("er", "ig", "lg", "is", "tz")) else "")


def participle(verb: Verb) -> str:
    """The past participle with its prefix: gelesen, angerufen, übersetzt."""
    if verb.participle:
        return verb.participle
    stem = _stem(verb.infinitive)
    before = "" if stem.endswith("ier") else "ge"
    return f"{verb.prefix}{before}{stem}{'et' if _needs_e(stem) else 't'}"


def infinitive(verb: Verb) -> str:
    """The infinitive with its prefix: anrufen."""
    return verb.prefix + verb.infinitive


def zu_infinitive(verb: Verb) -> list[str]:
    """The infinitive with zu: zu lesen; anzurufen."""
    return [f"{verb.prefix}zu{verb.infinitive}"] if verb.prefix else ["zu", verb.infinitive]
