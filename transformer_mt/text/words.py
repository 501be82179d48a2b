"""The words and punctuation marks of a normalised text, with their offsets.

`don't` and `well-known` are one word, `,` is one too. Chinese, Japanese Hiragana, Thai, Lao, Khmer and Burmese put no
spaces between words; there each user-perceived character (UAX #29) is a word of its own.
"""

import unicodedata
from functools import cache

import regex

# Letters and marks of the scripts without spaces. Digits stay together, and so do runs of Katakana and Hangul.
_UNSPACED = r"[[\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]--[\p{Nd}\p{P}\p{S}\p{Zs}]]"
_SPACED = rf"[\w--{_UNSPACED}]"
# A cluster (UAX #29), with the marks and vowels that follow in clusters of their own.
_CLUSTER = rf"(?={_UNSPACED})\X[\p{{M}}\u0e33\u0eb3]*"
# Flags are written out: `\X` counts the letters of all flags before them, which takes n² steps.
_SIGN = r"\p{RI}{1,2}[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]*|(?![\s\u200b])\X"
_WORD = regex.compile(rf"{_SPACED}+(?:['’\-]{_SPACED}+)*|{_CLUSTER}|…|\.\.\.|{_SIGN}", flags=regex.VERSION1)
_UNSPACED_WORD = regex.compile(_UNSPACED, flags=regex.VERSION1)

Span = tuple[int, int]


def words(text: str) -> list[str]:
    """The words and punctuation marks of a normalised text, in order; only spaces stand between them."""
    return _WORD.findall(text)


def word_spans(text: str) -> list[Span]:
    """The beginning and the end of each of `words(text)`."""
    return [match.span() for match in _WORD.finditer(text)]


def is_word(word: str) -> bool:
    """False for a punctuation mark."""
    return any(map(str.isalnum, word))


def is_unspaced(word: str) -> bool:
    """True for a word of a script that puts no spaces between words."""
    return _UNSPACED_WORD.match(word) is not None


def count_words(text: str) -> int:
    """The number of words of a normalised text, punctuation marks not counted."""
    return sum(map(is_word, words(text)))


@cache
def script_of(letter: str) -> str:
    """The script of a letter by the first word of its name, as in `LATIN SMALL LETTER A`; empty for no letter."""
    if not letter.isalpha():
        return ""
    name = unicodedata.name(letter, "?").replace("-", " ").split()[0].capitalize()
    is_east_asian = name in ("Cjk", "Hiragana", "Katakana", "Bopomofo")  # Japanese has three at once
    return "Chinese or Japanese" if is_east_asian else name
