"""Expected errors, each with `tmt`'s exit code.

A message reads `<file, line or option>: <problem>; <remedy>`. Any other exception is a bug, in tmt or in the caller.
"""

import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import formatannotation, signature
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin

from typing_extensions import override

Function = TypeVar("Function", bound=Callable[..., Any])

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


def checked(function: Function) -> Function:
    """Decorate a function to check argument types against its annotations; a mismatch is a `TypeError`."""
    hints = function.__annotations__
    names = tuple(signature(function).parameters)

    @wraps(function)
    def checking(*arguments: Any, **options: Any) -> Any:
        for name, value in chain(zip(names, arguments, strict=False), options.items()):
            if name in hints:
                _require(value, hints[name], f"{function.__qualname__}: {name}")
        return function(*arguments, **options)

    return cast(Function, checking)


def _require(value: Any, hint: Any, place: str) -> None:
    """Raise `TypeError` if a value, or an item in it, does not match the hint. A string is not a sequence here."""
    kind, inner = _kind(value.__class__, hint)
    if kind is None or (kind is tuple and len(value) != len(inner)):
        raise TypeError(f"{place} is of type {type(value).__name__}, not {formatannotation(hint)}")
    for key in value if kind is Mapping else ():
        _require(key, inner[0], f"{place}: its key {key!r}")
    if kind in (str, Path) and Path in get_args(hint):
        _require_path(value, place)
    is_ours = type(value).__module__.startswith(f"{__package__}.")  # such as pairs on disk
    is_row = bool(inner) and isinstance(value, Sequence) and not is_ours
    items = value.items() if kind is Mapping else enumerate(value) if is_row else ()
    for key, item in items:
        if type(item) is not (own := inner[key if kind is tuple else -1]):  # skip the common case
            _require(item, own, f"{place}[{key!r}]")


def _require_path(value: str | Path, place: str) -> None:
    """Raise `InputError` for an impossible file name. `--data` takes two, separated by a comma."""
    for name in str(value).split(","):
        try:
            os.lstat(name)
        except (OSError, ValueError) as error:
            if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
                raise InputError(place, f"{name[:40]!r} is not a valid file name", "give another") from None


@cache
def _kind(own: type, hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the type in the hint that `own` matches, or None, and the types of its items."""
    hints = get_args(hint) if get_origin(hint) is UnionType else (hint,)
    kinds = {get_origin(each) or each: get_args(each) for each in hints}
    kind = next((k for k in kinds if issubclass(own, k) and (k is str or not issubclass(own, str))), None)
    gives_keys = kind is Iterable and (issubclass(own, Mapping) or hasattr(own, "columns"))  # such as a data frame
    return (None, ()) if gives_keys else (kind, kinds.get(kind, ()))
