"""One training per directory: a lock that the system releases when its process ends, however that happens."""

import os
import stat
from pathlib import Path

from filelock import FileLock, Timeout

from transformer_mt.errors import InputError, MachineError
from transformer_mt.files import write_errors

LOCK = "training.lock"

# `is_held` takes the lock for a moment, which must not keep a training from beginning.
_TIMEOUT = 0.1

# The locks that this process holds, by the real path of the directory: it may open its own run again.
_held: dict[Path, FileLock] = {}


def acquire(directory: Path) -> bool:
    """Hold the directory's lock until `release` or the end of the process; False where this process holds it already.

    Raises `InputError` when another process holds it. Readers need no lock.
    """
    place, path = directory.resolve(), directory / LOCK
    if place in _held:
        return False
    if os.path.lexists(path) and not (stat.S_ISREG((status := path.lstat()).st_mode) and status.st_nlink == 1):
        raise MachineError(f"{path}: is a link or not a regular file; delete it")
    lock = FileLock(path, timeout=_TIMEOUT)
    with write_errors(path):
        try:
            lock.acquire()
        except Timeout:  # an `OSError` too
            raise InputError(
                f"{directory}: is being trained by another process; wait for that, stop it, or choose another "
                "directory with --run-dir"
            ) from None
    _held[place] = lock
    return True


def release(directory: Path) -> None:
    """Release the directory's lock, if this process holds it. The file stays: another may be waiting to open it."""
    if lock := _held.pop(directory.resolve(), None):
        lock.release()


def is_held(directory: Path) -> bool:
    """True if a process trains in the directory; False also where nobody can say."""
    try:
        if not os.path.lexists(directory / LOCK):
            return False
        is_free = acquire(directory)
    except MachineError:
        return False
    except InputError:
        return True
    if is_free:
        release(directory)
    return not is_free
