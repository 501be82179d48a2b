"""The sentences of a line of text, in German, English and languages that write alike."""

import re
from collections.abc import Iterable

# After these a full stop ends a word and no sentence, as it does after a single letter (z. B., J. S. Bach) and after a
# number of at most two digits (3. Mai). Not listed is what ends sentences more often than not.
_WORDS = (
    "abs apr approx aug bd betr bspw bsp bzw ca dec dez dipl dr evtl feb fig fr frl gest ggf hr hrsg inkl jh jr jul "
    "jun lt mio mr mrd mrs ms mt nov nr oct okt pp prof rev sept sr st str tel vgl vs zzgl"
)
_ABBREVIATIONS = frozenset(_WORDS.split())
_BEFORE_NUMBERS = frozenset(["no"])  # Room no. 5; before a word it ends a sentence
_CLOSING, _OPENING = "\"'”“’»«›‹)\\]", "\"'„“‚‘»«›‹(\\["
# The marks at the end of a sentence, blanks, and the beginning of the next one.
_BOUNDARY = re.compile(rf"(?<![.!?…])([.!?…]+)([{_CLOSING}]*)\s+(?=[{_OPENING}¿¡]*(\w))")
_LAST_WORD, _LONGEST = re.compile(r"\w*\Z"), max(map(len, _ABBREVIATIONS)) + 1


def split_sentences(text: str, language: str = "") -> list[str]:
    """The sentences of a line, one after the other, without the blanks between them; a blank line has none.

    One ends at `.`, `!`, `?` or `…` before a capital letter or a digit; at `!` or `?` outside quotation marks also
    before a small letter, since many people type no capitals.
    """
    sentences, start = [], 0
    for match in _BOUNDARY.finditer(text):
        marks, closing, following = match.groups()
        asks = not closing and marks[-1] in "!?"
        before = text[max(start, match.start() - _LONGEST) : match.start()]
        is_end = marks != "." or not _is_no_end(before, following)
        if before.strip() and (asks or not following.islower()) and is_end:
            sentences.append(text[start : match.end(2)].strip())
            start = match.end()
    return [*sentences, rest] if (rest := text[start:].strip()) else sentences


def _is_no_end(before: str, following: str) -> bool:
    word = _LAST_WORD.findall(before)[0].casefold()
    is_short = len(word) == 1 or (len(word) == 2 and word.isdecimal())
    return is_short or word in _ABBREVIATIONS or (word in _BEFORE_NUMBERS and following.isdecimal())


def join_sentences(sentences: Iterable[str]) -> str:
    """The sentences as one line."""
    return " ".join(sentences)
