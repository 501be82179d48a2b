"""Pairs that stay on disk: a sequence over a memory-mapped data set; silencing the library `datasets`."""

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, Self, overload, runtime_checkable

from transformer_mt.corpus.cleaning import SplitReport, filter_pairs, normalize
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.errors import InputError

_ROWS_AT_A_TIME = 1_000
NESTED = "translation"


@runtime_checkable
class Table(Protocol):
    """What we use of a `datasets.Dataset`, so that the library is loaded only for those who have one."""

    column_names: list[str]

    def select_columns(self, column_names: list[str]) -> Self:
        """The same rows with these columns only."""

    def iter(self, batch_size: int) -> Iterator[Any]:
        """All rows, by batches: a dict with a list for each column."""

    def __getitem__(self, key: list[int]) -> Any:
        """These rows as a batch."""


class StoredPairs(Sequence[SentencePair]):
    """The pairs at some positions of a data set, read and normalised when they are asked for.

    The data set has a text column for each language, or a column `translation` that holds both.
    """

    def __init__(self, dataset: Table, languages: tuple[str, str], positions: Sequence[int]) -> None:
        self._dataset = dataset
        self._languages = languages
        self._positions = positions

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> SentencePair: ...

    @overload
    def __getitem__(self, index: slice) -> list[SentencePair]: ...

    def __getitem__(self, index: int | slice) -> SentencePair | list[SentencePair]:
        if isinstance(index, slice):
            return self._read(self._positions[index])
        return self._read([self._positions[index]])[0]

    def __iter__(self) -> Iterator[SentencePair]:
        for start in range(0, len(self), _ROWS_AT_A_TIME):
            yield from self[start : start + _ROWS_AT_A_TIME]

    def _read(self, positions: Sequence[int]) -> list[SentencePair]:
        rows = _texts(self._dataset[list(positions)], self._languages)
        return [SentencePair(normalize(source), normalize(target)) for source, target in rows]


def clean_dataset(
    dataset: Table, *, languages: tuple[str, str], max_words: int, place: str
) -> tuple[StoredPairs, SplitReport]:
    """The usable pairs of a data set. `place` names it in the `InputError` of a missing column or a wrong value."""
    found = dataset.column_names
    if not set(languages) <= set(found) and NESTED not in found:
        raise missing_column(place, found, languages)
    dataset = dataset.select_columns(list(languages) if set(languages) <= set(found) else [NESTED])
    positions, report = filter_pairs(_checked(_rows(dataset, languages, place), languages, place), max_words=max_words)
    return StoredPairs(dataset, languages, positions), report


@contextmanager
def quiet_datasets() -> Iterator[None]:
    """Keep `datasets`, and the C++ below it, from drawing progress bars and writing between our own lines."""
    import datasets
    from huggingface_hub.utils import logging as hub_logging

    had_bars = not datasets.are_progress_bars_disabled()
    verbosity, hub_verbosity = datasets.logging.get_verbosity(), hub_logging.get_verbosity()
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(logging.ERROR)
    hub_logging.set_verbosity(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"), _mute_stderr():
            yield
    finally:
        if had_bars:
            datasets.enable_progress_bars()
        datasets.logging.set_verbosity(verbosity)
        hub_logging.set_verbosity(hub_verbosity)


@contextmanager
def _mute_stderr() -> Iterator[None]:
    """Send to nowhere what libraries write to the file descriptor of stderr, also those not written in Python."""
    with open(os.devnull, "wb") as nowhere:
        before = os.dup(2)
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)


def missing_column(place: str, found: Sequence[str], languages: tuple[str, str]) -> InputError:
    """The error of a corpus without the columns of its languages."""
    source, target = languages
    names = ", ".join(found) or "none"
    return InputError(
        f"{place}: needs the columns {source} and {target}, or {NESTED} with both, and has {names}; rename the columns "
        "or set data.source_language and data.target_language"
    )


def _rows(dataset: Table, languages: tuple[str, str], place: str) -> Iterator[tuple[Any, Any]]:
    """The two sides of all rows. Raises `InputError` for text that is no text, which tables may hold."""
    try:
        for batch in dataset.iter(_ROWS_AT_A_TIME):
            yield from _texts(batch, languages)
    except UnicodeDecodeError:
        raise InputError(f"{place}: holds text that is not UTF-8; correct the file") from None


def _texts(batch: dict[str, list[Any]], languages: tuple[str, str]) -> list[tuple[Any, Any]]:
    """The two sides of the rows of a batch that `datasets` gives by columns."""
    source, target = languages
    if NESTED in batch:
        nested = (row if isinstance(row, dict) else {} for row in batch[NESTED])
        return [(row.get(source), row.get(target)) for row in nested]
    return list(zip(batch[source], batch[target], strict=True))


def _checked(rows: Iterator[tuple[Any, Any]], languages: tuple[str, str], place: str) -> Iterator[tuple[str, str]]:
    """The rows with a missing cell, which tables have, as an empty text."""
    for number, row in enumerate(rows, start=1):
        for language, text in zip(languages, row, strict=True):
            if not isinstance(text, str | None):
                raise InputError(f"{place}, row {number}: {language} is {repr(text)[:40]}, not a text; correct the row")
        yield row[0] or "", row[1] or ""
