"""German morphology: how articles, adjectives, nouns, pronouns and verbs inflect."""

from typing import Literal

from transformer_mt.corpus.builtin.lexicon import Adjective, Case, Noun, Verb

# The columns of a declension: three genders in the singular, one plural.
Column = Literal["m", "n", "f", "plural"]

_CASES: tuple[Case, ...] = ("nominative", "accusative", "dative", "genitive")
_COLUMNS: tuple[Column, ...] = ("m", "n", "f", "plural")

Table = dict[tuple[Case, Column], str]


def _table(rows: str) -> Table:
    """A paradigm written as in a grammar book: one row a case, one column a gender; `-` is the empty ending."""
    lines = [line.split() for line in rows.strip().splitlines()]
    return {
        (case, column): "" if ending == "-" else ending
        for case, line in zip(_CASES, lines, strict=True)
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

DER_WORDS = {"dieser": "dies", "jeder": "jed", "welcher": "welch", "alle": "all"}
EIN_WORDS = {
    "ein": "ein",
    "kein": "kein",
    "mein": "mein",
    "dein": "dein",
    "sein": "sein",
    "ihr": "ihr",
    "Ihr": "Ihr",
    "unser": "unser",
    "euer": "euer",
}
NUMERALS = ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn")

# nominative, accusative, dative
PRONOUNS: dict[str, tuple[str, str, str]] = {
    "ich": ("ich", "mich", "mir"),
    "du": ("du", "dich", "dir"),
    "er": ("er", "ihn", "ihm"),
    "sie": ("sie", "sie", "ihr"),
    "es": ("es", "es", "ihm"),
    "wir": ("wir", "uns", "uns"),
    "ihr": ("ihr", "euch", "euch"),
    "sie, plural": ("sie", "sie", "ihnen"),
    "Sie": ("Sie", "Sie", "Ihnen"),
    "man": ("man", "einen", "einem"),
    "wer": ("wer", "wen", "wem"),
    "was": ("was", "was", "was"),
    "das": ("das", "das", "dem"),
}

_PERSON_ENDINGS: dict[Case, str] = {"accusative": "en", "dative": "em"}
INDEFINITE_ENDINGS = {"jemand": _PERSON_ENDINGS, "niemand": _PERSON_ENDINGS}

CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
    ("bei", "dem"): "beim",
}

# Person and number of the finite verb: ich, du, er, wir, ihr, sie.
Person = Literal["1s", "2s", "3s", "1p", "2p", "3p"]
PERSONS: tuple[Person, ...] = ("1s", "2s", "3s", "1p", "2p", "3p")


def _paradigm(forms: str) -> dict[Person, str]:
    return dict(zip(PERSONS, forms.split(), strict=True))


IRREGULAR_PRESENT = {
    "sein": _paradigm("bin bist ist sind seid sind"),
    "haben": _paradigm("habe hast hat haben habt haben"),
    "werden": _paradigm("werde wirst wird werden werdet werden"),
    "wissen": _paradigm("weiß weißt weiß wissen wisst wissen"),
    "mögen": _paradigm("mag magst mag mögen mögt mögen"),
    "können": _paradigm("kann kannst kann können könnt können"),
    "müssen": _paradigm("muss musst muss müssen müsst müssen"),
    "wollen": _paradigm("will willst will wollen wollt wollen"),
    "dürfen": _paradigm("darf darfst darf dürfen dürft dürfen"),
    "sollen": _paradigm("soll sollst soll sollen sollt sollen"),
    "möchten": _paradigm("möchte möchtest möchte möchten möchtet möchten"),
}
PRETERITE = {
    "sein": _paradigm("war warst war waren wart waren"),
    "haben": _paradigm("hatte hattest hatte hatten hattet hatten"),
    "geben": _paradigm("gab gabst gab gaben gabt gaben"),
    "können": _paradigm("konnte konntest konnte konnten konntet konnten"),
    "müssen": _paradigm("musste musstest musste mussten musstet mussten"),
    "wollen": _paradigm("wollte wolltest wollte wollten wolltet wollten"),
    "dürfen": _paradigm("durfte durftest durfte durften durftet durften"),
    "sollen": _paradigm("sollte solltest sollte sollten solltet sollten"),
}


def column(noun: Noun, *, plural: bool) -> Column:
    """The column of the declension tables in which a noun stands."""
    return "plural" if plural else noun.gender


def determiner(key: str, case: Case, where: Column) -> str:
    """The inflected determiner; the empty string for the bare noun and for the plural of `ein`."""
    if key == "der":
        return DEFINITE_ARTICLE[case, where]
    if key in DER_WORDS:
        return DER_WORDS[key] + STRONG_DETERMINER[case, where]
    if key in EIN_WORDS:
        if key == "ein" and where == "plural":
            return ""
        ending = EIN_DETERMINER[case, where]
        return ("eur" if key == "euer" and ending else EIN_WORDS[key]) + ending
    if key in ("viele", "wie viele"):
        return key[:-1] + STRONG_DETERMINER[case, where]
    return key


def adjective(entry: Adjective, after: str, case: Case, where: Column, *, comparative: bool = False) -> str:
    """The adjective before a noun, inflected as the determiner `after` demands."""
    if after == "der" or after in DER_WORDS:
        endings = ADJECTIVE_AFTER_DER
    elif after in EIN_WORDS and not (after == "ein" and where == "plural"):
        endings = ADJECTIVE_AFTER_EIN
    else:
        endings = ADJECTIVE_ALONE
    return (entry.comparative if comparative else entry.attributive) + endings[case, where]


def noun(entry: Noun, case: Case, *, plural: bool) -> str:
    """The noun in its case: -n in the dative plural, -s in the genitive, -n of the weak nouns."""
    if plural:
        assert entry.plural is not None
        return entry.plural if case != "dative" or entry.plural.endswith(("n", "s")) else entry.plural + "n"
    if entry.weak and case != "nominative":
        assert entry.plural is not None
        return entry.plural
    return entry.genitive if case == "genitive" else entry.key


def pronoun(key: str, case: Case) -> str:
    """A personal pronoun or wer/was."""
    return PRONOUNS[key][_CASES.index(case)]


def _stem(infinitive: str) -> str:
    return infinitive.removesuffix("en") if infinitive.endswith("en") else infinitive.removesuffix("n")


def _needs_e(stem: str) -> bool:
    """True where -st and -t cannot be said: arbeitest, öffnet."""
    return stem.endswith(("t", "d", "ffn", "gn"))


def present(infinitive: str, person: Person, *, vowel: str | None = None, du_er: tuple[str, str] | None = None) -> str:
    """The present tense; `vowel` is the stem of du and er where it differs, `du_er` both forms."""
    if infinitive in IRREGULAR_PRESENT:
        return IRREGULAR_PRESENT[infinitive][person]
    if person in ("1p", "3p"):
        return infinitive
    if du_er and person in ("2s", "3s"):
        return du_er[person == "3s"]
    stem = _stem(infinitive)
    if person == "1s":
        return stem + "e"
    changed = vowel if vowel and person != "2p" else stem
    link = "e" if _needs_e(stem) and changed == stem else ""
    if person == "2s":
        return changed + (link + "st" if not changed.endswith(("s", "ß", "z", "x")) else "t")
    return changed + link + ("" if changed.endswith("t") and not link else "t")


def present_of(verb: Verb, person: Person) -> str:
    """The present tense of a verb of the lexicon, without its separable prefix."""
    return present(verb.infinitive, person, vowel=verb.vowel, du_er=verb.du_er)


def imperative(verb: Verb, person: Person) -> str:
    """The imperative to du ("2s"), to ihr ("2p") or to Sie ("3p", without the pronoun)."""
    if person != "2s":
        return present_of(verb, person)
    if verb.vowel and not any(umlaut in verb.vowel for umlaut in "äö"):
        return verb.vowel
    stem = _stem(verb.infinitive)
    return stem + ("e" if _needs_e(stem) or stem.endswith(("er", "ig", "lg", "is", "tz")) else "")


def infinitive(verb: Verb) -> str:
    """The infinitive with its prefix: anrufen."""
    return verb.prefix + verb.infinitive


def zu_infinitive(verb: Verb) -> str:
    """The infinitive with zu: zu lesen, anzurufen."""
    return f"{verb.prefix}zu{verb.infinitive}" if verb.prefix else f"zu {verb.infinitive}"
