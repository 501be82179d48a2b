"""The cache folder: tables that take long to make, kept in Arrow files that are mapped into memory, not read.

What lies there can be deleted at any time while no `tmt` runs; it is made again.
"""

import hashlib
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from transformer_mt.errors import MachineError

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema, Table

VARIABLE = "TMT_CACHE"


def cache_folder() -> Path:
    """`$TMT_CACHE`, or `tmt` in the user's folder for caches."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tmt"


def new_folder() -> Path:
    """An empty folder in the cache with a name of its own, for who makes it to delete or rename."""
    folder = cache_folder() / f"{secrets.token_hex(8)}.new"
    with cache_problems():
        folder.mkdir(parents=True)
    return folder


def kept_table(key: str, schema: "Schema", batches: "Iterable[RecordBatch]") -> "Table":
    """The table that is kept under this key; where there is none, or a damaged one, that of these batches.

    Of several processes that want the same table, one makes it, and the others wait.
    """
    from filelock import FileLock
    from pyarrow import ArrowInvalid

    with cache_problems():
        path = cache_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.arrow"
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            with suppress(ArrowInvalid, FileNotFoundError):
                return _mapped(path, schema)
            part = path.with_suffix(".part")  # the lock makes it ours, and what a crash left there is written over
            _write(part, schema, batches)
            part.replace(path)
            return _mapped(path, schema)


def passing_table(schema: "Schema", batches: "Iterable[RecordBatch]") -> "Table":
    """The table of these batches, in a file that loses its name as soon as it is written, and its content with us."""
    with cache_problems():
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
        os.close(handle)
        try:
            _write(Path(name), schema, batches)
            return _mapped(Path(name), schema)
        finally:
            os.unlink(name)  # the mapping keeps the content


def _write(path: Path, schema: "Schema", batches: "Iterable[RecordBatch]") -> None:
    import pyarrow as pa

    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    pa.default_memory_pool().release_unused()  # what the batches took; Arrow would keep it for the next ones


def _mapped(path: Path, schema: "Schema") -> "Table":
    """The table of a file, whose pages are read when they are needed. Raises `ArrowInvalid` for a damaged one."""
    import pyarrow as pa

    with pa.ipc.open_stream(pa.memory_map(str(path))) as reader:
        if reader.schema != schema:
            raise pa.ArrowInvalid("another schema")
        return reader.read_all()


@contextmanager
def cache_problems() -> Iterator[None]:
    """Report a cache that cannot be written in one line."""
    try:
        yield
    except OSError as error:
        raise MachineError(
            f"{cache_folder()}: cannot be written ({error.strerror or error}); free some space or set {VARIABLE} to "
            "another folder"
        ) from None
