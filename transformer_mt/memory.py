"""The memory that is free, and a refusal of what needs more."""

import re
from collections.abc import Callable
from pathlib import Path

from transformer_mt.errors import InputError

# Asking takes a tenth of a millisecond, and a machine that runs at all has this many bytes.
FREE_ANYWHERE = 2**20


def free_memory() -> int | None:
    """Free bytes of the machine, without a GPU's; None where the system does not say."""
    try:
        available = re.search(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    return 1024 * int(available[1]) if available else None


def require(needed: int, free_bytes: Callable[[], int | None], *, what: str, remedy: str) -> None:
    """Raise `InputError` where `needed` bytes, a lower bound, are more than are free, which is asked if it matters."""
    if needed > FREE_ANYWHERE and (free := free_bytes()) is not None and needed > free:
        raise InputError(
            what, f"needs {needed / 1000000000.0:.1f} GB of memory, {free / 1000000000.0:.1f} GB are free", remedy
        )
