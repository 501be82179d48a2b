"""A failing disk: the n-th change below a directory is refused, torn, or crashes the process."""

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

# Functions of `os` that change a directory; their first argument is the path or descriptor.
CALLS = ("open", "fsync", "replace", "rename", "mkdir", "unlink", "remove", "rmdir", "ftruncate", "pwrite", "write")


class Crash(BaseException):
    """The process ends here; no handler of the package catches it."""


class FailingDisk:
    """Counts the operations that change something below `directory`, and makes number `fails` fail.

    `fault` makes the exception. A failing write first writes half of its bytes.
    """

    def __init__(self, directory: Path, *, fails: int, fault: Callable[[str], BaseException]) -> None:
        self.directory, self.fails, self.fault = os.path.realpath(directory), fails, fault
        self.count = 0

    def concerns(self, target: Any) -> bool:
        """Whether a path or a descriptor is below the directory."""
        try:
            path = os.readlink(f"/proc/self/fd/{target}") if isinstance(target, int) else os.path.realpath(target)
        except (OSError, TypeError, ValueError):
            return False
        return path == self.directory or path.startswith(self.directory + os.sep)

    def meet(self, target: Any) -> None:
        """Count an operation on the target; raise if it is the failing one."""
        if self.concerns(target):
            self.count += 1
            if self.count == self.fails:
                raise self.fault(str(target))

    def writes(self, flags: int) -> bool:
        """Whether these flags open a file for writing."""
        return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


@contextmanager
def failing(disk: FailingDisk) -> Iterator[FailingDisk]:
    """Route Python's disk operations through the failing disk."""
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, _watched(name, getattr(os, name), disk))
        plain = builtins.open

        def watched_open(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
            if set(mode) & set("wax+"):
                disk.meet(file)
            opened = plain(file, mode, *arguments, **named)
            return _Torn(opened, disk) if "b" in mode and set(mode) & set("wax+") and disk.concerns(file) else opened

        patch.setattr(builtins, "open", watched_open)
        patch.setattr(io, "open", watched_open)
        yield disk


def _watched(name: str, plain: Callable[..., Any], disk: FailingDisk) -> Callable[..., Any]:
    def call(target: Any, *arguments: Any, **named: Any) -> Any:
        changes = name != "open" or disk.writes(arguments[0] if arguments else named.get("flags", 0))
        if changes and not (name == "mkdir" and os.path.isdir(target)):  # filelock ensures its directory exists
            disk.meet(target)
        return plain(target, *arguments, **named)

    return call


class _Torn:
    """A binary file whose failing write leaves half of its bytes."""

    def __init__(self, file: Any, disk: FailingDisk) -> None:
        self._file, self._disk = file, disk

    def write(self, content: bytes) -> int:
        try:
            self._disk.meet(self._file.fileno())
        except BaseException:
            self._file.write(content[: len(content) // 2])
            self._file.flush()
            raise
        return int(self._file.write(content))

    def __enter__(self) -> "_Torn":
        return self

    def __exit__(self, *arguments: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def crash_everywhere(directory: Path, write: Callable[[], None], check: Callable[[], None]) -> int:
    """Crash at the first change, then at the second …, and check each state; return the number of changes."""
    for number in range(1, 100):
        with failing(FailingDisk(directory, fails=number, fault=Crash)) as disk, suppress(Crash):
            write()
        if disk.count < number:
            return disk.count
        check()
    raise AssertionError("endless")
