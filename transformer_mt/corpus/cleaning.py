"""What is done to every corpus before training: white space is normalised, useless pairs are left out and counted."""

import math
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# Control characters and byte-order marks are never content; Python's \s has the other blanks.
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff]+")

# No language's words have more on average; without blanks, as in Chinese, it is the limit of a sentence. Some of what
# is done to a sentence takes time that grows with the square of its length.
LONGEST_WORD = 100
# Unicode's Stream-Safe Text Format (UAX #15, §13): after so many marks in a row comes a joiner that shows nothing.
_MARKS, _JOINER = 30, "\u034f"
_SHORT = 1_000  # characters; whatever marks they are, composing them is quick


@dataclass(frozen=True, slots=True)
class SplitReport:
    """How many pairs of a split were kept, and why the others were left out."""

    kept: int
    empty: int
    too_long: int

    @property
    def read(self) -> int:
        """All pairs that the split had."""
        return self.kept + self.empty + self.too_long


@dataclass(frozen=True, slots=True)
class CleaningReport:
    """What cleaning did to each split, and the `max_words` over which a pair was too long."""

    splits: Mapping[str, SplitReport]
    max_words: int

    @property
    def removed(self) -> int:
        """The pairs that were left out, over all splits."""
        return sum(split.empty + split.too_long for split in self.splits.values())


def normalize(text: str) -> str:
    """The text without blanks at its ends and with one space for each run of blanks or control characters."""
    return _BLANK.sub(" ", text).strip(" ")


def compose(text: str) -> str:
    """The text in NFC; a long one stream-safe before that, else a run of n combining marks would take n² steps."""
    if len(text) <= _SHORT:
        return unicodedata.normalize("NFC", text)
    safe, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MARKS:
            safe.append(_JOINER)
            marks = 1
        safe.append(character)
    return unicodedata.normalize("NFC", "".join(safe))


def filter_pairs(pairs: Iterable[tuple[str, str]], *, max_words: int) -> tuple[Sequence[int], SplitReport]:
    """The positions of the pairs to keep, in order: those with 1 to `max_words` words on either side.

    A side of n times `LONGEST_WORD` characters has at least n words.
    """
    kept = array("q")
    counts: Counter[str] = Counter()
    for position, (source, target) in enumerate(pairs):
        verdict = _verdict(_words(source), _words(target), max_words)
        counts[verdict] += 1
        if verdict == "kept":
            kept.append(position)
    return kept, SplitReport(kept=counts["kept"], empty=counts["empty"], too_long=counts["too_long"])


def _words(text: str) -> int:
    text = normalize(text)
    return max(len(text.split()), math.ceil(len(text) / LONGEST_WORD))


def _verdict(source_words: int, target_words: int, max_words: int) -> str:
    if not source_words or not target_words:
        return "empty"
    return "too_long" if max(source_words, target_words) > max_words else "kept"
