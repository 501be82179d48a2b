"""From pairs to cleaned splits: in memory, or in an Arrow table in the cache, where a second start finds them."""

import json
import random
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import compress, count, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import NonNegativeInt, TypeAdapter
from typing_extensions import override

from transformer_mt.cache import cached, temporary_table
from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.cleaning import OF_THE_WHOLE, PROBLEMS, Cleaner, Mask, SplitReport, describe_all, usable
from transformer_mt.corpus.pairs import Fingerprint, Hashes, Pairs, SentencePair
from transformer_mt.corpus.source import ColumnChoice, SplitSource
from transformer_mt.errors import InputError
from transformer_mt.text import normalize

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table

# A validation split that is cut from training: one pair in twenty, but no more than suffices for a stable score.
CUT_SHARE, CUT_AT_MOST = 20, 1_000

BLOCK = 100_000  # enough of every length, and few batches are left over where processes take turns
SAMPLED_BLOCKS = 10  # of a stream; to read more would take longer than some seconds

_VERSION = 7  # of the cached tables and of how pairs are cleaned
_ROWS = 10_000  # of a batch

Splits = Mapping[str, Iterable[SentencePair]]
Hold = Callable[[Iterable[SentencePair]], Pairs]


@dataclass(frozen=True)
class CleanSplit:
    """A cleaned split; a streamed one has no report."""

    pairs: Pairs
    fingerprint: Fingerprint
    report: SplitReport | None


class MappedPairs(Sequence[SentencePair]):
    """The pairs of an Arrow table, read when they are asked for."""

    def __init__(self, table: "Table") -> None:
        self.table = table.select(["source", "target"])

    @override
    def __len__(self) -> int:
        return self.table.num_rows

    @override
    def __getitem__(self, index: Any) -> Any:
        rows = range(len(self))[index]
        if isinstance(rows, int):
            return _pairs(self.table.slice(rows, 1))[0]
        return _pairs(self.table.slice(rows.start, len(rows))) if rows.step == 1 else [self[row] for row in rows]

    @override
    def __iter__(self) -> Iterator[SentencePair]:
        for batch in self.table.to_batches():
            yield from _pairs(batch)


def _pairs(rows: "Table | RecordBatch") -> list[SentencePair]:
    return list(map(SentencePair, *(column.to_pylist() for column in rows.columns)))


def mapped(pairs: Iterable[SentencePair]) -> Pairs:
    """The pairs in a table on disk that is deleted with its last reference."""
    import pyarrow as pa

    schema = pa.schema({"source": pa.string(), "target": pa.string()})
    rest = iter(pairs)
    groups = iter(lambda: list(islice(rest, _ROWS)), [])
    columns = ([[pair.source for pair in group], [pair.target for pair in group]] for group in groups)
    return MappedPairs(temporary_table(schema, (pa.record_batch(texts, schema=schema) for texts in columns)))


def clean_splits(
    splits: Splits,
    config: DataConfig,
    *,
    name: str,
    cut: bool,
    held_out: frozenset[str] = frozenset(),
    hold: Hold = list,
) -> dict[str, CleanSplit]:
    """All splits, cleaned; `hold` says where their pairs lie. Raises `InputError` for a split without any pair left.

    With `cut`, a corpus without validation gets one out of its training pairs. The expected script is that of most
    sentences of the first split. A training pair with a `held_out` text is an overlap.
    """
    cleaners = {split: Cleaner(config, training=split == "train", held_out=held_out) for split in splits}
    taken = {split: hold(cleaners[split].take(pairs)) for split, pairs in splits.items()}
    scripts = next(iter(cleaners.values())).main_scripts()
    none = np.zeros(0, np.uint64)
    elsewhere = np.concatenate([none, *(cleaner.hashes for split, cleaner in cleaners.items() if split != "train")])
    cleaned: dict[str, CleanSplit] = {}
    for split, cleaner in cleaners.items():
        pairs, hashes = taken[split], cleaner.hashes
        kept = cleaner.finish(pairs, scripts, elsewhere if split == "train" else none)
        moved = np.zeros_like(kept)
        if split == "train" and cut and "validation" not in splits:
            moved = chosen_for_validation(hashes, kept)
            kept &= ~moved
        report = cleaner.report(int(kept.sum()), moved=int(moved.sum()))
        if not report.kept:
            remedy = "correct the data or change data.remove or data.max_words"
            after = f" after cleaning ({describe_all(report.left_out, config)}); {remedy}"
            raise InputError(name, f"no pairs in {split}{(after if report.read else '; put sentence pairs into it')}")
        cleaned[split] = CleanSplit(_chosen(pairs, kept, hold), Fingerprint.of(hashes[kept]), report)
        if moved.any():
            count = int(moved.sum())
            unproblematic = SplitReport(count, count, dict.fromkeys(PROBLEMS, 0), ())
            fingerprint = Fingerprint.of(hashes[moved])
            cleaned["validation"] = CleanSplit(_chosen(pairs, moved, hold), fingerprint, unproblematic)
    return cleaned


def _chosen(pairs: Pairs, mask: Mask, hold: Hold) -> Pairs:
    return pairs if mask.all() else hold(compress(pairs, mask.tolist()))


def chosen_for_validation(hashes: Hashes, kept: Mask) -> Mask:
    """Marks the training pairs that become validation: the smallest hashes, so that order and copies do not matter.

    They are every twentieth different pair, at least one of two, and at most a thousand.
    """
    different = np.unique(hashes[kept])
    count = min(max(len(different) // CUT_SHARE, 1), CUT_AT_MOST) if len(different) > 1 else 0
    return kept & np.isin(hashes, different[:count])


def cached_splits(
    key: Sequence[Any], splits: Splits, config: DataConfig, *, name: str, cut: bool, held_out: frozenset[str]
) -> dict[str, CleanSplit]:
    """The cleaned splits from the cache, or cleaned now and put there; they are read only when they must be."""
    import pyarrow as pa

    settings = [sorted({*config.remove}), config.max_words, config.max_ratio, cut, sorted(held_out)]
    place = f"corpus {json.dumps([_VERSION, normalize.VERSION, key, settings, list(splits)])}"
    schema = pa.schema({"source": pa.string(), "target": pa.string(), "digest": pa.uint32()})

    def batches() -> "Iterator[RecordBatch]":
        """One split after the other with the digests of the pairs; all else is metadata."""
        clean = clean_splits(splits, config, name=name, cut=cut, held_out=held_out, hold=mapped)
        content = {
            split: (len(part.pairs), part.fingerprint.digest, part.report and asdict(part.report))
            for split, part in clean.items()
        }
        for part in clean.values():
            assert isinstance(part.pairs, MappedPairs)
            digests = pa.array(np.frombuffer(part.fingerprint.row_digests, "<u4"))
            table = part.pairs.table.append_column("digest", digests)
            yield from table.replace_schema_metadata({"splits": json.dumps(content)}).to_batches()

    return cached(place, schema, batches(), _splits_of) if splits else {}


def _splits_of(table: "Table") -> dict[str, CleanSplit]:
    """The splits of such a table. Raises `ValueError` or `TypeError` for a table that is none."""
    splits = TypeAdapter(dict[str, tuple[NonNegativeInt, str, SplitReport]])
    clean, first = {}, 0
    for split, (rows, digest, report) in splits.validate_json(table.schema.metadata[b"splits"]).items():
        part = table.slice(first, rows)
        digests = part["digest"].to_numpy().astype("<u4").tobytes()
        clean[split] = CleanSplit(MappedPairs(part), Fingerprint(rows, digest, digests), report)
        first += rows
    if first != len(table):
        raise ValueError("other splits than pairs")
    return clean


class StreamedPairs(Sequence[SentencePair]):
    """The endless repetition of the usable pairs of a split, in blocks; with `cut`, without those for validation.

    Blocks asked for in order are read on; for any other, the pairs before it are read and passed over. As a sequence it
    is as many pairs as a block has at most, drawn from ten times as many at its beginning, to look at some of it.
    """

    def __init__(self, source: SplitSource, columns: ColumnChoice, config: DataConfig, *, cut: bool = False) -> None:
        if unknowable := ", ".join(sorted(OF_THE_WHOLE & {*config.remove})):
            raise InputError("data.remove", f"{unknowable} can only be told of a whole corpus", "leave it out")
        self._split = (source, columns, config, cut)
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
        return len(self._sample)

    @override
    def __getitem__(self, index: Any) -> Any:
        return self._sample[index]

    @cached_property
    def _sample(self) -> list[SentencePair]:
        """Every pair is as likely to be drawn as any other (Vitter 1985, algorithm R), by a seed of its own."""
        source, columns, config, cut = self._split
        drawn, draw = list[SentencePair](), random.Random("stream")
        for number, pair in enumerate(islice(_to_train_on(source, columns, cut=cut), SAMPLED_BLOCKS * BLOCK)):
            if number < BLOCK:
                drawn.append(pair)
            elif (place := draw.randrange(number + 1)) < BLOCK:
                drawn[place] = pair
        return list(usable(drawn, config)) or self.block(0)


def validation_of_stream(pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
    """The pairs of a stream that become validation: a thousand, evenly from its first block."""
    return islice(pairs, 0, BLOCK, BLOCK // CUT_AT_MOST)


def _to_train_on(source: SplitSource, columns: ColumnChoice, *, cut: bool) -> Iterator[SentencePair]:
    """All pairs as they are read, with `cut` without those of `validation_of_stream`."""
    kept = (not cut or number >= BLOCK or number % (BLOCK // CUT_AT_MOST) for number in count())
    return compress(source.pairs(columns), kept)


def _repeated(
    source: SplitSource, columns: ColumnChoice, config: DataConfig, cut: bool, *, start: int
) -> Generator[SentencePair, None, None]:
    """The pairs from `start` on; where a repetition is shorter, whole ones are passed over without reading them."""
    while True:
        read = 0
        for read, pair in enumerate(usable(_to_train_on(source, columns, cut=cut), config), start=1):
            if read > start:
                yield pair
        if not read:
            beside = " beside those for validation; set data.streaming=false," if cut else ";"
            raise InputError(source.name, f"no pairs to train on{beside} correct the data or raise data.max_words")
        start = max(start - read, 0) % read
