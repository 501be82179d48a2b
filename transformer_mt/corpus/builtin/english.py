"""English morphology: plurals, verb forms, comparatives, a and an."""

from transformer_mt.corpus.builtin.german import PERSONS, Person
from transformer_mt.corpus.builtin.lexicon import Adjective, Noun

_VOWELS = "aeiou"
# Verbs whose last syllable is stressed, or the only one, double their consonant: run, running.
_DOUBLING = frozenset(
    [
        "run",
        "swim",
        "put",
        "get",
        "forget",
        "begin",
        "travel",
        "sit",
        "set",
        "cut",
        "hug",
        "jog",
        "stop",
        "plan",
        "chat",
        "shop",
        "hit",
        "win",
        "dig",
        "rob",
        "step",
        "clap",
        "drop",
        "grab",
        "skip",
        "slip",
        "wrap",
        "cancel",
        "drag",
        "pet",
        "hop",
        "let",
        "fit",
    ]
)
_IRREGULAR_PRESENT = {"be": "is", "have": "has", "go": "goes", "do": "does"}
BE_PRESENT = dict(zip(PERSONS, ["am", "are", "is", "are", "are", "are"], strict=True))
BE_PAST = dict(zip(PERSONS, ["was", "were", "was", "were", "were", "were"], strict=True))
# Of the auxiliaries and of verbs that a verb group names.
_PAST = {"do": "did", "have": "had", "be": "was"}


def article(following: str) -> str:
    """The indefinite article before the word `following`."""
    silent_h = following.startswith(("hour", "honest"))
    consonant = following.startswith(("uni", "use", "eu", "one"))
    return "an" if silent_h or (following[0].lower() in _VOWELS and not consonant) else "a"


def noun(entry: Noun, *, plural: bool) -> str:
    """The noun, singular or plural."""
    if entry.in_english in ("plural", "pair") or (entry.plural_only and plural):
        return entry.english_plural or (entry.english if entry.in_english else with_s(entry.english))
    return entry.english_plural or with_s(entry.english) if plural else entry.english


def with_s(word: str) -> str:
    """The regular plural, or third person."""
    if word.endswith(("s", "x", "z", "sh", "ch")):
        return word + "es"
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def possessive(owner: str) -> str:
    """Anna's, the boss's, the children's."""
    return owner + "'s"


def finite(base: str, past: str, tense: str, person: Person) -> str:
    """The simple present or simple past of a verb; `past` holds its irregular forms."""
    if base == "be":
        return (BE_PAST if tense == "past" else BE_PRESENT)[person]
    if tense == "past":
        return past.split()[0] if past else _PAST.get(base) or with_ed(base)
    return base if person != "3s" else _IRREGULAR_PRESENT.get(base) or with_s(base)


def participle(base: str, past: str) -> str:
    """The past participle."""
    return past.split()[-1] if past else with_ed(base)


def with_ed(base: str) -> str:
    """The regular past."""
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return base + (base[-1] if base in _DOUBLING else "") + "ed"


def progressive(base: str) -> str:
    """The -ing form."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "be")):
        return base[:-1] + "ing"
    return base + (base[-1] if base in _DOUBLING else "") + "ing"


def comparative(entry: Adjective) -> str:
    """The comparative: bigger, happier, more interesting."""
    word = entry.english
    if entry.better:
        return f"more {word}" if entry.better == "more" else entry.better
    if word.endswith("y"):
        return word[:-1] + "ier"
    if word.endswith("e"):
        return word + "r"
    doubled = len(word) > 2 and word[-1] in "gtdn" and word[-2] in _VOWELS and word[-3] not in _VOWELS
    return word + (word[-1] if doubled else "") + "er"
