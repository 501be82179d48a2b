"""What is done to every corpus before training: white space is normalised, useless pairs are left out and counted."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# Control characters and byte-order marks are never content; Python's \s has the other blanks.
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff]+")


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


def filter_pairs(pairs: Iterable[tuple[str, str]], *, max_words: int) -> tuple[Sequence[int], SplitReport]:
    """The positions of the pairs to keep, in order: those with 1 to `max_words` words on either side."""
    kept = array("q")
    counts: Counter[str] = Counter()
    for position, (source, target) in enumerate(pairs):
        lengths = len(normalize(source).split()), len(normalize(target).split())
        verdict = "empty" if 0 in lengths else "too_long" if max(lengths) > max_words else "kept"
        counts[verdict] += 1
        if verdict == "kept":
            kept.append(position)
    return kept, SplitReport(kept=counts["kept"], empty=counts["empty"], too_long=counts["too_long"])
