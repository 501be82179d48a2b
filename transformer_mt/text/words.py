"""Words and punctuation marks of a normalised text, with offsets.

`don't` and `well-known` are one word, and so is `,`. Chinese, Japanese Hiragana, Thai, Lao, Khmer and Burmese put no
spaces between words; there, each user-perceived character (UAX #29) is a word.
"""

import unicodedata
from functools import cache

import regex

# Letters and marks of scripts without spaces. Digits stay together, as do runs of Katakana and Hangul.
_UNSPACED = r"[[\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]--[\p{Nd}\p{P}\p{S}\p{Zs}]]"
_SPACED = rf"[\w--{_UNSPACED}]"
# A cluster (UAX #29) plus the marks and vowels that follow in their own clusters.
_CLUSTER = rf"(?={_UNSPACED})\X[\p{{M}}\u0e33\u0eb3]*"
# Flags are spelled out: `\X` counts the letters of all preceding flags, in O(n²).
_SIGN = r"\p{RI}{1,2}[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]*|(?![\s\u200b])\X"
_WORD = regex.compile(rf"{_SPACED}+(?:['’\-]{_SPACED}+)*|{_CLUSTER}|…|\.\.\.|{_SIGN}", flags=regex.VERSION1)
_UNSPACED_WORD = regex.compile(_UNSPACED, flags=regex.VERSION1)

# What spaces, brackets and dashes leave together, and the groups of a number: 10 000.
_CHUNK = regex.compile(
    rf"(?:(?<=(?<!\d)\d{{1,3}}) (?=\d{{3}}(?!\d))"
    rf"|(?!{_UNSPACED})[^\s()\[\]{{}}<>\"„“”«»‹›…–—;!|])+",
    flags=regex.VERSION1,
)
# In these, marks belong to the words they touch: addresses, abbreviations, numbers with units, names like C++ and #de.
_UNIT = regex.compile(
    r"://|@|\\|^~?/\w|\w[.:&=]\w|\d[ ,/×]\d|\b\w/\w|\w/\w\b|\w[+#]+(?!\w)|\d[%°\p{Sc}]|^[#.§\p{Sc}]\w|^[+−-]\d",
    flags=regex.VERSION1,
)
# Marks around a chunk that are not part of it.
_BEFORE, _AFTER = "'’‚‘`*", "'’‘`*.,:?"

Span = tuple[int, int]


def words(text: str) -> list[str]:
    """The words and punctuation marks of a normalised text, in order, with only spaces between them."""
    return _WORD.findall(text)


def word_spans(text: str) -> list[Span]:
    """The start and end offset of each of `words(text)`."""
    return [match.span() for match in _WORD.finditer(text)]


def inner_places(text: str) -> set[int]:
    """The offsets inside units that consist of words and marks: `1.5`, `3:45`, `www.example.de`, `C++`."""
    found: set[int] = set()
    for match in _CHUNK.finditer(text):
        unit = match[0].lstrip(_BEFORE).rstrip(_AFTER)
        if _UNIT.search(unit):
            start = text.index(unit, match.start())
            found.update(range(start + 1, start + len(unit)))
    return found


def is_word(word: str) -> bool:
    """False for a punctuation mark."""
    return any(map(str.isalnum, word))


def is_unspaced(word: str) -> bool:
    """True for a word of a script without spaces between words."""
    return _UNSPACED_WORD.match(word) is not None


# In characters; no language's words are longer on average. Some of the work per sentence takes quadratic time, so this
# limits texts without spaces too.
LONGEST_WORD = 100


def count_words(text: str) -> int:
    """The number of words in a normalised text, without marks; at least one per `LONGEST_WORD` characters."""
    return max(sum(map(is_word, words(text))), -(-len(text) // LONGEST_WORD))


@cache
def script_of(letter: str) -> str:
    """The script of a letter: the first word of its Unicode name (`LATIN SMALL LETTER A`); empty for a non-letter."""
    if not letter.isalpha():
        return ""
    name = unicodedata.name(letter, "?").replace("-", " ").split()[0].capitalize()
    is_east_asian = name in ("Cjk", "Hiragana", "Katakana", "Bopomofo")  # Japanese mixes three
    return "Chinese or Japanese" if is_east_asian else name
