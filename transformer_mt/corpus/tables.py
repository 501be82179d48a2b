"""JSON and Parquet, and data sets of the hub, as the library `datasets` reads them."""

import os
import re
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.data_file import DataFile, digest_of
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.source import (
    ColumnChoice,
    Hub,
    SplitSource,
    default_direction,
    find_columns,
    is_language,
    languages_of,
)
from transformer_mt.errors import InputError, MachineError, TmtError

if TYPE_CHECKING:
    from pyarrow import Table

NESTED = "translation"
ROWS_AT_A_TIME = 1_000

# Columns, or different keys at any depth; and how deep they are nested, where Arrow would refuse them too.
_MOST_COLUMNS, _DEEPEST, _LOOKED_AT = 5_000, 64, 10_000
# A string of JSON, which may be a key, or a bracket.
_TOKENS = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)(?:"\s*(:)?)?|[][{}]')
_TIMEOUT = 5.0  # seconds; the hub's own client would try for half a minute


class TableSource(SplitSource):
    """A split as a `datasets.Dataset` or `IterableDataset`, opened when its columns or rows are asked for.

    Both sides are columns, or fields of one column `translation`.
    """

    def __init__(self, name: str, identity: list[str], open: Callable[[], Any], languages: tuple[str, ...]) -> None:
        super().__init__(name, identity)
        self._open, self._languages = open, languages

    @override
    def languages(self) -> tuple[str, ...]:
        return self._languages or languages_of(name.removeprefix(f"{NESTED}.") for name in self._columns)

    @override
    def pairs(self, columns: ColumnChoice) -> Iterator[SentencePair]:
        for prefix in ("", f"{NESTED}."):
            fields = [name.removeprefix(prefix) for name in self._columns if name.startswith(prefix)]
            if found := find_columns(fields, columns, languages=self._languages, place=self.name):
                break
        else:
            if not self._columns:
                return
            has = ", ".join(name.removeprefix(f"{NESTED}.") for name in self._columns)
            needs = "needs the columns {} and {}".format(*columns.columns)
            remedy = "set data.source_column and data.target_column, or the languages"
            raise InputError(f"{self.name}: {needs}, and has {has}; {remedy}")
        paths = [f"{prefix}{fields[place]}" for place in found]
        dataset = self._dataset.select_columns([NESTED] if prefix else paths)
        for table in self._tables(dataset, ROWS_AT_A_TIME):
            yield from map(SentencePair, *(self._texts(table, path) for path in paths))

    @cached_property
    def _dataset(self) -> Any:
        return self._open()

    @cached_property
    def _columns(self) -> list[str]:
        """The names of columns, fields of `translation` as `translation.de`; none where there is no row to tell."""
        names = self._dataset.column_names
        if names is not None and NESTED not in names:
            return list(names)
        with closing(self._tables(self._dataset, 1)) as tables:
            return next((table.column_names for table in tables), [])

    def _tables(self, dataset: Any, rows: int) -> "Generator[Table, None, None]":
        """All rows as Arrow tables of flat columns. Raises `InputError` for data that the library cannot read."""
        with library_problems(self.name):
            tables = iter(dataset.with_format("arrow").iter(rows))
        while True:
            with library_problems(self.name):
                if (table := next(tables, None)) is None:
                    return
                table.validate(full=True)  # a damaged copy of a hub data set would end the process
            yield table.flatten()

    def _texts(self, table: "Table", name: str) -> list[str]:
        """A column of text; a missing text is empty."""
        column = table[name]
        if str(column.type) not in ("string", "large_string", "null"):
            raise InputError(f"{self.name}: column {name} is {column.type}, not text; correct the file")
        with library_problems(self.name):
            return [text or "" for text in column.to_pylist()]


def table_file(file: DataFile) -> TableSource:
    """A file of JSON, JSONL or Parquet."""
    return TableSource(str(file.path), file.identity, partial(_load_file, file), file.languages)


def _load_file(file: DataFile) -> Any:
    from datasets import load_dataset

    path, form = file.plain, "json" if file.form == "jsonl" else file.form
    with library_problems(str(file.path)), TemporaryDirectory() as own:
        _require_simple(path, form)
        # Rows are read once, cleaned and cached by us: the library need not store them too.
        return load_dataset(form, data_files=str(path), split="train", streaming=True, cache_dir=own)


def _unusual(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The first lines, and then those that are not an object each, or nest: of large files, few need a closer look."""
    for number, line in enumerate(lines):
        is_object = line.startswith(b"{") and line.endswith((b"}\n", b"}\r\n", b"}"))
        if number < _LOOKED_AT or not is_object or line.count(b"{") + line.count(b"[") > _DEEPEST:
            yield line


def _require_simple(path: Path, form: str) -> None:
    """Raise `ValueError` for rows with which the library would crash, or be busy for minutes."""
    depth, columns = 0, set[Any]()
    if form == "parquet":
        from pyarrow.parquet import read_metadata

        columns.update(range(read_metadata(path).num_columns))
    with path.open("rb") as lines:
        for token in chain.from_iterable(map(_TOKENS.finditer, _unusual(lines) if form == "json" else ())):
            if token.lastindex == 2:
                columns.add(token[1])
            elif not token.lastindex:
                depth = max(depth + (1 if token[0] in b"[{" else -1), 0)
            if len(columns) > _MOST_COLUMNS or depth > _DEEPEST:
                break
    if len(columns) > _MOST_COLUMNS or depth > _DEEPEST:
        raise ValueError(f"over {_MOST_COLUMNS:,} columns or {_DEEPEST} levels, where two texts are enough")


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
    """Keep `datasets`, and the C++ below it, from writing between our own lines: by stderr or by its descriptor."""
    before = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere), warnings.catch_warnings(action="ignore"):
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(before, 2)
        os.close(before)


def open_hub(source: Hub, config: DataConfig) -> tuple[dict[str, SplitSource], list[str]]:
    """The splits of a data set on the hub, or of its copy in the cache where the hub cannot be reached, and a note.

    Code that comes with a data set is never run. Raises `MachineError` without hub and copy, `InputError` for a
    data set that does not exist or cannot be read.
    """
    import datasets

    one, other = default_direction(config)
    names = [f"{one}-{other}", f"{other}-{one}"]
    with quiet_datasets():
        try:
            commit = _commit(source)
        except MachineError:
            before, datasets.config.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE, True
            try:
                for configuration in [source.configuration] if source.configuration else [*names, None]:
                    with suppress(TmtError):
                        splits = _splits(replace(source, configuration=configuration), streaming=False)
                        return splits, [f"{source.name}: the copy in the cache, without the hub"]
            finally:
                datasets.config.HF_HUB_OFFLINE = before
            raise
        source = Hub(source.name, _configuration(source, commit, names), commit)
        note = f"{source.name}: {source.configuration or 'the only configuration'}, revision {commit}"
        return _splits(source, streaming=config.streaming, commit=commit), [note]


def _commit(source: Hub) -> str:
    """The commit that a revision means. Raises `MachineError` where the hub cannot be reached."""
    from datasets import config
    from huggingface_hub import HfApi

    with _hub_problems(source.name, "no such file or folder, and the hub cannot be reached"):
        api = HfApi(endpoint=config.HF_ENDPOINT)
        return str(api.dataset_info(source.name, revision=source.revision, timeout=_TIMEOUT).sha)


def _configuration(source: Hub, commit: str, candidates: list[str]) -> str | None:
    """The configuration that is asked for, or one of these candidates; None when there is nothing to choose."""
    from datasets import get_dataset_config_names

    with _hub_problems(source.name):
        names: list[str] = get_dataset_config_names(source.name, revision=commit)
    if source.configuration is None and len(names) <= 1:
        return None
    wanted = [source.configuration] if source.configuration else candidates
    if chosen := [name for name in wanted if name in names]:
        return chosen[0]
    has = f"has {', '.join(names[:9])}, but not {wanted[0]}"
    raise InputError(f"{source.name}: {has}; name one as in --data {source.name}:{names[0]}")


def _splits(source: Hub, *, streaming: bool, commit: str = "") -> dict[str, SplitSource]:
    from datasets import load_dataset

    name, configuration = source.name, source.configuration or ""
    with _hub_problems(name):
        tables = load_dataset(name, source.configuration, revision=source.revision, streaming=streaming)
    parts = tuple(configuration.split("-"))
    languages = parts if len(parts) == 2 and all(map(is_language, parts)) else ()

    def split_source(split: str, table: Any) -> TableSource:
        content = commit or " ".join(digest_of(Path(file["filename"])) for file in table.cache_files)
        return TableSource(f"{name} {split}", [name, configuration, split, content], lambda: table, languages)

    return {split: split_source(split, table) for split, table in tables.items()}


@contextmanager
def _hub_problems(name: str, failure: str = "loading failed") -> Iterator[None]:
    """Turn errors of `datasets` and the hub's client into ours."""
    from datasets.exceptions import DatasetNotFoundError
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except TmtError:
        raise
    except (DatasetNotFoundError, RepositoryNotFoundError, RevisionNotFoundError):
        missing = "no such file or folder, and no such data set or revision on the hub (or no access to it)"
        raise InputError(f"{name}: {missing}; check the spelling") from None
    except Exception as error:  # the HTTP library below differs between versions of the hub's client
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        if "script" in str(error) or "trust_remote_code" in str(error):
            raise InputError(f"{name}: this data set is a program, and tmt runs no remote code; give texts") from None
        raise MachineError(f"{name}: {failure} ({reason}); give a file or folder in its place") from None
