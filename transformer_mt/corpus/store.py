"""Cleaned pairs in Arrow files that are mapped into memory: they take none, however many there are."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, overload

from typing_extensions import override

from transformer_mt.cache import cache_problems
from transformer_mt.corpus.cleaning import Mask
from transformer_mt.corpus.pairs import SentencePair

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_ROWS, _CHARACTERS = 10_000, 2**24  # of a batch, whichever comes first


class StoredPairs(Sequence[SentencePair]):
    """The pairs of an Arrow file, read when they are asked for."""

    def __init__(self, path: Path) -> None:
        import pyarrow

        self.path = path
        with pyarrow.memory_map(str(path)) as source:
            reader = pyarrow.ipc.open_file(source)
            self._batches: list[RecordBatch] = [reader.get_batch(index) for index in range(reader.num_record_batches)]
        self._starts = list(accumulate((batch.num_rows for batch in self._batches), initial=0))

    @override
    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> SentencePair: ...

    @overload
    def __getitem__(self, index: slice) -> list[SentencePair]: ...

    @override
    def __getitem__(self, index: int | slice) -> SentencePair | list[SentencePair]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return self._range(start, stop) if step == 1 else [self[place] for place in range(start, stop, step)]
        place = range(len(self))[index]
        number = bisect_right(self._starts, place) - 1
        source, target = self._batches[number].columns
        row = place - self._starts[number]
        return SentencePair(source[row].as_py(), target[row].as_py())

    @override
    def __iter__(self) -> Iterator[SentencePair]:
        for batch in self._batches:
            yield from _pairs(batch)

    def _range(self, start: int, stop: int) -> list[SentencePair]:
        found: list[SentencePair] = []
        first = max(bisect_right(self._starts, start) - 1, 0)
        for begin, batch in zip(self._starts[first:], self._batches[first:], strict=False):
            if begin >= stop:
                break
            skipped = max(start - begin, 0)
            found += _pairs(batch.slice(skipped, max(stop - begin - skipped, 0)))
        return found


class PairWriter:
    """Writes pairs to a new Arrow file."""

    def __init__(self, path: Path) -> None:
        import pyarrow

        self.path = path
        self._schema = pyarrow.schema([("source", pyarrow.string()), ("target", pyarrow.string())])
        with cache_problems():
            self._file = pyarrow.OSFile(str(path), "wb")
            self._writer = pyarrow.ipc.new_file(self._file, self._schema)
        self._sources: list[str] = []
        self._targets: list[str] = []
        self._characters = 0

    def append(self, source: str, target: str) -> None:
        """Add a pair."""
        self._sources.append(source)
        self._targets.append(target)
        self._characters += len(source) + len(target)
        if len(self._sources) == _ROWS or self._characters > _CHARACTERS:
            self._flush()

    def append_batch(self, batch: "RecordBatch") -> None:
        """Add the pairs of a batch of another file."""
        with cache_problems():
            self._writer.write_batch(batch)

    def close(self) -> None:
        """Finish the file."""
        self._flush()
        with cache_problems():
            self._writer.close()
            self._file.close()

    def abandon(self) -> None:
        """Close the file as it is, after a failure."""
        with suppress(Exception):
            self._file.close()

    def _flush(self) -> None:
        import pyarrow

        if self._sources:
            columns = [pyarrow.array(texts, pyarrow.string()) for texts in (self._sources, self._targets)]
            self.append_batch(pyarrow.record_batch(columns, schema=self._schema))
        self._sources, self._targets, self._characters = [], [], 0


def copy_chosen(pairs: StoredPairs, chosen: Mask, path: Path) -> None:
    """Write those pairs of a file that are chosen to another."""
    import pyarrow

    writer = PairWriter(path)
    for start, batch in zip(pairs._starts, pairs._batches, strict=False):
        part = chosen[start : start + batch.num_rows]
        if part.all():
            writer.append_batch(batch)
        elif part.any():
            writer.append_batch(batch.filter(pyarrow.array(part)))
    writer.close()


def _pairs(batch: "RecordBatch") -> list[SentencePair]:
    sources, targets = (column.to_numpy(zero_copy_only=False).tolist() for column in batch.columns)
    return list(map(SentencePair, sources, targets))
