"""A corpus that is never held or stored whole: its training pairs come in blocks, again and again from the start."""

import weakref
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import overload

from typing_extensions import override

from transformer_mt.corpus.cleaning import Rules, usable
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.selection import Part, Selection
from transformer_mt.errors import InputError

BLOCK = 100_000  # enough of every length, and few batches are left over where processes take turns


class StreamedPairs(Sequence[SentencePair]):
    """The endless repetition of the usable pairs of a part, without the first `skipped` of them, in blocks.

    Blocks asked for in order are read on; for any other, the pairs before it are read and passed over. As a sequence it
    is its first block, for those who want to look at some of it.
    """

    def __init__(self, part: Part, selection: Selection, rules: Rules, *, skipped: int = 0) -> None:
        self._part, self._selection, self._rules, self._skipped = part, selection, rules, skipped
        self._pairs: Iterator[SentencePair] = iter(())
        self._open: list[Generator[SentencePair, None, None]] = []
        # What reads a table has threads, which must end before the interpreter does.
        weakref.finalize(self, _close, self._open)
        self._position = -1  # nothing has been read
        self._length: int | None = None

    def block(self, number: int) -> list[SentencePair]:
        """Pairs `number * BLOCK` to `(number + 1) * BLOCK` of the endless repetition."""
        start = number * BLOCK if self._length is None else number * BLOCK % self._length
        if self._position != start:
            self._begin()
            start -= self._pass_over(start)
            if self._length is not None and start:
                self._pass_over(start % self._length)
        found: list[SentencePair] = []
        while len(found) < BLOCK:
            found += (new := list(islice(self._pairs, BLOCK - len(found))))
            self._position += len(new)
            if len(found) < BLOCK:
                self._end()
        return found

    @override
    def __len__(self) -> int:
        return BLOCK

    @overload
    def __getitem__(self, index: int) -> SentencePair: ...

    @overload
    def __getitem__(self, index: slice) -> list[SentencePair]: ...

    @override
    def __getitem__(self, index: int | slice) -> SentencePair | list[SentencePair]:
        return self._first_block[index]

    @cached_property
    def _first_block(self) -> list[SentencePair]:
        return self.block(0)

    def _begin(self) -> None:
        _close(self._open)
        self._open.append(usable_pairs(self._part, self._selection, self._rules))
        self._pairs, self._position = islice(self._open[0], self._skipped, None), 0

    def _end(self) -> None:
        """Note the length, now known, and begin again."""
        if not self._position:
            raise InputError(f"{self._part.name}: no pairs to train on; correct the data or raise data.max_words")
        self._length = self._position
        self._begin()

    def _pass_over(self, count: int) -> int:
        """Pass over so many pairs, or to the end of the part, which is then known; how many there were."""
        passed = sum(1 for _ in islice(self._pairs, count))
        self._position += passed
        if passed < count:
            self._end()
        return passed


def _close(generators: list[Generator[SentencePair, None, None]]) -> None:
    while generators:
        generators.pop().close()


def usable_pairs(part: Part, selection: Selection, rules: Rules) -> Generator[SentencePair, None, None]:
    """The pairs of a part without those that are left out for what each alone can tell."""
    for source, target in part.rows(selection):
        if (clean := usable(source, target, rules)) is not None:
            yield SentencePair(*clean)
