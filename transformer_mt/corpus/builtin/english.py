"""English morphology: plurals, verb forms, comparatives, a and an."""

from transformer_mt.corpus.builtin.german import PERSONS, Person
from transformer_mt.corpus.builtin.lexicon import CLOSED, Adjective, Noun

_VOWELS = "aeiou"
_SPELLING = CLOSED["spelling"]
_DOUBLING = frozenset(_SPELLING["doubling"].split())
_IRREGULAR: dict[str, dict[str, str]] = CLOSED["english_verbs"]


def article(following: str) -> str:
    """The indefinite article before the word `following`."""
    vowel = following[0].lower() in _VOWELS and not following.startswith(tuple(_SPELLING["a"]))
    return "an" if vowel or following.startswith(tuple(_SPELLING["an"])) else "a"


def noun(entry: Noun, *, plural: bool) -> str:
    """The noun, singular or plural."""
    if entry.in_english in ("plural", "pair", "mass"):
        return entry.english_plural or entry.english
    return entry.english_plural or with_s(entry.english) if plural else entry.english


def with_s(word: str) -> str:
    """The regular plural, or third person."""
    if word.endswith(("s", "x", "z", "sh", "ch")):
        return word + "es"
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def verb_form(base: str, past: str, form: str, person: Person) -> str:
    """A form of a verb: base, ing, participle, present, past or unreal; `past` holds its irregular forms."""
    irregular = _IRREGULAR.get(base, {}).get(form, "")
    match form:
        case "participle":
            return past.split()[-1] if past else with_ed(base)
        case "ing":
            return progressive(base)
        case "present" | "past" | "unreal" if base == "be":
            return irregular.split()[PERSONS.index(person)]
        case "present" if person == "3s":
            return irregular or with_s(base)
        case "past" | "unreal":
            return irregular or (past.split()[0] if past else with_ed(base))
    return base


def with_ed(base: str) -> str:
    """The regular past."""
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return _doubled(base) + "ed"


def progressive(base: str) -> str:
    """The -ing form."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "be")):
        return base[:-1] + "ing"
    return _doubled(base) + "ing"


def _doubled(base: str) -> str:
    return base + base[-1] if base in _DOUBLING else base


def comparative(entry: Adjective) -> str:
    """The comparative: bigger, happier, more interesting."""
    word = entry.english
    if entry.better:
        return f"more {word}" if entry.better == "more" else entry.better
    if word.endswith("y"):
        return word[:-1] + "ier"
    doubled = word[-1] in "gtdn" and word[-2] in _VOWELS and word[-3] not in _VOWELS
    return word + (word[-1] if doubled else "") + ("r" if word.endswith("e") else "er")
