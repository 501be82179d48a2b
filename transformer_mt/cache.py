"""The cache folder: Arrow tables and other files that take long to make, mapped into memory instead of read.

Each content stands behind its BLAKE2b, which is compared at every opening. Deleted while no `tmt` runs, a file is made
again.
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

from transformer_mt.errors import MachineError
from transformer_mt.files import OPEN_FLAGS, remove, rename

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema, Table

VARIABLE = "TMT_CACHE"
_A_DAY = 24 * 60 * 60  # seconds
_DIGEST = 64  # bytes, a multiple of which Arrow aligns its columns to

Content = TypeVar("Content")

_LOG = logging.getLogger(__name__)


@contextmanager
def cache_folder() -> Iterator[Path]:
    """`$TMT_CACHE`, or `tmt` in the user's folder for caches. Raises `MachineError` where it cannot be written."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "tmt")
    folder = Path(os.path.expanduser(os.environ.get(VARIABLE) or default))
    if folder.parts[0].startswith("~"):
        raise MachineError(folder, "nobody's home", f"set {VARIABLE} to another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except OSError as error:
        reason = error.strerror or error
        raise MachineError(folder, f"cannot be written ({reason})", f"free some space or set {VARIABLE}") from None


@contextmanager
def temporary_file(folder: Path) -> Iterator[IO[bytes]]:
    """A new file in the cache folder, deleted at the end unless it was renamed; one of a killed process after a day."""
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
    write: Callable[[IO[bytes]], None],
    read: Callable[[memoryview], Content],
    owner: str | None = None,
) -> Content:
    """The content of the file under this key as `read` returns it, made by `write` where it is missing.

    One that is damaged, or that `read` refuses with a `ValueError`, is made anew, with a warning. One of several
    processes makes the file, the others wait for it. An `owner` has one file: a new one takes the place of those under
    other keys, of which a process that has opened them keeps the content.
    """
    with cache_folder() as folder:
        prefix = "" if owner is None else f"{_digest(owner)}-"
        path = folder / f"{prefix}{_digest(key)}{suffix}"
        with _alone(path):
            try:
                with os.fdopen(os.open(path, os.O_RDONLY | OPEN_FLAGS), "rb") as file:
                    return read(_intact(file))
            except FileNotFoundError:
                pass
            except (OSError, ValueError):  # Arrow's own errors are ValueErrors
                _LOG.warning("tmt: %s: damaged, and made anew", path)
                remove(path)
            with temporary_file(folder) as file:
                _seal(file, write)
                content = read(_intact(file))
                if sys.platform == "win32":  # which renames no file that is open
                    file.close()
                rename(Path(file.name), path)
                for other in folder.glob(f"{prefix}*") if prefix else ():
                    if other.stem != path.stem:
                        with suppress(OSError):  # on Windows, one that is open
                            other.unlink()
                return content


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def cached(key: str, schema: "Schema", batches: "Iterable[RecordBatch]", read: "Callable[[Table], Content]") -> Content:
    """The table under this key as `read` returns it, made from these batches where it is missing: a `cached_file`."""
    write = partial(_write, schema=schema, batches=batches)
    return cached_file(key, ".arrow", write=write, read=lambda view: read(_table(view, schema)))


def temporary_table(schema: "Schema", batches: "Iterable[RecordBatch]") -> "Table":
    """The table of these batches, in a file that is deleted at once; the mapping keeps its content."""
    with cache_folder() as folder, temporary_file(folder) as file:
        _seal(file, partial(_write, schema=schema, batches=batches))
        return _table(_intact(file), schema)


def _write(file: IO[bytes], schema: "Schema", batches: "Iterable[RecordBatch]") -> None:
    import pyarrow as pa

    batches = iter(batches)
    first = next(batches, pa.record_batch([[]] * len(schema), schema=schema))  # its schema may have metadata
    with pa.ipc.new_file(file, first.schema) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)
    pa.default_memory_pool().release_unused()  # Arrow would keep the memory of the batches for the next ones


def _table(view: memoryview, schema: "Schema") -> "Table":
    """The table of a file, whose pages are read when they are needed. Raises `ValueError` for another schema."""
    import pyarrow as pa

    with pa.ipc.open_file(pa.py_buffer(view)) as reader:
        table = reader.read_all()
    if not table.schema.equals(schema):
        raise ValueError("another schema")
    return table


def _seal(file: IO[bytes], write: Callable[[IO[bytes]], None]) -> None:
    """Write a content behind its digest."""
    file.write(bytes(_DIGEST))
    write(file)
    file.flush()
    digest = hashlib.blake2b(_view(file)[_DIGEST:]).digest()
    file.seek(0)
    file.write(digest)
    file.flush()


def _intact(file: IO[bytes]) -> memoryview:
    """The content of a file. Raises `ValueError` where it is not the one that was written."""
    view = _view(file)
    if view[:_DIGEST] != hashlib.blake2b(view[_DIGEST:]).digest():
        raise ValueError("another content")
    return view[_DIGEST:]


def _view(file: IO[bytes]) -> memoryview:
    if sys.platform == "win32":  # which neither renames nor deletes a file that is mapped
        file.seek(0)
        return memoryview(file.read())
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait for other processes that make the same file; without locks they all do, which takes only time."""
    from filelock import FileLock, Timeout

    lock = FileLock(path.with_suffix(".lock"), timeout=1, fallback_to_soft=False)
    with ExitStack() as stack:
        try:
            stack.enter_context(lock)
        except Timeout:
            _LOG.warning("tmt: waiting for another process, which makes %s", path)
            stack.enter_context(lock.acquire(timeout=-1))
        except OSError:
            pass
        yield
