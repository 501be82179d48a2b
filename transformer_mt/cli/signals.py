"""A signal ends a command at once; training ends at the next moment from which it can continue."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the sooner a signal is handled, the better
    from types import FrameType

STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has not all of them

# What resets a terminal on which lines are edited: meanwhile it does not echo.
_resets: list[Callable[[], object]] = []


class Stopped(BaseException):
    """A signal has interrupted training at a moment from which it can continue."""


class StopRequest:
    """The signal that asked for the end, None as long as none did."""

    number: int | None = None


def leave_on_signals() -> None:
    """From now on a signal ends the process at once. Signals that are ignored, as under `nohup`, stay ignored.

    Without an exception, whose effect in the middle of an import or of foreign code nobody knows.
    """
    _install(_leave)


def remember_terminal() -> None:
    """Have a signal leave the terminal as it is now."""
    if sys.platform != "win32" and os.isatty(0):
        import termios

        _resets.append(partial(termios.tcsetattr, 0, termios.TCSANOW, termios.tcgetattr(0)))


@contextmanager
def graceful_shutdown(can_interrupt: Callable[[], bool]) -> Iterator[StopRequest]:
    """While this is open, the first signal leaves a request, and raises `Stopped` where that is possible.

    A second one ends the process at once.
    """
    request = StopRequest()

    def handle(number: int, frame: "FrameType | None") -> None:
        if request.number is not None:
            _leave(number, frame)
        request.number = number
        if can_interrupt():
            raise Stopped

    before = _install(handle)
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _install(handler: "Callable[[int, FrameType | None], None]") -> dict[signal.Signals, Any]:
    """Handle signals so; returns the handlers before."""
    numbers = [signal.Signals[name] for name in STOPPING if name in signal.Signals.__members__]
    return {n: signal.signal(n, handler) for n in numbers if signal.getsignal(n) is not signal.SIG_IGN}


def _leave(number: int, frame: "FrameType | None") -> None:
    """End the process: delete temporary files and reset the terminal."""
    del frame
    files = sys.modules.get("transformer_mt.files")
    for cleanup in (*_resets, *([partial(files.remove, path) for path in files.unfinished] if files else ())):
        with suppress(Exception):
            cleanup()
    if os.isatty(2) and os.environ.get("TERM") != "dumb":
        with suppress(OSError):
            os.write(2, b"\x1b[0m\x1b[?25h\n")  # colours and cursor
    os._exit(128 + number)
