"""The disk operations of a piece of code, in order; a simulated crash cannot show unflushed data."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


class RecordedDisk:
    """Records what is flushed, renamed, made and removed below `root`; the operations still happen.

    An operation reads `flush a`, `rename a b`, `make a` or `remove a`, with paths relative to `root`. `flushed` has the
    content of each file when it was flushed.
    """

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root = root.resolve()
        self.operations: list[str] = []
        self.flushed: dict[str, bytes] = {}
        self._inside = False  # `shutil.rmtree` removes file by file
        patch.setattr(os, "fsync", self._recorded(os.fsync, self._flush))
        patch.setattr(os, "rename", self._recorded(os.rename, self._rename))
        patch.setattr(os, "replace", self._recorded(os.replace, self._rename))
        patch.setattr(os, "mkdir", self._recorded(os.mkdir, self._make))
        for owner, name in ((os, "unlink"), (os, "remove"), (os, "rmdir"), (shutil, "rmtree")):
            patch.setattr(owner, name, self._recorded(getattr(owner, name), self._remove))

    def _recorded(self, change: Callable[..., None], note: Callable[..., str | None]) -> Callable[..., None]:
        def recorded(*arguments: object, **options: object) -> None:
            outermost = not self._inside
            if outermost and (operation := note(*arguments)):
                self.operations.append(operation)
            self._inside = True
            try:
                change(*arguments, **options)
            finally:
                self._inside = not outermost

        return recorded

    def _name(self, path: str | Path) -> str:
        """The path relative to the root; temporary names without their random part."""
        return re.sub(r"\.[0-9a-f]{16}\.new", ".new", Path(path).resolve().relative_to(self.root).as_posix())

    def _flush(self, descriptor: int) -> str:
        found = os.fstat(descriptor)
        path = next(path for path in (self.root, *self.root.rglob("*")) if os.path.samestat(path.stat(), found))
        if path.is_file():
            self.flushed[self._name(path)] = path.read_bytes()
        return f"flush {self._name(path)}"

    def _rename(self, old: str | Path, new: str | Path) -> str:
        return f"rename {self._name(old)} {self._name(new)}"

    def _make(self, path: str | Path, *_: object) -> str | None:
        return None if Path(path).exists() or not Path(path).parent.exists() else f"make {self._name(path)}"

    def _remove(self, path: str | Path, *_: object) -> str | None:
        return f"remove {self._name(path)}" if Path(path).exists() else None
