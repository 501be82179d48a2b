"""From rows to a cleaned corpus: in memory, or in Arrow files in the cache, where a second start finds it."""

import hashlib
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from transformer_mt.cache import cache_folder, cache_problems, new_folder
from transformer_mt.corpus.cleaning import (
    PROBLEMS,
    Cleaner,
    CleaningReport,
    Example,
    Mask,
    Rules,
    SplitReport,
    normalize,
)
from transformer_mt.corpus.fingerprint import Fingerprint, Hashes
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.store import PairWriter, StoredPairs, copy_chosen
from transformer_mt.errors import InputError

TRAIN, VALIDATION = "train", "validation"
# A validation split that is cut from training: one pair in twenty, but no more than suffices for a stable score.
CUT_SHARE, CUT_AT_MOST = 20, 1_000

_VERSION = 1  # of what the cache holds and how pairs are cleaned
_INDEX = "corpus.json"


@dataclass(frozen=True)
class Cleaned:
    """A cleaned split."""

    pairs: Sequence[SentencePair]
    fingerprint: Fingerprint
    report: SplitReport


class Sink(ABC):
    """Where the pairs of a split go while they are read."""

    @abstractmethod
    def append(self, source: str, target: str, position: int) -> None:
        """Add a cleaned pair, which is the one at this position of what is read."""

    @abstractmethod
    def taken(self) -> Sequence[SentencePair]:
        """All that were added; nothing more will be."""

    @abstractmethod
    def choose(self, mask: Mask) -> Sequence[SentencePair]:
        """Those of them that are chosen."""


class MemorySink(Sink):
    """Keeps pairs in memory, with the links and trees that they had: normalising blanks moves no word."""

    def __init__(self, originals: Sequence[SentencePair]) -> None:
        self._originals = originals
        self._pairs: list[SentencePair] = []

    @override
    def append(self, source: str, target: str, position: int) -> None:
        original = self._originals[position]
        references, source_references = (
            tuple(map(normalize, texts)) for texts in (original.references, original.source_references)
        )
        self._pairs.append(
            SentencePair(source, target, original.links, references, source_references, original.structure)
        )

    @override
    def taken(self) -> Sequence[SentencePair]:
        return self._pairs

    @override
    def choose(self, mask: Mask) -> Sequence[SentencePair]:
        return list(compress(self._pairs, mask.tolist()))


class _FileSink(Sink):
    """Keeps pairs in Arrow files of a folder."""

    def __init__(self, folder: Path, split: str) -> None:
        self._folder, self._name, self._files = folder, hashlib.sha256(split.encode()).hexdigest()[:16], 0
        self._writer = PairWriter(self._next())

    @override
    def append(self, source: str, target: str, position: int) -> None:
        self._writer.append(source, target)

    @override
    def taken(self) -> StoredPairs:
        self._writer.close()
        return StoredPairs(self._writer.path)

    @override
    def choose(self, mask: Mask) -> StoredPairs:
        """The chosen ones, in a file of their own unless that is all."""
        if mask.all():
            return StoredPairs(self._writer.path)
        path = self._next()
        copy_chosen(StoredPairs(self._writer.path), mask, path)
        return StoredPairs(path)

    def abandon(self) -> None:
        """Close what is open, after a failure."""
        self._writer.abandon()

    def _next(self) -> Path:
        self._files += 1
        return self._folder / f"{self._name}.{self._files}.arrow"


def clean_splits(
    rows: Mapping[str, Iterable[tuple[str, str]]],
    rules: Rules,
    sink_of: Callable[[str], Sink],
    *,
    name: str,
    cut: bool,
) -> dict[str, Cleaned]:
    """All splits, cleaned. Raises `InputError` for one without any pair left.

    With `cut`, a corpus without validation gets one out of its training pairs. The script that is expected is that of
    most sentences of the first split.
    """
    cleaners = {split: Cleaner(rules, training=split == TRAIN) for split in rows}
    sinks = {split: sink_of(split) for split in rows}
    for split, pairs in rows.items():
        cleaner, sink = cleaners[split], sinks[split]
        for position, (source, target) in enumerate(pairs):
            if (clean := cleaner.take(source, target)) is not None:
                sink.append(*clean, position)
    scripts = next(iter(cleaners.values())).main_scripts()
    others = [cleaner.hashes for split, cleaner in cleaners.items() if split != TRAIN]
    elsewhere = np.unique(np.concatenate([np.empty(0, np.uint64), *others]))
    cleaned: dict[str, Cleaned] = {}
    for split, cleaner in cleaners.items():
        sink, hashes = sinks[split], cleaner.hashes
        kept = cleaner.finish(sink.taken(), scripts, elsewhere)
        moved = chosen_for_validation(hashes, kept) if split == TRAIN and cut and VALIDATION not in rows else None
        if moved is not None:
            kept &= ~moved
        count, away = int(kept.sum()), 0 if moved is None else int(moved.sum())
        report = cleaner.report(count, moved=away)
        if not count:
            raise _nothing_left(f"{name}: no pairs in {split}", report, rules)
        cleaned[split] = Cleaned(sink.choose(kept), Fingerprint.of_hashes(hashes[kept]), report)
        if moved is not None and away:
            unproblematic = SplitReport(away, away, dict.fromkeys(PROBLEMS, 0), frozenset())
            fingerprint = Fingerprint.of_hashes(hashes[moved])
            cleaned[VALIDATION] = Cleaned(sink.choose(moved), fingerprint, unproblematic)
    return cleaned


def chosen_for_validation(hashes: Hashes, kept: Mask) -> Mask:
    """Which training pairs become validation: those with the smallest hashes, so that order and copies do not matter.

    They are every twentieth different pair, at least one of two, and at most a thousand.
    """
    different = np.unique(hashes[kept])
    count = min(max(len(different) // CUT_SHARE, 1), CUT_AT_MOST)
    if len(different) < 2:
        return np.zeros_like(kept)
    return kept & (hashes <= different[count - 1])


def stored_corpus(
    key: Sequence[Any], rows: Mapping[str, Iterable[tuple[str, str]]], rules: Rules, *, name: str, cut: bool
) -> dict[str, Cleaned]:
    """The cleaned splits as the cache has them under a key, or else cleaned now and put there in one step.

    `rows` are only read when they must be.
    """
    settings = [sorted(rules.remove), rules.max_words, rules.max_ratio, cut]
    folder = cache_folder() / "corpora" / _digest([_VERSION, key, settings, list(rows)])
    if folder.exists():
        with suppress(OSError, ValueError, KeyError, TypeError):  # damaged: it is made anew
            return _read(folder)
        shutil.rmtree(folder, ignore_errors=True)
    fresh = new_folder()
    sinks: list[_FileSink] = []

    def sink(split: str) -> _FileSink:
        sinks.append(_FileSink(fresh, split))
        return sinks[-1]

    try:
        cleaned = clean_splits(rows, rules, sink, name=name, cut=cut)
        with cache_problems():
            _write(fresh, cleaned)
            folder.parent.mkdir(exist_ok=True)
            try:
                os.rename(fresh, folder)
            except OSError:
                if not folder.exists():  # another process was as quick
                    raise
        return _read(folder)
    finally:
        for opened in sinks:
            opened.abandon()
        shutil.rmtree(fresh, ignore_errors=True)


def remembered(key: Sequence[Any], find: Callable[[], Sequence[str]]) -> tuple[str, ...]:
    """Some words that take long to find, as the cache has them, or else found now and put there."""
    path = cache_folder() / "languages" / f"{_digest([_VERSION, *key])}.json"
    with suppress(OSError, ValueError):
        return tuple(map(str, json.loads(path.read_bytes())))
    found = tuple(find())
    fresh = new_folder()
    try:
        with cache_problems():
            path.parent.mkdir(exist_ok=True)
            (fresh / path.name).write_text(json.dumps(found))
            (fresh / path.name).replace(path)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return found


def _write(folder: Path, cleaned: Mapping[str, Cleaned]) -> None:
    """Put beside the files of pairs what else a second start needs, and delete those that it does not."""
    index: dict[str, Any] = {}
    for number, (split, part) in enumerate(cleaned.items()):
        assert isinstance(part.pairs, StoredPairs)
        (folder / f"{number}.rows").write_bytes(part.fingerprint.row_digests)
        index[split] = {
            "pairs": part.pairs.path.name,
            "rows": part.fingerprint.rows,
            "digest": part.fingerprint.digest,
            "report": report_record(part.report),
        }
    needed = {entry["pairs"] for entry in index.values()}
    for path in folder.glob("*.arrow"):
        if path.name not in needed:
            path.unlink()
    (folder / _INDEX).write_text(json.dumps(index, ensure_ascii=False), "utf-8")


def _read(folder: Path) -> dict[str, Cleaned]:
    index = json.loads((folder / _INDEX).read_bytes())
    cleaned = {}
    for number, (split, entry) in enumerate(index.items()):
        rows = (folder / f"{number}.rows").read_bytes()
        pairs = StoredPairs(folder / entry["pairs"])
        if not len(pairs) == len(rows) // 4 == entry["rows"]:
            raise ValueError(split)
        report = _report(entry["report"])
        cleaned[split] = Cleaned(pairs, Fingerprint(entry["rows"], entry["digest"], rows), report)
    return cleaned


def report_record(report: SplitReport) -> dict[str, Any]:
    """A report as plain data for JSON."""
    return {
        "read": report.read,
        "kept": report.kept,
        "found": dict(report.found),
        "removed": [problem for problem in PROBLEMS if problem in report.removed],
        "examples": {problem: [asdict(example) for example in found] for problem, found in report.examples.items()},
    }


def _report(record: dict[str, Any]) -> SplitReport:
    examples = {problem: [Example(**example) for example in found] for problem, found in record["examples"].items()}
    return SplitReport(record["read"], record["kept"], record["found"], frozenset(record["removed"]), examples)


def _nothing_left(problem: str, report: SplitReport, rules: Rules) -> InputError:
    if not report.read:
        return InputError(f"{problem}; put sentence pairs into it")
    whole = CleaningReport({"": report}, rules)
    why = ", ".join(f"{count} {whole.describe(problem)}" for problem, count in report.left_out.items())
    return InputError(f"{problem} after cleaning ({why}); correct the data or change data.remove or data.max_words")


def _digest(key: Sequence[Any]) -> str:
    return hashlib.blake2b(json.dumps(key).encode(), digest_size=16).hexdigest()
