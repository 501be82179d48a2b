"""A corpus that is never held or stored whole: its training pairs come in blocks, again and again from the start."""

import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import overload

from typing_extensions import override

from transformer_mt.corpus.cleaning import Rules, usable
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.split_source import ColumnChoice, SplitSource
from transformer_mt.errors import InputError

BLOCK = 100_000  # enough of every length, and few batches are left over where processes take turns


class StreamedPairs(Sequence[SentencePair]):
    """The endless repetition of the usable pairs of a split, without the first `skipped` of them, in blocks.

    Blocks asked for in order are read on; for any other, the pairs before it are read and passed over. As a sequence it
    is its first block, for those who want to look at some of it.
    """

    def __init__(self, source: SplitSource, columns: ColumnChoice, rules: Rules, *, skipped: int = 0) -> None:
        self._source, self._columns, self._rules, self._skipped = source, columns, rules, skipped
        self._next = -1  # the block that would be read on
        self._pairs: Iterator[SentencePair] = iter(())
        self._close: Callable[[], object] = lambda: None

    def block(self, number: int) -> list[SentencePair]:
        """Pairs `number * BLOCK` to `(number + 1) * BLOCK` of the endless repetition."""
        if number != self._next:
            self._seek(number * BLOCK)
        self._next = number + 1
        found: list[SentencePair] = []
        while len(found) < BLOCK:
            found += islice(self._pairs, BLOCK - len(found))
            if len(found) < BLOCK:
                self._begin()
        return found

    def _seek(self, start: int) -> None:
        """Pass over pairs; where a repetition is shorter, whole ones are not read again."""
        self._begin()
        passed = sum(1 for _ in islice(self._pairs, start))
        if passed < start:
            self._seek(start % passed)

    def _begin(self) -> None:
        """Start a repetition. Raises `InputError` for one without any pair."""
        self._close()
        pairs = usable_pairs(self._source, self._columns, self._rules)
        # Readers of tables have threads, which must end before the interpreter does.
        self._close = weakref.finalize(self, pairs.close)
        rest = islice(pairs, self._skipped, None)
        if (first := next(rest, None)) is None:
            raise InputError(f"{self._source.name}: no pairs to train on; correct the data or raise data.max_words")
        self._pairs = chain([first], rest)

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


def usable_pairs(source: SplitSource, columns: ColumnChoice, rules: Rules) -> Generator[SentencePair, None, None]:
    """The pairs of a split without those that are left out for a problem of their own."""
    for pair in source.pairs(columns):
        if (clean := usable(pair, rules)) is not None:
            yield clean
