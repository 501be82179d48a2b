"""The cache folder: Arrow tables and other expensive files, memory-mapped instead of read.

Each file starts with the BLAKE2b digest of its content, checked on every open. You can delete the files while no `tmt`
runs; they are rebuilt on demand.
"""

import hashlib
import logging
import mmap
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from transformer_mt.ground.errors import MachineError
from transformer_mt.ground.files import OPEN_FLAGS, remove, rename

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema, Table

VARIABLE = "TMT_CACHE"
_A_DAY = 24 * 60 * 60  # seconds
_DIGEST = 64  # bytes; Arrow aligns its columns to multiples of it

Content = TypeVar("Content")

_LOG = logging.getLogger(__name__)


@contextmanager
def cache_folder() -> Iterator[Path]:
    """Yield `$TMT_CACHE`, or `tmt` in the user's cache folder. Raises `MachineError` if it is not writable."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "tmt")
    folder = Path(os.path.expanduser(os.environ.get(VARIABLE) or default))
    if folder.parts[0].startswith("~"):
        raise MachineError(folder, "unknown home directory", f"set {VARIABLE} to another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except OSError as error:
        reason = error.strerror or error
        raise MachineError(folder, f"cannot be written ({reason})", f"free some space or set {VARIABLE}") from None


@contextmanager
def temporary_file(folder: Path) -> Iterator[IO[bytes]]:
    """A new file in the cache folder, deleted on exit unless renamed. Files of killed processes go after a day."""
    for path in folder.glob("*.part"):
        with suppress(OSError):
            if path.lstat().st_mtime < time.time() - _A_DAY:
                path.unlink()
    name = folder / f"{secrets.token_hex(8)}.part"
    try:
        with name.open("x+b") as file:
            yield file
    finally:
        name.unlink(missing_ok=True)


def cached_file(
    key: str,
    suffix: str,
    *,
    write: Callable[[IO[bytes]], object],
    read: Callable[[memoryview], Content],
    owner: str = "",
) -> Content:
    """Return `read` of the file cached under this key. `write` makes a missing file.

    A file that is damaged, or makes `read` raise `ValueError`, is made again with a warning. If several processes
    need the same file, one makes it and the others wait. At most one file per `owner` is kept: a new key replaces the
    old file, and processes that have it open can still read it.
    """
    with cache_folder() as folder:
        prefix = owner and f"{_digest(owner)}-"
        path = folder / f"{prefix}{_digest(key)}{suffix}"
        with _alone(path):
            try:
                return read(_intact(path))
            except FileNotFoundError:
                pass
            except (OSError, ValueError):  # Arrow's own errors are ValueErrors
                _LOG.warning("tmt: %s: damaged; making it again", path)
                remove(path)
            with temporary_file(folder) as file:
                _seal(file, write)
                file.close()  # Windows cannot rename an open file
                rename(Path(file.name), path)
            for other in folder.glob(f"{prefix}*") if prefix else ():
                if other.stem != path.stem:
                    with suppress(OSError):  # on Windows, if it is open
                        other.unlink()
            return read(_intact(path))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def cached(key: str, schema: "Schema", batches: "Iterable[RecordBatch]", read: "Callable[[Table], Content]") -> Content:
    """Return `read` of the table cached under this key. A missing one is made from the batches; see `cached_file`."""
    write = partial(_write, schema=schema, batches=batches)
    return cached_file(key, ".arrow", write=write, read=lambda view: read(_table(view, schema)))


def temporary_table(schema: "Schema", batches: "Iterable[RecordBatch]") -> "Table":
    """A table of these batches in a file that is already deleted. The mapping keeps its content alive."""
    with cache_folder() as folder, temporary_file(folder) as file:
        _seal(file, partial(_write, schema=schema, batches=batches))
        return _table(_view(file)[_DIGEST:], schema)


def _write(file: IO[bytes], schema: "Schema", batches: "Iterable[RecordBatch]") -> None:
    import pyarrow as pa

    batches = iter(batches)
    first = next(batches, pa.record_batch([[]] * len(schema), schema=schema))  # its schema may have metadata
    with pa.ipc.new_file(file, first.schema) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)
    pa.default_memory_pool().release_unused()  # Arrow would keep the memory of the batches


def _table(view: memoryview, schema: "Schema") -> "Table":
    """The table in a file, paged in on demand. Raises `ValueError` if the schema differs."""
    import pyarrow as pa

    with pa.ipc.open_file(pa.py_buffer(view)) as reader:
        table = reader.read_all()
    if not table.schema.equals(schema):
        raise ValueError("another schema")
    return table


def _seal(file: IO[bytes], write: Callable[[IO[bytes]], object]) -> None:
    """Write the digest, then the content."""
    file.write(bytes(_DIGEST))
    write(file)
    file.flush()
    digest = hashlib.blake2b(_view(file)[_DIGEST:]).digest()
    file.seek(0)
    file.write(digest)
    file.flush()


def _intact(path: Path) -> memoryview:
    """The content of a file. Raises `ValueError` if it does not match its digest."""
    with os.fdopen(os.open(path, os.O_RDONLY | OPEN_FLAGS), "rb") as file:
        view = _view(file)
    if view[:_DIGEST] != hashlib.blake2b(view[_DIGEST:]).digest():
        raise ValueError("another content")
    return view[_DIGEST:]


def _view(file: IO[bytes]) -> memoryview:
    if sys.platform == "win32":  # can neither rename nor delete a mapped file
        file.seek(0)
        return memoryview(file.read())
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock of a cache file. Where locks do not work, every process makes the file; that only costs time."""
    from filelock import FileLock, Timeout

    lock = FileLock(path.with_suffix(".lock"), timeout=1, fallback_to_soft=False)
    with ExitStack() as stack:
        try:
            stack.enter_context(lock)
        except Timeout:
            _LOG.warning("tmt: waiting for another process to make %s", path)
            stack.enter_context(lock.acquire(timeout=-1))
        except OSError:
            pass
        yield
