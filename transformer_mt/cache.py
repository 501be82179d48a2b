"""The cache folder: tables that take long to make, kept in Arrow files that are mapped into memory, not read.

What lies there can be deleted at any time while no `tmt` runs; it is made again.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
from filelock import FileLock

from transformer_mt.errors import EnvironmentProblem


def cache_folder() -> Path:
    """Where the library `datasets` keeps what it has read, in a folder of our own."""
    from datasets import config

    return Path(config.HF_DATASETS_CACHE) / "transformer_mt"


def kept_table(key: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """The table that is kept under this key; where there is none, or a damaged one, that of these batches.

    Of several processes that want the same table, one makes it, and the others wait.
    """
    with _problems():
        path = cache_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.arrow"
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            with suppress(pa.ArrowInvalid, FileNotFoundError):
                return _mapped(path, schema)
            part = path.with_suffix(".part")  # the lock makes it ours, and what a crash left there is written over
            _write(part, schema, batches)
            part.replace(path)
            return _mapped(path, schema)


def passing_table(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """The table of these batches, in a file that disappears with the process, whatever ends it."""
    with _problems():
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
        os.close(handle)
        try:
            _write(Path(name), schema, batches)
            return _mapped(Path(name), schema)
        finally:
            os.unlink(name)  # the mapping keeps the content


def _write(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _mapped(path: Path, schema: pa.Schema) -> pa.Table:
    """The table of a file, whose pages are read when they are needed. Raises `ArrowInvalid` for a damaged one."""
    with pa.ipc.open_stream(pa.memory_map(str(path))) as reader:
        if reader.schema != schema:
            raise pa.ArrowInvalid("another schema")
        return reader.read_all()


@contextmanager
def _problems() -> Iterator[None]:
    """Turn what the file system refuses into our error."""
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(
            f"{cache_folder()}: cannot be written ({error.strerror or error}); free some space or set "
            "HF_DATASETS_CACHE to another folder"
        ) from None
