"""A corpus that is never held or stored whole: its training pairs come in blocks, again and again from the start."""

import weakref
from collections.abc import Generator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from typing_extensions import override

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.cleaning import OF_THE_WHOLE, usable
from transformer_mt.corpus.fingerprint import Fingerprint
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.source import ColumnChoice, SplitSource
from transformer_mt.errors import InputError

BLOCK = 100_000  # enough of every length, and few batches are left over where processes take turns


class StreamedPairs(Sequence[SentencePair]):
    """The endless repetition of the usable pairs of a split, without the first `skipped` of them, in blocks.

    Blocks asked for in order are read on; for any other, the pairs before it are read and passed over. As a sequence it
    is its first block, for those who want to look at some of it.
    """

    def __init__(self, source: SplitSource, columns: ColumnChoice, config: DataConfig, *, skipped: int = 0) -> None:
        if unknowable := OF_THE_WHOLE & {*config.remove}:
            raise InputError(
                f"data.remove: {', '.join(sorted(unknowable))} can only be told of a whole corpus; leave it out, or "
                "set data.streaming to false"
            )
        self._split = (source, columns, config, skipped)
        identity = [*columns.languages, *columns.columns, *sorted({*config.remove}), *source.identity]
        self.fingerprint = Fingerprint.of_stream(identity)
        self._seek(0)

    def _seek(self, block: int) -> None:
        self._next, self._pairs = block, _repeated(*self._split, start=block * BLOCK)
        # Readers of tables have threads, which must end before the interpreter does.
        self._close = weakref.finalize(self, self._pairs.close)

    def block(self, number: int) -> list[SentencePair]:
        """Pairs `number * BLOCK` to `(number + 1) * BLOCK` of the endless repetition."""
        if number != self._next:
            self._close()
            self._seek(number)
        self._next += 1
        return list(islice(self._pairs, BLOCK))

    @override
    def __len__(self) -> int:
        return BLOCK

    @override
    def __getitem__(self, index: Any) -> Any:
        return self._first_block[index]

    @cached_property
    def _first_block(self) -> list[SentencePair]:
        return self.block(0)


def _repeated(
    source: SplitSource, columns: ColumnChoice, config: DataConfig, skipped: int, *, start: int
) -> Generator[SentencePair, None, None]:
    """The pairs from `start` on; where a repetition is shorter, whole ones are passed over without reading them."""
    while True:
        count = 0
        for count, pair in enumerate(islice(usable(source.pairs(columns), config), skipped, None), start=1):
            if count > start:
                yield pair
        if not count:
            raise InputError(f"{source.name}: no pairs to train on; correct the data or raise data.max_words")
        start = max(start - count, 0) % count
