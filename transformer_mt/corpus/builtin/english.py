"""English morphology: plurals, verb forms, comparatives, a and an, pronouns and determiners."""

from transformer_mt.corpus.builtin.german import PERSONS, Person
from transformer_mt.corpus.builtin.lexicon import Adjective, EnglishVerb, Noun

_VOWELS = "aeiou"
# Verbs of one syllable (or with the stress on the last) double their consonant: run, running.
_DOUBLING = frozenset(["run", "swim", "put", "get", "forget", "begin", "travel"])

# subject and object forms
PRONOUNS = {
    "ich": ("I", "me"),
    "du": ("you", "you"),
    "er": ("he", "him"),
    "sie": ("she", "her"),
    "es": ("it", "it"),
    "wir": ("we", "us"),
    "ihr": ("you", "you"),
    "sie, plural": ("they", "them"),
    "Sie": ("you", "you"),
    "man": ("you", "you"),
    "wer": ("who", "who"),
    "was": ("what", "what"),
    "das": ("that", "that"),
}
INDEFINITE_PRONOUNS = {"jemand": "someone", "niemand": "nobody", "nichts": "nothing", "alles": "everything"}
DETERMINERS = {
    "der": ("the", "the"),
    "dieser": ("this", "these"),
    "jeder": ("every", "every"),
    "welcher": ("which", "which"),
    "alle": ("all", "all"),
    "viele": ("many", "many"),
    "wie viele": ("how many", "how many"),
    "kein": ("no", "no"),
    "mein": ("my", "my"),
    "dein": ("your", "your"),
    "sein": ("his", "his"),
    "ihr": ("her", "her"),
    "Ihr": ("your", "your"),
    "unser": ("our", "our"),
    "euer": ("your", "your"),
}
NUMERALS = dict(
    zip(
        ["zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"],
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
        strict=True,
    )
)
BE_PRESENT = dict(zip(PERSONS, ["am", "are", "is", "are", "are", "are"], strict=True))
BE_PAST = dict(zip(PERSONS, ["was", "were", "was", "were", "were", "were"], strict=True))


def article(following: str) -> str:
    """The indefinite article before the word `following`."""
    starts_with_a_vowel_sound = following[0].lower() in _VOWELS and not following.startswith(("uni", "use", "eu"))
    return "an" if starts_with_a_vowel_sound else "a"


def noun(entry: Noun, *, plural: bool) -> str:
    """The noun, singular or plural."""
    if not plural:
        return entry.english
    return entry.english_plural or _with_s(entry.english)


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "sh", "ch")) or word in ("go", "do"):
        return word + "es"
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def present(verb: EnglishVerb, person: Person) -> str:
    """The simple present."""
    if verb.base == "be":
        return BE_PRESENT[person]
    if person != "3s":
        return verb.base
    return "has" if verb.base == "have" else _with_s(verb.base)


def past(verb: EnglishVerb, person: Person) -> str:
    """The simple past."""
    return BE_PAST[person] if verb.base == "be" else verb.past or _with_ed(verb.base)


def participle(verb: EnglishVerb) -> str:
    """The past participle."""
    return verb.participle or _with_ed(verb.base)


def _with_ed(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return base + (base[-1] if base in _DOUBLING else "") + "ed"


def progressive(verb: EnglishVerb) -> str:
    """The -ing form."""
    base = verb.base
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith("ee"):
        return base[:-1] + "ing"
    return base + (base[-1] if base in _DOUBLING else "") + "ing"


def comparative(entry: Adjective) -> str:
    """The comparative: bigger, happier, more interesting."""
    word = entry.english
    if entry.english_comparative:
        return f"more {word}" if entry.english_comparative == "more" else entry.english_comparative
    if word.endswith("y"):
        return word[:-1] + "ier"
    if word.endswith("e"):
        return word + "r"
    doubled = len(word) > 2 and word[-1] in "gtdn" and word[-2] in _VOWELS and word[-3] not in _VOWELS
    return word + (word[-1] if doubled else "") + "er"
