"""From rows to cleaned splits: in memory, or in an Arrow table in the cache, where a second start finds them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from pydantic import TypeAdapter
from typing_extensions import override

from transformer_mt.corpus.cache import cached, temporary_table
from transformer_mt.corpus.cleaning import PROBLEMS, Cleaner, CleaningReport, Mask, Rules, SplitReport
from transformer_mt.corpus.fingerprint import Fingerprint, Hashes
from transformer_mt.corpus.pairs import Pairs, SentencePair
from transformer_mt.errors import InputError

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table

TRAIN, VALIDATION = "train", "validation"
# A validation split that is cut from training: one pair in twenty, but no more than suffices for a stable score.
CUT_SHARE, CUT_AT_MOST = 20, 1_000

_VERSION = 2  # of the cached tables and of how pairs are cleaned
_ROWS = 10_000  # of a batch

Rows = Mapping[str, Iterable[SentencePair]]


@dataclass(frozen=True)
class CleanSplit:
    """A cleaned split."""

    pairs: Pairs
    hashes: Hashes
    report: SplitReport

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of its pairs in their order."""
        return Fingerprint.of_hashes(self.hashes)


class MappedPairs(Sequence[SentencePair]):
    """The pairs of an Arrow table, read when they are asked for."""

    def __init__(self, table: "Table") -> None:
        self.table = table.select(["source", "target"])

    @override
    def __len__(self) -> int:
        return self.table.num_rows

    @overload
    def __getitem__(self, index: int) -> SentencePair: ...

    @overload
    def __getitem__(self, index: slice) -> list[SentencePair]: ...

    @override
    def __getitem__(self, index: int | slice) -> SentencePair | list[SentencePair]:
        places = range(len(self))[index]
        if isinstance(places, int):
            return _pairs(self.table.slice(places, 1))[0]
        if places.step == 1:
            return _pairs(self.table.slice(places.start, len(places)))
        return [self[place] for place in places]

    @override
    def __iter__(self) -> Iterator[SentencePair]:
        for batch in self.table.to_batches():
            yield from _pairs(batch)


def _pairs(rows: "Table | RecordBatch") -> list[SentencePair]:
    return list(map(SentencePair, *(column.to_pylist() for column in rows.columns)))


def mapped(pairs: Iterable[SentencePair]) -> Pairs:
    """The pairs in a table on disk that is deleted with its last reference."""
    return MappedPairs(temporary_table(_batches(iter(pairs))))


def _batches(pairs: Iterator[SentencePair]) -> "Iterator[RecordBatch]":
    import pyarrow as pa

    schema = pa.schema([("source", pa.string()), ("target", pa.string())])
    while True:
        rows = list(islice(pairs, _ROWS))
        yield pa.record_batch([[pair.source for pair in rows], [pair.target for pair in rows]], schema=schema)
        if not rows:
            return


def clean_splits(
    rows: Rows, rules: Rules, *, name: str, cut: bool, hold: Callable[[Iterable[SentencePair]], Pairs] = list
) -> dict[str, CleanSplit]:
    """All splits, cleaned; `hold` says where their pairs lie. Raises `InputError` for a split without any pair left.

    With `cut`, a corpus without validation gets one out of its training pairs. The expected script is that of most
    sentences of the first split.
    """
    cleaners = {split: Cleaner(rules, training=split == TRAIN) for split in rows}
    taken = {split: hold(cleaners[split].take(pairs)) for split, pairs in rows.items()}
    scripts = next(iter(cleaners.values())).main_scripts()
    others = [cleaner.hashes for split, cleaner in cleaners.items() if split != TRAIN]
    elsewhere = np.unique(np.concatenate([np.empty(0, np.uint64), *others]))
    cleaned: dict[str, CleanSplit] = {}
    for split, cleaner in cleaners.items():
        pairs, hashes = taken[split], cleaner.hashes
        kept = cleaner.finish(pairs, scripts, elsewhere)
        moved = np.zeros_like(kept)
        if split == TRAIN and cut and VALIDATION not in rows:
            moved = chosen_for_validation(hashes, kept)
            kept &= ~moved
        count, away = int(kept.sum()), int(moved.sum())
        report = cleaner.report(count, moved=away)
        if not count:
            raise _nothing_left(f"{name}: no pairs in {split}", report, rules)
        cleaned[split] = CleanSplit(_chosen(pairs, kept, hold), hashes[kept], report)
        if away:
            unproblematic = SplitReport(away, away, dict.fromkeys(PROBLEMS, 0), ())
            cleaned[VALIDATION] = CleanSplit(_chosen(pairs, moved, hold), hashes[moved], unproblematic)
    return cleaned


def _chosen(pairs: Pairs, mask: Mask, hold: Callable[[Iterable[SentencePair]], Pairs]) -> Pairs:
    return pairs if mask.all() else hold(compress(pairs, mask.tolist()))


def chosen_for_validation(hashes: Hashes, kept: Mask) -> Mask:
    """Marks the training pairs that become validation: the smallest hashes, so that order and copies do not matter.

    They are every twentieth different pair, at least one of two, and at most a thousand.
    """
    different = np.unique(hashes[kept])
    count = min(max(len(different) // CUT_SHARE, 1), CUT_AT_MOST)
    if len(different) < 2:
        return np.zeros_like(kept)
    return kept & (hashes <= different[count - 1])


def cached_splits(key: Sequence[Any], rows: Rows, rules: Rules, *, name: str, cut: bool) -> dict[str, CleanSplit]:
    """The cleaned splits from the cache, or cleaned now and put there; `rows` are read only when they must be."""
    settings = [sorted(rules.remove), rules.max_words, rules.max_ratio, cut]

    def batches() -> "Iterator[RecordBatch]":
        yield from _table_of(clean_splits(rows, rules, name=name, cut=cut, hold=mapped))

    return cached(f"corpus {json.dumps([_VERSION, key, settings, list(rows)])}", batches(), _splits_of)


def _table_of(cleaned: Mapping[str, CleanSplit]) -> "Iterator[RecordBatch]":
    """One split after the other with the hashes of the pairs; all else is metadata."""
    import pyarrow as pa

    splits = {split: {"rows": len(part.pairs), "report": asdict(part.report)} for split, part in cleaned.items()}
    fields = [("source", pa.string()), ("target", pa.string()), ("hash", pa.uint64())]
    schema = pa.schema(fields, metadata={"splits": json.dumps(splits)})
    for part in cleaned.values():
        assert isinstance(part.pairs, MappedPairs)
        first = 0
        for batch in part.pairs.table.to_batches():
            hashes = pa.array(part.hashes[first : first + batch.num_rows])
            yield pa.record_batch([*batch.columns, hashes], schema=schema)
            first += batch.num_rows


def _splits_of(table: "Table") -> dict[str, CleanSplit]:
    """The splits of such a table. Raises one of several errors for a table that is none."""
    cleaned, first = {}, 0
    for split, found in json.loads(table.schema.metadata[b"splits"]).items():
        part = table.slice(first, found["rows"])
        report = TypeAdapter(SplitReport).validate_python(found["report"])
        cleaned[split] = CleanSplit(MappedPairs(part), part["hash"].to_numpy(), report)
        first += found["rows"]
    if first != len(table):
        raise ValueError("other splits than pairs")
    return cleaned


def _nothing_left(problem: str, report: SplitReport, rules: Rules) -> InputError:
    if not report.read:
        return InputError(f"{problem}; put sentence pairs into it")
    whole = CleaningReport({"": report}, rules)
    why = ", ".join(f"{count} {whole.describe(problem)}" for problem, count in report.left_out.items())
    return InputError(f"{problem} after cleaning ({why}); correct the data or change data.remove or data.max_words")
