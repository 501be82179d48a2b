"""Cleaning: normalise texts, count pairs with problems and remove them if configured.

`describe` lists the problems in the order they are checked.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import get_args

import numpy as np
import numpy.typing as npt

from transformer_mt.config.sections import DataConfig, Problem
from transformer_mt.corpus.pairs import Hashes, SentencePair, pair_hash
from transformer_mt.text.normalize import normalize
from transformer_mt.text.words import count_words, script_of

PairMask = npt.NDArray[np.bool_]

PROBLEMS: tuple[Problem, ...] = get_args(Problem)
# Removed from splits other than `train`; the rest of these is up to their makers. Validation must fit into batches, but
# a limit that changes a test set would change its scores.
_REMOVED: Mapping[str, frozenset[Problem]] = {"train": frozenset(PROBLEMS), "validation": frozenset(("empty", "long"))}
_REMOVED_ELSEWHERE: frozenset[Problem] = frozenset(("empty",))
EXAMPLES = 3
_LONGEST_EXAMPLE = 200

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
# A text without such a character is Latin.
_BEYOND_LATIN = re.compile(r"[^\x00-\u024f\u2000-\u206f\u20a0-\u20cf]")


def describe(problem: Problem, config: DataConfig) -> str:
    """Describe a problem, to follow a number of pairs."""
    return {
        "empty": "with an empty side",
        "long": f"over {config.max_words} words",  # on a side
        "ratio": f"over {config.max_ratio:g} times as long on one side",  # in words
        "copy": "with source and target the same",
        "control": "with control characters",  # or line separators inside a line; normalisation makes them blanks
        "script": "in another script",  # by most of its letters, than most sentences of this side
        "duplicate": "more than once",
        "overlap": "also in another split",  # of training pairs only; in a mixture, if only by one side
        "ambiguous": "with the source of an earlier pair",
    }[problem]


def describe_all(left_out: Mapping[Problem, int], config: DataConfig) -> str:
    """Describe how many pairs each problem removed."""
    return ", ".join(f"{count} {describe(problem, config)}" for problem, count in left_out.items())


@dataclass(frozen=True)
class Example:
    """A pair with a problem: its number in the split, from 1, and the start of its texts."""

    number: int
    source: str
    target: str


@dataclass(frozen=True)
class SplitReport:
    """Cleaning counts of a split: pairs read, pairs kept, and pairs with each problem.

    A removed pair counts toward the problem that removed it and every earlier one. `removed` lists the problems that
    remove pairs, so `read` equals `kept` plus the `found` counts of `removed`.
    """

    read: int
    kept: int
    found: Mapping[Problem, int]
    removed: tuple[Problem, ...]
    examples: Mapping[Problem, Sequence[Example]] = field(default_factory=dict)

    @property
    def left_out(self) -> dict[Problem, int]:
        """The number of pairs that each problem removed."""
        return {problem: self.found[problem] for problem in self.removed}


class Cleaner:
    """Cleans one split, by name: first pair by pair, then as a whole. Needs 48 bytes per pair.

    A training pair with a `held_out` side is an overlap.
    """

    def __init__(self, config: DataConfig, *, split: str, held_out: frozenset[str] = frozenset()) -> None:
        self._config = config
        self._held_out = held_out if split == "train" else frozenset[str]()
        self._remove = _REMOVED.get(split, _REMOVED_ELSEWHERE) & {*config.remove}
        self._read = 0
        self._counts: Counter[Problem] = Counter()
        self._examples: dict[Problem, list[Example]] = {}
        # Per pair taken: number, pair hash, source hash, script of source and of target, held out.
        self._taken = array("Q")

    def take(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Yield the normalised pairs, without the pairs that are removed for a problem of their own."""
        for self._read, pair in enumerate(pairs, start=1):
            clean = normalized_pair(pair)
            for problem in _problems(pair, clean, self._config):
                self._counts[problem] += 1
                self._show(problem, self._read, clean)
                if problem in self._remove:
                    break
            else:
                texts = clean.source, clean.target
                hashes = pair_hash(*texts), pair_hash(clean.source, "")
                is_held_out = not self._held_out.isdisjoint(texts)
                self._taken.extend((self._read, *hashes, *map(_script, texts), is_held_out))
                yield clean

    @property
    def _columns(self) -> Hashes:
        return np.array(self._taken, np.uint64).reshape(-1, 6).T

    @property
    def hashes(self) -> Hashes:
        """The `pair_hash` of each pair taken."""
        return self._columns[1]

    def main_scripts(self) -> list[int]:
        """The script of most sentences on each side, ignoring sentences without letters."""
        counts = (Counter(scripts[scripts != 0].tolist()) for scripts in self._columns[3:5])
        return [max(count, key=count.__getitem__, default=0) for count in counts]

    def finish(self, pairs: Sequence[SentencePair], scripts: Sequence[int], elsewhere: Hashes) -> PairMask:
        """Mark the pairs to keep, once all are taken; `pairs` are all pairs taken.

        `scripts` are the expected scripts of the two sides, `elsewhere` the hashes of pairs in other splits.
        """
        numbers, hashes, sources, *sides, held_out = self._columns
        kept = np.ones(len(pairs), dtype=bool)

        def look_for(problem: Problem, has_problem: PairMask) -> None:
            indices = np.flatnonzero(kept & has_problem)
            self._counts[problem] = len(indices)
            for index in indices[:EXAMPLES].tolist():
                self._show(problem, int(numbers[index]), pairs[index])
            if problem in self._remove:
                kept[indices] = False

        def repeated(values: Hashes) -> PairMask:
            """Mark values that an earlier kept pair already has."""
            indices = np.flatnonzero(kept)
            is_repeated = np.ones_like(kept)
            is_repeated[indices[np.unique(values[indices], return_index=True)[1]]] = False
            return is_repeated

        others = [(side != 0) & (side != script) for side, script in zip(sides, scripts, strict=True)]
        look_for("script", np.any(others, axis=0))
        look_for("duplicate", repeated(hashes))
        look_for("overlap", np.isin(hashes, elsewhere) | (held_out != 0))
        look_for("ambiguous", repeated(sources))
        return kept

    def report(self, kept: int, *, moved: int = 0) -> SplitReport:
        """The report of the split: `kept` pairs remain, `moved` went to another split."""
        counts = {problem: self._counts[problem] for problem in PROBLEMS}
        removed = tuple(problem for problem in PROBLEMS if problem in self._remove)
        return SplitReport(self._read - moved, kept, counts, removed, self._examples)

    def _show(self, problem: Problem, number: int, pair: SentencePair) -> None:
        examples = self._examples.setdefault(problem, [])
        if len(examples) < EXAMPLES:
            examples.append(Example(number, pair.source[:_LONGEST_EXAMPLE], pair.target[:_LONGEST_EXAMPLE]))


def normalized_pair(pair: SentencePair) -> SentencePair:
    """Normalise all texts of a pair. Words keep their positions."""
    targets, sources = (tuple(map(normalize, texts)) for texts in (pair.references, pair.source_references))
    return SentencePair(normalize(pair.source), normalize(pair.target), pair.links, targets, sources)


def _problems(raw: SentencePair, clean: SentencePair, config: DataConfig) -> Iterator[Problem]:
    """Yield the problems that a pair has on its own."""
    shorter, longer = sorted(map(count_words, (clean.source, clean.target)))
    if not shorter:
        yield "empty"
    if longer > config.max_words:
        yield "long"
    if shorter and longer > config.max_ratio * shorter:
        yield "ratio"
    if clean.source == clean.target:
        yield "copy"
    if any(_CONTROL.search(text.rstrip("\r\n")) for text in (raw.source, raw.target)):
        yield "control"


def _script(text: str) -> int:
    """The script of most letters, as a number; 0 without letters."""
    if not _BEYOND_LATIN.search(text):
        return _LATIN if any(map(str.isalpha, text)) else 0
    counts = Counter(map(_script_of_letter, filter(str.isalpha, text)))
    return max(counts, key=counts.__getitem__, default=0)


@cache
def _script_of_letter(letter: str) -> int:
    """The first eight bytes of the script's name, as a number."""
    return int.from_bytes(script_of(letter).encode()[:8], "big")


_LATIN = _script_of_letter("a")
