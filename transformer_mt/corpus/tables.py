"""CSV, JSON and Parquet, read by the library `datasets`, and its data sets as parts of a corpus."""

import logging
import os
import shutil
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from typing_extensions import override

from transformer_mt.cache import cache_problems, new_folder
from transformer_mt.corpus.compressed import opened
from transformer_mt.corpus.selection import (
    NESTED,
    OneFile,
    Part,
    Selection,
    missing_column,
    require_whole_characters,
    said_by_columns,
)
from transformer_mt.corpus.source import DataFile
from transformer_mt.errors import InputError

ROWS_AT_A_TIME = 1_000


@runtime_checkable
class Table(Protocol):
    """What we use of a `datasets.Dataset` or an `IterableDataset`, so that the library is loaded only when needed."""

    column_names: list[str]

    def select_columns(self, column_names: list[str]) -> Self:
        """The same rows with these columns only."""

    def iter(self, batch_size: int) -> Iterator[Any]:
        """All rows, by batches: a dict with a list for each column."""


@dataclass(frozen=True)
class OpenTable(Part):
    """A data set of the library `datasets`; `content` is what changes whenever its rows do."""

    title: str
    table: Table
    content: tuple[str, ...] = ()
    hint: tuple[str, ...] = ()

    @property
    @override
    def name(self) -> str:
        return self.title

    @property
    @override
    def ordered(self) -> bool:
        return bool(self.hint)

    @cached_property
    @override
    def languages(self) -> tuple[str, ...]:
        if self.hint:
            return self.hint
        names = list(self.table.column_names)
        if NESTED not in names:
            return said_by_columns(names)
        for batch in self.table.select_columns([NESTED]).iter(1):
            row = batch[NESTED][0]
            return said_by_columns(row) if isinstance(row, dict) else ()
        return ()

    @override
    def rows(self, selection: Selection) -> Iterator[tuple[str, str]]:
        found = list(self.table.column_names)
        columns = selection.columns
        nested = not set(columns) <= set(found)
        if nested and NESTED not in found:
            raise missing_column(self.name, found, selection)
        table = self.table.select_columns([NESTED] if nested else list(columns))
        for number, row in enumerate(self._texts(table, columns, nested), start=1):
            for column, text in zip(columns, row, strict=True):
                place = f"{self.name}, row {number}"
                if not isinstance(text, str | None):
                    raise InputError(f"{place}: {column} is {repr(text)[:40]}, not a text; correct the row")
                require_whole_characters(text or "", place=place, column=column)
            yield row[0] or "", row[1] or ""

    @override
    def identity(self) -> list[str]:
        return list(self.content)

    def _texts(self, table: Table, columns: tuple[str, str], nested: bool) -> Iterator[tuple[Any, Any]]:
        try:
            for batch in table.iter(ROWS_AT_A_TIME):
                if nested:
                    objects = (row if isinstance(row, dict) else {} for row in batch[NESTED])
                    yield from ((row.get(columns[0]), row.get(columns[1])) for row in objects)
                else:
                    yield from zip(batch[columns[0]], batch[columns[1]], strict=True)
        except UnicodeDecodeError:
            raise InputError(f"{self.name}: holds text that is not UTF-8; correct the file") from None


@dataclass(frozen=True)
class TableFile(OneFile):
    """A file of CSV, JSON or Parquet. It is opened when its columns or rows are asked for."""

    file: DataFile
    streaming: bool = False

    @property
    @override
    def languages(self) -> tuple[str, ...]:
        return self.file.languages or self._table.languages

    @override
    def rows(self, selection: Selection) -> Iterator[tuple[str, str]]:
        return self._table.rows(selection)

    @cached_property
    def _table(self) -> OpenTable:
        """The table as `datasets` reads it; what the library stores for that is deleted when nobody needs it."""
        from datasets import load_dataset

        form, path = self.file.form, self.file.path
        folder = new_folder()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        with opened(self.file) as content:  # what is not as its name says, the library would unpack itself
            if self.file.compression:
                path = folder / f"unpacked.{form}"
                with path.open("xb") as unpacked, cache_problems():
                    shutil.copyfileobj(content, unpacked)
        with quiet_datasets(), self._problems():
            options = _csv_options(path) if form == "csv" else {}
            cache = str(folder / "datasets")
            return OpenTable(
                self.name,
                load_dataset(
                    form, data_files=str(path), split="train", cache_dir=cache, streaming=self.streaming, **options
                ),
                (),
            )

    @contextmanager
    def _problems(self) -> Iterator[None]:
        """Turn what the library and those below it raise into one line."""
        with cache_problems():
            try:
                yield
            except (OSError, InputError):
                raise
            except Exception as error:
                reason = " ".join(str(error.__cause__ or error).split())[:200] or "nothing in it"
                reason = reason.replace("/unpacked.", "/…")
                problem = f"not readable as {self.file.form} ({reason})"
                raise InputError(f"{self.name}: {problem}; correct the file") from None


def _csv_options(path: Path) -> dict[str, Any]:
    """Read every cell as the text it is: neither `7` nor `NA` is anything else."""
    from datasets import Features, Value
    from pandas import read_csv

    columns = read_csv(path, nrows=0).columns
    return {"features": Features({str(column): Value("string") for column in columns}), "na_filter": False}


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
