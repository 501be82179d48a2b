"""Expected errors, each with `tmt`'s exit code.

A message reads `<file, line or option>: <problem>; <remedy>`. Any other exception is a bug, in tmt or in the caller.
"""

import errno
import re
import sys
from typing import Any

from typing_extensions import override

NOT_FINITE = ("the model", "its numbers are not finite", "restore its weights or train it again")

# CPU and CUDA errors share no class.
_NO_MEMORY = re.compile(r"out of memory|not enough memory|allocate memory|bad_alloc")


class TmtError(Exception):
    """Base of every error that `tmt` reports in one line instead of a traceback.

    `key` says where: a file and line, a configuration key, or an argument name. Each interface renders an argument in
    its own way: `--beam` on the command line, `search.beam` in the HTTP API, `beam` in Python.
    """

    exit_code = 2

    def __init__(self, key: Any, problem: str, remedy: str = "") -> None:
        super().__init__(key, problem, remedy)
        self.key = key
        self.problem = problem
        self.remedy = remedy

    @override
    def __str__(self) -> str:
        """`key: problem; remedy`."""
        return f"{self.key}: {self.problem}{f'; {self.remedy}' if self.remedy else ''}"


class InputError(TmtError):
    """Usage error: a wrong configuration, option or file content. Exit code 2."""


class MachineError(TmtError):
    """System error: no network, no such device, a full disk, a damaged file. Exit code 3."""

    exit_code = 3


class Diverged(TmtError):  # noqa: N818 - plain English
    """Training produced a number that is not finite. Exit code 4."""

    exit_code = 4


def is_out_of_memory(error: BaseException) -> bool:
    """True if the machine or its GPU is out of memory."""
    refused = isinstance(error, RuntimeError) and _NO_MEMORY.search(str(error)) is not None
    return refused or isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)


def write_report(error: BaseException) -> str:
    """Write the traceback of an internal error to a new file and return a phrase that names it."""
    import tempfile
    import traceback

    text = f"tmt {sys.argv[1:]}\nPython {sys.version}\n\n{''.join(traceback.format_exception(error))}"
    try:
        with tempfile.NamedTemporaryFile(prefix="tmt-", suffix=".txt", delete=False) as file:
            file.write(text.encode(errors="backslashreplace"))
    except OSError as problem:
        return f"no report could be written ({problem.strerror})"
    return f"a report with the traceback is in {file.name}"


def require_list(given: object, argument: str) -> None:
    """Raise `TypeError` for a single text where texts are expected: Python would take each of its characters."""
    if isinstance(given, str):
        raise TypeError(f"{argument}: a single text; give a list of them")
