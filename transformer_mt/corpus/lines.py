"""Lines of files that may hold anything: read one at a time, and never more of one than a sentence can need."""

from collections.abc import Iterator
from itertools import count
from typing import Protocol, runtime_checkable

from transformer_mt.errors import InputError, MachineError

# A sentence has some hundred bytes; the rest is for what a JSON object carries beside it.
LONGEST_LINE = 1_000_000


@runtime_checkable
class Lines(Protocol):
    """A file that can be read by lines."""

    def readline(self, size: int, /) -> bytes:
        """The rest of a line, but no more than so many bytes."""


def bounded_lines(file: Lines, *, name: str, limit: int = LONGEST_LINE) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers from 1. Raises `InputError` for one of more than `limit` bytes."""
    for number in count(1):
        try:
            line = file.readline(limit + 1)
        except OSError as error:
            raise MachineError(f"{name}: cannot be read ({error.strerror}); check where it comes from") from None
        if not line:
            return
        if len(line) > limit:
            raise InputError(f"{name}:{number}: more than {limit:,} bytes in one line; split it")
        yield number, line
