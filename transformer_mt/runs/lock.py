"""One trainer a directory: an advisory lock that ends with its process, however that ends."""

import contextlib
import json
import os
import socket
import stat
import time
from pathlib import Path

from transformer_mt.errors import InputError, MachineError
from transformer_mt.files import OPEN_FLAGS, write_errors

LOCK = "training.lock"

# Who only looks whether a lock is held holds it for a moment, which must not keep a training from beginning.
_ATTEMPTS, _PAUSE = 3, 0.02

# What this process holds, by the real path of the directory: it may open its own run again.
_held: dict[Path, int] = {}


def acquire(directory: Path) -> bool:
    """Hold the directory's lock until `release` or the end of the process; False where this process holds it already.

    Raises `InputError` with process, host and time when another process holds it. A lock file that a dead process left
    holds nothing: the system has let go of it. Readers need no lock.
    """
    place = directory.resolve()
    if place in _held:
        return False
    with write_errors(directory / LOCK):
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(directory / LOCK, flags, 0o644)
    try:
        _take(descriptor, directory)
    except BaseException:
        os.close(descriptor)
        raise
    _held[place] = descriptor
    return True


def _take(descriptor: int, directory: Path) -> None:
    """Lock the open file and say in it who we are."""
    if os.fstat(descriptor).st_nlink > 1:  # whatever we wrote would stand elsewhere too
        raise MachineError(f"{directory / LOCK}: is a hard link to another file; delete it")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not _lock(descriptor):
        raise InputError(
            f"{directory}: is being trained{_holder(descriptor)}; wait for that, stop it, or choose another directory "
            "with --run-dir"
        )
    ours = {"process": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
    with write_errors(directory / LOCK):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(ours).encode(), 0)


def release(directory: Path) -> None:
    """Let go of the directory's lock, if this process holds it. The file stays: another may be waiting to open it."""
    descriptor = _held.pop(directory.resolve(), None)
    if descriptor is not None:
        os.close(descriptor)


def is_held(directory: Path) -> bool:
    """Whether somebody holds the directory's lock. Changes nothing; False on a system without such locks."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | OPEN_FLAGS)
    except OSError:
        return False
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and not _lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, shared: bool = False) -> bool:
    """Whether the file is ours now; always on a system without such locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    for attempt in range(_ATTEMPTS):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt + 1 < _ATTEMPTS:
                time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return True
        else:
            return True
    return False


def _holder(descriptor: int) -> str:
    """Who says to hold the lock, in words; nothing where the file does not say."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        found = json.loads(os.pread(descriptor, 1_000, 0))
        return f" by process {int(found['process'])} on {found['host']!s:.60} since {found['since']!s:.30}"
    return " by another process"
