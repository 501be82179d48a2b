"""Graceful shutdown: the first signal lets the step finish, the second ends the process at once."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class StopRequest:
    """Which signal asked for the end, None as long as none did."""

    number: int | None = None

    @property
    def exit_code(self) -> int:
        """128 + the signal, as shells have it: 130 for SIGINT, 143 for SIGTERM."""
        assert self.number is not None
        return 128 + self.number


@contextmanager
def graceful_shutdown() -> Iterator[StopRequest]:
    """While this is open, SIGINT and SIGTERM only leave a request; a second one ends the process there and then."""
    request = StopRequest()

    def handle(number: int, _frame: FrameType | None) -> None:
        if request.number is not None:
            os._exit(128 + number)
        request.number = number

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
