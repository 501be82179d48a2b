"""The errors a person can cause or meet, each with the exit code that `tmt` ends with.

A message reads `<file, line or option>: what is wrong; what to do`. Everything else that is raised is a bug of ours.
"""

import errno
import re

# torch has no common class for what CPU and CUDA raise.
_NO_MEMORY = re.compile(r"out of memory|not enough memory|allocate memory|bad_alloc")


class TmtError(Exception):
    """Base of every error that `tmt` reports in one line instead of a traceback."""

    exit_code = 2


class InputError(TmtError):
    """The user's input is wrong: a configuration, an option, a file's content. Exit code 2."""


class MachineError(TmtError):
    """The machine cannot do it: no network, no such device, a full disk, a damaged file. Exit code 3."""

    exit_code = 3


class Diverged(TmtError):  # noqa: N818 - said as it is
    """Training met a number that is not finite. Exit code 4."""

    exit_code = 4


def is_out_of_memory(error: BaseException) -> bool:
    """True where the machine, or its GPU, has refused memory."""
    refused = isinstance(error, RuntimeError) and _NO_MEMORY.search(str(error)) is not None
    return refused or isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
