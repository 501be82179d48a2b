"""CSV, JSON and Parquet, and data sets of the hub, as the library `datasets` reads them."""

import logging
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from transformer_mt.corpus.cache import cache_folder, cache_problems
from transformer_mt.corpus.compressed import opened
from transformer_mt.corpus.source import DataFile
from transformer_mt.corpus.split_source import ColumnChoice, FileSource, SplitSource, languages_of
from transformer_mt.errors import InputError

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Table

NESTED = "translation"
ROWS_AT_A_TIME = 1_000


@dataclass(frozen=True)
class DatasetSource(SplitSource):
    """A split as a `datasets.Dataset` or `IterableDataset`; `content` changes whenever its rows do."""

    title: str
    dataset: Any
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

    @property
    @override
    def languages(self) -> tuple[str, ...]:
        return self.hint or languages_of(self._nested or self._columns)

    @override
    def rows(self, columns: ColumnChoice) -> Iterator[tuple[str, str]]:
        names = list(columns.columns)
        if not self._columns:
            return  # no row says any
        is_nested = not set(names) <= set(self._columns)
        if is_nested and not set(names) <= set(self._nested):
            found = ", ".join(self._nested or self._columns) or "none"
            raise InputError(
                f"{self.name}: needs the columns {names[0]} and {names[1]}, or {NESTED} with both, and has {found}; "
                "set data.source_column and data.target_column, or data.source_language and data.target_language"
            )
        dataset = self.dataset.select_columns([NESTED] if is_nested else names)
        for table in self._tables(dataset, ROWS_AT_A_TIME):
            flat = table.flatten() if is_nested else table
            sides = (self._texts(flat[f"{NESTED}.{name}" if is_nested else name], name) for name in names)
            yield from zip(*sides, strict=True)

    @override
    def identity(self) -> list[str]:
        return list(self.content)

    @cached_property
    def _columns(self) -> list[str]:
        if (known := self.dataset.column_names) is not None:
            return list(known)
        return [] if self._first is None else self._first.column_names

    @cached_property
    def _nested(self) -> list[str]:
        """The columns within a column `translation`."""
        if NESTED not in self._columns or self._first is None:
            return []
        prefix = f"{NESTED}."
        names = self._first.select([NESTED]).flatten().column_names
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]

    @cached_property
    def _first(self) -> "Table | None":
        with closing(self._tables(self.dataset, 1)) as tables:
            return next(tables, None)

    def _tables(self, dataset: Any, rows: int) -> "Generator[Table, None, None]":
        """All rows as Arrow tables. Raises `InputError` for data that the library cannot read."""
        with library_problems(self.name):
            tables = iter(dataset.with_format("arrow").iter(rows))
        while True:
            with library_problems(self.name):
                table = next(tables, None)
            if table is None:
                return
            yield table

    def _texts(self, column: "ChunkedArray", name: str) -> list[str]:
        """A column of text; a missing one is empty."""
        from pyarrow import types

        if not (types.is_string(column.type) or types.is_large_string(column.type) or types.is_null(column.type)):
            kind = str(column.type).replace("extension<arrow.json>", "of several kinds")
            raise InputError(f"{self.name}: column {name} is {kind}, not text; correct the file")
        with library_problems(self.name):
            return [text or "" for text in column.to_pylist()]


@dataclass(frozen=True)
class TableFile(FileSource):
    """A file of CSV, JSON, JSONL or Parquet. It is opened when its columns or rows are asked for."""

    file: DataFile

    @property
    @override
    def languages(self) -> tuple[str, ...]:
        return self.file.languages or self._content.languages

    @override
    def rows(self, columns: ColumnChoice) -> Iterator[tuple[str, str]]:
        return self._content.rows(columns)

    @cached_property
    def _content(self) -> DatasetSource:
        from datasets import load_dataset

        form, path = self.file.form, self.file.path
        with cache_problems():
            cache_folder().mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=cache_folder()))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        with opened(self.file) as content:  # the library would unpack a file that is not as its name says
            if self.file.compression:
                path = folder / f"unpacked.{form}"
                with path.open("xb") as unpacked, cache_problems():
                    shutil.copyfileobj(content, unpacked)
        with library_problems(self.name):
            options = _csv_options(path) if form == "csv" else {}
            builder = "json" if form == "jsonl" else form
            # Rows are read once, cleaned and cached by us: the library need not store them too.
            dataset = load_dataset(
                builder, data_files=str(path), split="train", streaming=True, cache_dir=str(folder), **options
            )
        return DatasetSource(self.name, dataset)


def _csv_options(path: Path) -> dict[str, Any]:
    """Read every cell as the text it is, also `7` and `NA`."""
    from datasets import Features, Value
    from pandas import read_csv

    columns = read_csv(path, nrows=0).columns
    return {"features": Features({str(column): Value("string") for column in columns}), "na_filter": False}


@contextmanager
def library_problems(name: str) -> Iterator[None]:
    """Turn errors of `datasets` and the libraries below it into one line."""
    try:
        with quiet_datasets():
            yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error.__cause__ or error).split())[:200] or type(error).__name__
        raise InputError(f"{name}: cannot be read ({reason}); correct the file") from None


@contextmanager
def quiet_datasets() -> Iterator[None]:
    """Keep `datasets`, and the C++ below it, from drawing progress bars and writing between our own lines."""
    import datasets
    from huggingface_hub.utils import logging as hub_logging

    had_bars = not datasets.are_progress_bars_disabled()
    verbosity, hub_verbosity = datasets.logging.get_verbosity(), hub_logging.get_verbosity()
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(logging.CRITICAL)
    hub_logging.set_verbosity(logging.CRITICAL)
    try:
        with warnings.catch_warnings(action="ignore"), _muted_stderr():
            yield
    finally:
        if had_bars:
            datasets.enable_progress_bars()
        datasets.logging.set_verbosity(verbosity)
        hub_logging.set_verbosity(hub_verbosity)


@contextmanager
def _muted_stderr() -> Iterator[None]:
    """Discard writes to the file descriptor of stderr, also those from C++."""
    with open(os.devnull, "wb") as nowhere:
        before = os.dup(2)
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
