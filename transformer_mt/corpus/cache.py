"""The cache folder: Arrow tables that take long to make, mapped into memory instead of read.

Everything in it can be deleted while no `tmt` runs; it is made again.
"""

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from transformer_mt.errors import MachineError

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema, Table

VARIABLE = "TMT_CACHE"

Content = TypeVar("Content")

_LOG = logging.getLogger(__name__)


@contextmanager
def cache_folder() -> Iterator[Path]:
    """`$TMT_CACHE`, or `tmt` in the user's folder for caches. Raises `MachineError` where it cannot be written."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tmt")
    folder = Path(os.environ.get(VARIABLE) or default).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except OSError as error:
        reason = error.strerror or error
        raise MachineError(f"{folder}: cannot be written ({reason}); free some space or set {VARIABLE}") from None


def cached(key: str, schema: "Schema", batches: "Iterable[RecordBatch]", read: "Callable[[Table], Content]") -> Content:
    """The table under this key as `read` returns it, made from these batches where it is missing.

    One that is cut off, or has another schema, or that `read` refuses is made anew, with a warning. One of several
    processes makes the table, the others wait for it.
    """
    from filelock import FileLock

    with cache_folder() as folder:
        path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.arrow"
        with FileLock(path.with_suffix(".lock")):
            try:
                return read(_mapped(path, schema))
            except FileNotFoundError:
                pass
            except (AttributeError, KeyError, TypeError, ValueError):  # Arrow's own errors are ValueErrors
                _LOG.warning("tmt: %s: damaged, and made anew", path)
            part = path.with_suffix(".part")  # the lock makes it ours; what a crash left there is overwritten
            _write(part, schema, batches)
            part.replace(path)
            return read(_mapped(path, schema))


def temporary_table(schema: "Schema", batches: "Iterable[RecordBatch]") -> "Table":
    """The table of these batches, in a file that is deleted at once; the mapping keeps its content."""
    with cache_folder() as folder, tempfile.NamedTemporaryFile(dir=folder, suffix=".part") as file:
        _write(Path(file.name), schema, batches)
        return _mapped(Path(file.name), schema)


def _write(path: Path, schema: "Schema", batches: "Iterable[RecordBatch]") -> None:
    import pyarrow as pa

    batches = iter(batches)
    first = next(batches, pa.record_batch([[]] * len(schema), schema=schema))  # its schema may have metadata
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, first.schema) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)
    pa.default_memory_pool().release_unused()  # Arrow would keep the memory of the batches for the next ones


def _mapped(path: Path, schema: "Schema") -> "Table":
    """The table of a file, whose pages are read when they are needed. Raises `ValueError` for a damaged one."""
    import pyarrow as pa

    with pa.ipc.open_file(pa.memory_map(str(path))) as reader:
        table = reader.read_all()
    table.validate()
    if not table.schema.equals(schema):
        raise ValueError("another schema")
    return table
