"""Crashes before each change to the disk, one at a time."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


class Crash(BaseException):
    """The process ends here; no handler of the package catches it."""


class CrashingSystem:
    """Counts the calls that change the disk, and crashes before one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, before: int) -> None:
        self.left = before
        for owner, name in ((os, "fsync"), (Path, "mkdir"), (Path, "rename"), (Path, "replace"), (Path, "open")):
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))
        monkeypatch.setattr("transformer_mt.ground.files.shutil.rmtree", self._counted(_rmtree))

    def _counted(self, change: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object, **options: object) -> object:
            self.left -= 1
            if self.left < 0:
                raise Crash
            return change(*arguments, **options)

        return counted


def _rmtree(path: Path, ignore_errors: bool = False) -> None:
    if path.exists():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()


def crash_everywhere(write: Callable[[], None], check: Callable[[], None]) -> int:
    """Crash before the first change, then before the second …, and check each state; return the number of changes."""
    for changes in range(100):
        with pytest.MonkeyPatch.context() as monkeypatch:
            CrashingSystem(monkeypatch, before=changes)
            try:
                write()
            except Crash:
                pass
            else:
                return changes
        check()
    raise AssertionError("endless")
