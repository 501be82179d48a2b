"""One training process per directory: a lock that the system releases however its process ends."""

import os
from pathlib import Path

from filelock import FileLock, Timeout

from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.ground.files import require_own, write_errors

LOCK = "training.lock"

# The locks of this process, by the directory's real path: it may open its own run again.
_held: dict[Path, FileLock] = {}


def acquire(directory: Path, *, seconds: float = 0.1) -> bool:
    """Acquire the lock until `release` or the end of the process; False if this process holds it already.

    Waits up to `seconds`. Raises `InputError` if another process still holds it then, and `MachineError` if the file is
    a link, not a regular file, or not writable. Readers need no lock.
    """
    place = directory.resolve()
    path = directory / LOCK
    if place in _held:
        return False
    if os.path.lexists(path):
        require_own(path, path.lstat())
    lock = FileLock(path, timeout=seconds, mode=0o644)  # wait a little: `is_held` elsewhere takes it for a moment
    with write_errors(path):
        try:
            lock.acquire()
        except Timeout:  # an `OSError`, which `write_errors` would catch
            remedy = "wait for it, stop it, or choose another directory"
            raise InputError(directory, "is being trained by another process", remedy) from None
    _held[place] = lock
    return True


def release(directory: Path) -> None:
    """Release the directory's lock, if this process holds it. The file stays: another may be waiting to open it."""
    if lock := _held.pop(directory.resolve(), None):
        lock.release()


def is_held(directory: Path) -> bool:
    """True if a process trains in the directory; False too if that cannot be determined."""
    if not os.path.lexists(directory / LOCK):
        return False
    try:
        is_free = acquire(directory, seconds=0.0)  # one attempt: a server asks this for every run
    except TmtError as error:
        return isinstance(error, InputError)
    if is_free:
        release(directory)
    return not is_free
