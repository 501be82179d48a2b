"""What is done to every corpus before training: white space is normalised, pairs with a problem are counted.

The problems, in the order in which they are looked for; which of them leave a pair out says the configuration:

    empty      a side without any text
    long       more than `max_words` words on a side
    ratio      more than `max_ratio` times as many words on one side as on the other
    copy       source and target are the same
    control    control characters, or line separators inside a line (they are blanks when the pair is kept)
    script     letters mostly of another script than that of most sentences of this side
    duplicate  the same pair once more
    overlap    a training pair that is in another split too
"""

import math
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from transformer_mt.config.sections import DataConfig, Problem
from transformer_mt.corpus.fingerprint import Hashes, pair_hash

Mask = npt.NDArray[np.bool_]

PROBLEMS: tuple[Problem, ...] = get_args(Problem)
# What leaves pairs out of validation and test splits too; what else they hold is for their makers to say.
ALWAYS_LOOKED_AT: frozenset[Problem] = frozenset(("empty", "long"))
# What can be told only when all pairs have been seen.
OF_THE_WHOLE: tuple[Problem, ...] = ("script", "duplicate", "overlap")
EXAMPLES, _LONGEST_EXAMPLE = 3, 200

# Control characters and byte-order marks are never content; Python's \s has the other blanks.
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
# Without another character, all letters are Latin.
_BEYOND_LATIN = re.compile(r"[^\x00-\u024f\u2000-\u206f\u20a0-\u20cf]")

# No language's words have more on average; without blanks, as in Chinese, it is the limit of a sentence. Some of what
# is done to a sentence takes time that grows with the square of its length.
LONGEST_WORD = 100
# Unicode's Stream-Safe Text Format (UAX #15, §13): after so many marks in a row comes a joiner that shows nothing.
_MARKS, _JOINER = 30, "\u034f"
_SHORT = 1_000  # characters; whatever marks they are, composing them is quick


@dataclass(frozen=True)
class Rules:
    """Which problems leave a pair out, and the limits of two of them."""

    remove: frozenset[Problem]
    max_words: int
    max_ratio: float

    @classmethod
    def of(cls, config: DataConfig) -> "Rules":
        """Those of a configuration."""
        return cls(frozenset(config.remove), config.max_words, config.max_ratio)


@dataclass(frozen=True)
class Example:
    """A pair with a problem: its number in the split, from 1, and the beginnings of its texts."""

    number: int
    source: str
    target: str


@dataclass(frozen=True)
class SplitReport:
    """How many pairs of a split were read and kept, and how many had each problem.

    A pair that is left out is counted with the problem for which it was, and with those before that; `removed` says
    which problems left pairs out. So `read` is `kept` and what was found of `removed`.
    """

    read: int
    kept: int
    found: Mapping[Problem, int]
    removed: frozenset[Problem]
    examples: Mapping[Problem, Sequence[Example]] = field(default_factory=dict)

    @property
    def left_out(self) -> dict[Problem, int]:
        """The problems for which pairs were left out, and how many."""
        return {problem: self.found[problem] for problem in PROBLEMS if problem in self.removed}


@dataclass(frozen=True)
class CleaningReport:
    """What cleaning found in each split, and the limits beyond which a pair was too long or too uneven."""

    splits: Mapping[str, SplitReport]
    rules: Rules

    @property
    def removed(self) -> int:
        """The pairs that were left out, over all splits."""
        return sum(sum(split.left_out.values()) for split in self.splits.values())

    @property
    def left_out(self) -> dict[Problem, int]:
        """The same by problem."""
        total: Counter[Problem] = Counter()
        for split in self.splits.values():
            total.update(split.left_out)
        return {problem: total[problem] for problem in PROBLEMS if total[problem]}

    def describe(self, problem: Problem) -> str:
        """A problem in words, to follow a number of pairs."""
        return {
            "empty": "with an empty side",
            "long": f"over {self.rules.max_words} words",
            "ratio": f"over {self.rules.max_ratio:g} times as long on one side",
            "copy": "with source and target the same",
            "control": "with control characters",
            "script": "in another script",
            "duplicate": "more than once",
            "overlap": "also in another split",
        }[problem]


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


class Cleaner:
    """Looks at the pairs of a split one by one, then at all of them; takes ten bytes a pair."""

    def __init__(self, rules: Rules, *, training: bool) -> None:
        self._rules, self._training = rules, training
        self._remove = rules.remove if training else rules.remove & ALWAYS_LOOKED_AT
        self.read = 0
        self._found: Counter[Problem] = Counter()
        self._examples: dict[Problem, list[Example]] = {}
        self._dropped = array("q")
        self._hashes = array("Q")
        self._scripts = (array("B"), array("B"))

    def take(self, source: str, target: str) -> tuple[str, str] | None:
        """The next pair, with blanks normalised; None where it is left out."""
        self.read += 1
        clean = normalize(source), normalize(target)
        for problem in _problems((source, target), clean, self._rules):
            self._note(problem, self.read, clean)
            if problem in self._remove:
                self._dropped.append(self.read)
                return None
        self._hashes.append(pair_hash(*clean))
        for scripts, text in zip(self._scripts, clean, strict=True):
            scripts.append(_script(text))
        return clean

    @property
    def hashes(self) -> Hashes:
        """What `pair_hash` says of every pair taken and not left out yet."""
        return np.frombuffer(self._hashes, np.uint64) if self._hashes else np.empty(0, np.uint64)

    def main_scripts(self) -> tuple[int, int]:
        """The script of most sentences, on either side."""
        source, target = (_most(scripts) for scripts in self._scripts)
        return source, target

    def finish(self, pairs: Sequence[Any], scripts: tuple[int, int], elsewhere: Hashes) -> Mask:
        """Which of the taken pairs are kept when all are seen. `pairs` are they, to show examples.

        `scripts` are those expected on either side, `elsewhere` the sorted hashes of the pairs of all other splits.
        """
        kept = np.ones(len(self._hashes), dtype=bool)
        for problem in OF_THE_WHOLE:
            if problem == "script":
                hit = self._in_other_script(scripts)
            elif problem == "duplicate":
                hit = _repeated(self.hashes, kept)
            else:
                hit = _among(self.hashes, elsewhere) if self._training else np.zeros_like(kept)
            hit &= kept
            self._found[problem] = int(hit.sum())
            for index in np.flatnonzero(hit)[:EXAMPLES].tolist():
                pair = pairs[index]
                self._note(problem, self._number(index), (pair.source, pair.target), count=0)
            if problem in self._remove:
                kept &= ~hit
        return kept

    def report(self, kept: int, *, moved: int = 0) -> SplitReport:
        """What was found, where so many pairs were kept and so many went to another split."""
        found = {problem: self._found[problem] for problem in PROBLEMS}
        return SplitReport(self.read - moved, kept, found, self._remove, self._examples)

    def _note(self, problem: Problem, number: int, texts: tuple[str, str], *, count: int = 1) -> None:
        self._found[problem] += count
        examples = self._examples.setdefault(problem, [])
        if len(examples) < EXAMPLES:
            examples.append(Example(number, *(text[:_LONGEST_EXAMPLE] for text in texts)))

    def _number(self, index: int) -> int:
        """The number in the split of the pair that is at this place among those taken."""
        dropped = np.array(self._dropped, dtype=np.int64) - np.arange(1, len(self._dropped) + 1)
        return index + 1 + int(np.searchsorted(dropped, index, side="right"))

    def _in_other_script(self, expected: tuple[int, int]) -> Mask:
        other = np.zeros(len(self._hashes), dtype=bool)
        for scripts, main in zip(self._scripts, expected, strict=True):
            if scripts:
                found = np.frombuffer(scripts, np.uint8)
                other |= (found != main) & (found != 0)
        return other


def usable(source: str, target: str, rules: Rules) -> tuple[str, str] | None:
    """A pair with blanks normalised, or None where it is left out for what it alone can tell."""
    clean = normalize(source), normalize(target)
    return None if any(problem in rules.remove for problem in _problems((source, target), clean, rules)) else clean


def _problems(raw: tuple[str, str], clean: tuple[str, str], rules: Rules) -> Iterator[Problem]:
    """What is wrong with a pair as far as it alone can tell."""
    shorter, longer = sorted(map(_words, clean))
    if not shorter:
        yield "empty"
    if longer > rules.max_words:
        yield "long"
    if shorter and longer > rules.max_ratio * shorter:
        yield "ratio"
    if clean[0] == clean[1]:
        yield "copy"
    if any(_CONTROL.search(text.rstrip("\r\n")) for text in raw):
        yield "control"


def _words(text: str) -> int:
    """The words of a normalised text; n times `LONGEST_WORD` characters are at least n words."""
    return max(text.count(" ") + 1, math.ceil(len(text) / LONGEST_WORD)) if text else 0


def _script(text: str) -> int:
    """The number of the script of most letters; 0 without letters."""
    if not _BEYOND_LATIN.search(text):
        return _number_of("LATIN") if any(map(str.isalpha, text)) else 0
    counts = Counter(map(_script_of_letter, text))
    del counts[0]
    return max(counts, key=counts.__getitem__) if counts else 0


@lru_cache(2**16)
def _script_of_letter(letter: str) -> int:
    if not letter.isalpha():
        return 0
    name = unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]
    return _number_of("CJK" if name in ("HIRAGANA", "KATAKANA", "BOPOMOFO") else name)  # Japanese has three at once


_SCRIPTS: dict[str, int] = {}


def _number_of(script: str) -> int:
    """A number for the script, from 1; those that come very late share the last one."""
    return min(_SCRIPTS.setdefault(script, len(_SCRIPTS) + 1), 255)


def _most(scripts: "array[int]") -> int:
    counts = np.bincount(np.frombuffer(scripts, np.uint8), minlength=2) if scripts else np.zeros(2)
    counts[0] = 0
    return int(counts.argmax())


def _repeated(hashes: Hashes, alive: Mask) -> Mask:
    """Those that equal one before them; only what is alive counts."""
    places = np.flatnonzero(alive)
    order = np.argsort(hashes[places], kind="stable")
    ordered = hashes[places][order]
    repeated = np.zeros(len(hashes), dtype=bool)
    repeated[places[order[1:][ordered[1:] == ordered[:-1]]]] = True
    return repeated


def _among(hashes: Hashes, ordered: Hashes) -> Mask:
    """Which of the first are among the second, which are sorted."""
    if not len(ordered):
        return np.zeros(len(hashes), dtype=bool)
    places = np.minimum(np.searchsorted(ordered, hashes), len(ordered) - 1)
    return ordered[places] == hashes
