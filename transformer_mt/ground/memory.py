"""Free memory, a check before large allocations, and the return of freed memory."""

import ctypes
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from transformer_mt.ground.errors import InputError

# The query takes 0.1 ms; any machine that runs at all has this many bytes free.
FREE_ANYWHERE = 2**20


def free_memory() -> int | None:
    """Free bytes of main memory, or None if the system does not say."""
    try:
        available = re.search(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return 1024 * int(available[1]) if available else None


def require(needed: int, free_bytes: Callable[[], int | None], *, what: str, remedy: str) -> None:
    """Raise `InputError` if `needed` bytes, a lower bound, exceed free memory, queried only for large amounts."""
    if needed > FREE_ANYWHERE and (free := free_bytes()) is not None and needed > free:
        raise InputError(
            what, f"needs {needed / 1000000000.0:.1f} GB of memory, {free / 1000000000.0:.1f} GB are free", remedy
        )


def return_freed() -> None:
    """Give freed memory back to the system, where the C library is glibc.

    glibc keeps what lies between blocks in use: 1 GB and more after batches of many shapes.
    """
    with suppress(OSError, AttributeError, TypeError):  # another library; Windows has no default one
        ctypes.CDLL(None).malloc_trim(0)
