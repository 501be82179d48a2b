"""Parquet files, and hub data sets as Arrow tables via the library `datasets`."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.data_file import DataFile, digest_of
from transformer_mt.corpus.source import (
    Hub,
    PlacedRecords,
    Sources,
    SourcesAndNotes,
    SplitSource,
    flat,
    is_language,
    sides,
)
from transformer_mt.ground.errors import InputError, MachineError, TmtError

_ROWS = 1_000  # per batch
_TIMEOUT = 5.0  # seconds; the hub's own client would try for 30


def table_rows(name: str, open: Callable[[], Iterable[Any]]) -> PlacedRecords:
    """Yield the rows of Arrow tables. Raises `InputError` for data that the library cannot read."""
    tables: Iterator[Any] | None = None
    while True:
        try:
            with quiet_datasets():
                tables = tables or iter(open())
                if (table := next(tables, None)) is None:
                    return
                table.validate(full=True)  # a damaged copy of a hub data set would crash the process
                rows = table.to_pylist()
        except (InputError, MemoryError):
            raise
        except Exception as error:  # from `datasets` and the libraries below it
            reason = " ".join(str(error.__cause__ or error).split())[:200] or type(error).__name__
            raise InputError(name, f"cannot be read ({reason})", "correct the file") from None
        for row in rows:
            yield name, flat(row)


def parquet_rows(file: DataFile) -> PlacedRecords:
    """Yield the rows of a Parquet file."""
    from pyarrow.parquet import ParquetFile

    return table_rows(str(file.path), lambda: ParquetFile(file.plain).iter_batches(_ROWS))


@contextmanager
def quiet_datasets() -> Iterator[None]:
    """Silence `datasets` and the C++ below it, on `sys.stderr` and on its file descriptor."""
    before = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere), warnings.catch_warnings(action="ignore"):
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(before, 2)
        os.close(before)


def open_hub(source: Hub, config: DataConfig, *, offline: bool = False) -> SourcesAndNotes:
    """Open the splits of a hub data set, or of its cached copy if the hub is unreachable or `offline`, and a note.

    Never runs code from a data set. Raises `MachineError` without hub and copy, `InputError` for a data set that does
    not exist or cannot be read.
    """
    import datasets
    from huggingface_hub import HfApi

    one, other = sides(config, (), name=source.name)
    names = [f"{one}-{other}", f"{other}-{one}"]
    with quiet_datasets():
        try:
            if offline:
                raise MachineError(source.name, "not on disk")
            with _hub_problems(source.name, "no such file or folder, and the hub cannot be reached"):
                api = HfApi(endpoint=datasets.config.HF_ENDPOINT)
                commit = str(api.dataset_info(source.name, revision=source.revision, timeout=_TIMEOUT).sha)
        except MachineError:
            before = datasets.config.HF_HUB_OFFLINE
            datasets.config.HF_HUB_OFFLINE = True
            try:
                for configuration in [source.configuration] if source.configuration else [*names, None]:
                    with suppress(TmtError):
                        splits = _splits(replace(source, configuration=configuration))
                        return splits, [f"{source.name}: cannot reach the hub, using the cached copy"]
            finally:
                datasets.config.HF_HUB_OFFLINE = before
            raise
        source = Hub(source.name, _configuration(source, commit, names), commit)
        note = f"{source.name}: {source.configuration or 'the only configuration'}, revision {commit}"
        return _splits(source, commit=commit), [note]


def _configuration(source: Hub, commit: str, candidates: list[str]) -> str | None:
    """The requested configuration, or the first existing candidate; None if the data set has at most one."""
    from datasets import get_dataset_config_names

    with _hub_problems(source.name):
        names: list[str] = get_dataset_config_names(source.name, revision=commit)
    if source.configuration is None and len(names) <= 1:
        return None
    wanted = [source.configuration] if source.configuration else candidates
    if chosen := [name for name in wanted if name in names]:
        return chosen[0]
    has = f"has {', '.join(names[:9])}, but not {wanted[0]}"
    raise InputError(source.name, has, f"name one as in {source.name}:{names[0]}")


def _splits(source: Hub, *, commit: str = "") -> Sources:
    from datasets import load_dataset

    name = source.name
    configuration = source.configuration or ""
    with _hub_problems(name):
        tables = load_dataset(name, source.configuration, revision=source.revision)
    parts = tuple(configuration.split("-"))
    languages = parts if len(parts) == 2 and all(map(is_language, parts)) else ()

    def split_source(split: str, table: Any) -> SplitSource:
        content = commit or " ".join(digest_of(Path(file["filename"])) for file in table.cache_files)
        read = partial(table_rows, f"{name} {split}", lambda: table.with_format("arrow").iter(_ROWS))
        return SplitSource(f"{name} {split}", [name, configuration, split, content], read, languages)

    return {split: split_source(split, table) for split, table in tables.items()}


@contextmanager
def _hub_problems(name: str, failure: str = "loading failed") -> Iterator[None]:
    """Turn errors of `datasets` and the hub's client into `TmtError`s."""
    from datasets.exceptions import DatasetNotFoundError
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except TmtError:
        raise
    except (DatasetNotFoundError, RepositoryNotFoundError, RevisionNotFoundError):
        missing = "no such file or folder, and no such data set or revision on the hub (or no access to it)"
        raise InputError(name, missing, "check the spelling") from None
    except Exception as error:  # versions of the hub's client use different HTTP libraries
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        if "script" in str(error) or "trust_remote_code" in str(error):
            raise InputError(name, "this data set needs a script, and tmt runs no remote code", "give texts") from None
        raise MachineError(name, f"{failure} ({reason})", "give a file or folder instead") from None
