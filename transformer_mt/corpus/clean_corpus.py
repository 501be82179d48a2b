"""Cleaned splits, in memory or in an Arrow table in the cache, where the next start finds them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import compress, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import NonNegativeInt, TypeAdapter
from typing_extensions import override

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.cleaning import PROBLEMS, Cleaner, PairMask, SplitReport, describe_all
from transformer_mt.corpus.pairs import Fingerprint, Hashes, Pairs, SentencePair
from transformer_mt.corpus.source import ColumnChoice, SplitSource
from transformer_mt.ground.cache import cached, temporary_table
from transformer_mt.ground.errors import InputError
from transformer_mt.text import normalize

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table

# A validation split cut from training: one pair in twenty, up to enough for a stable score.
CUT_SHARE = 20
CUT_AT_MOST = 1_000

_VERSION = 8  # of the cached tables and of cleaning
_ROWS = 10_000  # per batch

Splits = Mapping[str, Iterable[SentencePair]]
Hold = Callable[[Iterable[SentencePair]], Pairs]


@dataclass(frozen=True)
class CleanSplit:
    """A cleaned split."""

    pairs: Pairs
    fingerprint: Fingerprint
    report: SplitReport


CleanSplits = dict[str, CleanSplit]


class MappedPairs(Sequence[SentencePair]):
    """The pairs of an Arrow table, read on access."""

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
    """Move pairs to a table on disk that is deleted with its last reference."""
    import pyarrow as pa

    schema = pa.schema({"source": pa.string(), "target": pa.string()})
    rest = iter(pairs)
    groups = iter(lambda: list(islice(rest, _ROWS)), [])
    batches = (
        pa.record_batch([[pair.source for pair in group], [pair.target for pair in group]], schema=schema)
        for group in groups
    )
    return MappedPairs(temporary_table(schema, batches))


def clean_splits(
    splits: Splits,
    config: DataConfig,
    *,
    name: str,
    cut: bool = False,
    held_out: frozenset[str] = frozenset(),
    hold: Hold = list,
) -> CleanSplits:
    """Clean all splits. `hold` decides where their pairs are kept. Raises `InputError` if a split ends up empty.

    With `cut`, some training pairs become the validation split. A training pair with a `held_out` text is an overlap.
    """
    cleaners = {split: Cleaner(config, split=split, held_out=held_out) for split in splits}
    taken = {split: hold(cleaners[split].take(pairs)) for split, pairs in splits.items()}
    cleaned = CleanSplits()
    for split, read_in, mask, report in _chosen(cleaners, taken, cut=cut):
        if not report.read:
            raise InputError(Path(name), f"no pairs in {split}", "put sentence pairs into it")
        if not report.kept:
            problem = f"no pairs in {split} after cleaning ({describe_all(report.left_out, config)})"
            raise InputError(Path(name), problem, "correct the data or change data.remove or data.max_words")
        pairs = taken[read_in]
        kept = pairs if mask.all() else hold(compress(pairs, mask.tolist()))
        cleaned[split] = CleanSplit(kept, Fingerprint.of(cleaners[read_in].hashes[mask]), report)
    return cleaned


def _chosen(
    cleaners: Mapping[str, Cleaner], taken: Mapping[str, Pairs], *, cut: bool
) -> Iterator[tuple[str, str, PairMask, SplitReport]]:
    """Yield each split, the split in which its pairs were read, a mask of these, and its report.

    The expected script of each side is the one of most sentences in the first split.
    """
    scripts = next(iter(cleaners.values())).main_scripts()
    none = np.zeros(0, np.uint64)
    elsewhere = np.concatenate([none, *(cleaner.hashes for split, cleaner in cleaners.items() if split != "train")])
    for split, cleaner in cleaners.items():
        clean = cleaner.finish(taken[split], scripts, elsewhere if split == "train" else none)
        moved = chosen_for_validation(cleaner.hashes, clean) if cut and split == "train" else np.zeros_like(clean)
        kept, count = clean & ~moved, int(moved.sum())
        yield split, split, kept, cleaner.report(int(kept.sum()), moved=count)
        if count:
            yield "validation", split, moved, SplitReport(count, count, dict.fromkeys(PROBLEMS, 0), ())


def chosen_for_validation(hashes: Hashes, kept: PairMask) -> PairMask:
    """Mark the training pairs to move to validation: the smallest hashes, so that order and copies do not matter.

    It takes one distinct pair in twenty, at least one if there are two, and at most a thousand.
    """
    different = np.unique(hashes[kept])
    count = min(max(len(different) // CUT_SHARE, 1), CUT_AT_MOST) if len(different) > 1 else 0
    return kept & np.isin(hashes, different[:count])


def cached_splits(
    sources: Mapping[str, SplitSource], choice: ColumnChoice, config: DataConfig, *, cut: bool, held_out: frozenset[str]
) -> CleanSplits:
    """Return the cleaned splits from the cache. If they are missing, read, clean and cache them."""
    import pyarrow as pa

    key = [choice.languages, choice.columns, [source.identity for source in sources.values()]]
    settings = [sorted({*config.remove}), config.max_words, config.max_ratio, cut, sorted(held_out)]
    place = f"corpus {json.dumps([_VERSION, normalize.VERSION, key, settings, list(sources)])}"
    schema = pa.schema({"source": pa.string(), "target": pa.string(), "digest": pa.uint32()})

    def batches() -> "Iterator[RecordBatch]":
        """Yield the splits with the digests of their pairs; metadata holds the rest."""
        splits = {split: source.pairs(choice) for split, source in sources.items()}
        clean = clean_splits(splits, config, name=config.corpus, cut=cut, held_out=held_out, hold=mapped)
        content = {
            split: (len(part.pairs), part.fingerprint.digest, asdict(part.report)) for split, part in clean.items()
        }
        for part in clean.values():
            assert isinstance(part.pairs, MappedPairs)
            digests = pa.array(np.frombuffer(part.fingerprint.row_digests, "<u4"))
            table = part.pairs.table.append_column("digest", digests)
            yield from table.replace_schema_metadata({"splits": json.dumps(content)}).to_batches()

    return cached(place, schema, batches(), _splits_of)


def _splits_of(table: "Table") -> CleanSplits:
    """The splits in a cached table. Raises `ValueError` or `TypeError` if it has another format."""
    splits = TypeAdapter(dict[str, tuple[NonNegativeInt, str, SplitReport]])
    clean = {}
    first = 0
    for split, (rows, digest, report) in splits.validate_json(table.schema.metadata[b"splits"]).items():
        part = table.slice(first, rows)
        digests = part["digest"].to_numpy().astype("<u4").tobytes()
        clean[split] = CleanSplit(MappedPairs(part), Fingerprint(rows, digest, digests), report)
        first += rows
    if first != len(table):
        raise ValueError("other splits than pairs")
    return clean
