"""Windows as far as it differs for us: POSIX's modules are missing, and an open file keeps its name."""

import errno
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

# Libraries that import on POSIX what is missing on Windows, where they do without.
LIBRARIES = ("datasets", "huggingface_hub.hf_file_system", "sacrebleu", "torch")

# What Python has on POSIX alone.
MISSING = ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "termios", "tty")


class _Sys:
    """The module `sys`, of Windows."""

    platform = "win32"

    def __getattr__(self, name: str) -> object:
        return getattr(sys, name)


def pretend_windows(patch: pytest.MonkeyPatch) -> None:
    """From now on our modules see Windows, and files that this process has open or mapped keep their names."""
    if not Path("/proc/self/maps").exists():
        pytest.skip("needs /proc, to tell which files are open")
    for name in ("files", "corpus.cache", "cli.lines", "cli.main"):
        patch.setattr(import_module(f"transformer_mt.{name}"), "sys", _Sys())
    for name in LIBRARIES:
        import_module(name)
    for name in MISSING:
        patch.setitem(sys.modules, name, None)
    for name in ("rename", "replace", "unlink", "remove"):
        patch.setattr(os, name, _refused_while_open(getattr(os, name)))
    patch.delattr(os, "set_blocking")


def _refused_while_open(call: Callable[..., None]) -> Callable[..., None]:
    def checked(*paths: Any, **options: Any) -> None:
        for path in paths:
            if "dir_fd" not in options and _is_open(os.path.realpath(path)):
                raise PermissionError(errno.EACCES, "The process cannot access the file", path)
        call(*paths, **options)

    return checked


def _is_open(path: str) -> bool:
    """True for a file that this process has open or mapped, and for a directory with one."""
    names = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    names += [line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text().splitlines()]
    return any(name == path or name.startswith(f"{path}/") for name in names)
