"""Reading what may come from a stranger: regular files of bounded size that no link leads to, and strict JSON."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from transformer_mt.errors import MachineError

# A FIFO must not make us wait, a link must not lead elsewhere. Not every system has all of these.
OPENING = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))

_KINDS = {
    stat.S_IFREG: "a regular file",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_REMEDY = "restore it, or train anew"


def read_regular(path: Path, *, limit: int) -> bytes:
    """What a regular file of at most `limit` bytes holds. Raises `MachineError` for anything else."""
    with open_regular(path, limit=limit) as file:
        return file.read(size_of(file))


@contextmanager
def open_regular(path: Path, *, limit: int) -> Iterator[BufferedIOBase]:
    """The same, to be read piece by piece."""
    try:
        _require_regular(path, os.lstat(path), limit)
        with os.fdopen(os.open(path, os.O_RDONLY | OPENING), "rb") as file:
            _require_regular(path, os.fstat(file.fileno()), limit)  # another may have taken its place
            yield file
    except FileNotFoundError:
        raise MachineError(f"{path}: missing; {_REMEDY}") from None
    except OSError as error:
        raise MachineError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None


def size_of(file: BufferedIOBase) -> int:
    """The bytes of an open file, wherever in it we are."""
    place = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(place)
    return size


def require_directory(path: Path) -> None:
    """Raise `MachineError` unless a directory, and no link to one, stands there."""
    try:
        found = os.lstat(path).st_mode
    except FileNotFoundError:
        raise MachineError(f"{path}: missing; {_REMEDY}") from None
    except OSError as error:
        raise MachineError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    if not stat.S_ISDIR(found):
        raise MachineError(f"{path}: {_kind(found)}, where a directory is expected; {_REMEDY}")


def parse_json(content: bytes | str) -> Any:
    """JSON without NaN, infinities and keys that come twice. Raises `ValueError` for all else, however deep or long."""
    try:
        return json.loads(content, object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _require_regular(path: Path, found: os.stat_result, limit: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise MachineError(f"{path}: {_kind(found.st_mode)}, where a regular file is expected; {_REMEDY}")
    if found.st_size > limit:
        raise MachineError(f"{path}: {found.st_size} bytes, where at most {limit} are expected; {_REMEDY}")


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "a special file")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
