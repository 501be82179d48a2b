"""Signals end a command at once; training stops at the next resumable point."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imports nothing slow, so that signals are handled early
    from types import FrameType

STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows lacks some

# Functions that restore the echo of a terminal in line-editing mode.
_resets: list[Callable[[], object]] = []


class Stopped(BaseException):
    """A signal interrupted training at a resumable point."""


class StopRequest:
    """The signal that asked training to stop, or None."""

    number: int | None = None


def leave_on_signals() -> None:
    """Make signals end the process at once. Ignored signals, as under `nohup`, stay ignored.

    No exception is raised: its effect in the middle of an import or of foreign code is unpredictable.
    """
    _install(_leave)


def remember_terminal() -> None:
    """Restore the current terminal settings when a signal ends the process."""
    if sys.platform != "win32" and os.isatty(0):
        import termios

        _resets.append(partial(termios.tcsetattr, 0, termios.TCSANOW, termios.tcgetattr(0)))


@contextmanager
def graceful_shutdown(can_interrupt: Callable[[], bool]) -> Iterator[StopRequest]:
    """Turn the first signal into a request to stop, and raise `Stopped` where training can be interrupted.

    A second signal ends the process at once.
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
    """Install a handler for the signals and return the previous handlers."""
    numbers = [signal.Signals[name] for name in STOPPING if name in signal.Signals.__members__]
    return {n: signal.signal(n, handler) for n in numbers if signal.getsignal(n) is not signal.SIG_IGN}


def _leave(number: int, frame: "FrameType | None") -> None:
    """Delete temporary files, reset the terminal and end the process."""
    del frame
    files = sys.modules.get("transformer_mt.ground.files")
    for cleanup in (*_resets, *([partial(files.remove, path) for path in files.unfinished] if files else ())):
        with suppress(Exception):
            cleanup()
    if os.isatty(2) and os.environ.get("TERM") != "dumb":
        with suppress(OSError):
            os.write(2, b"\x1b[0m\x1b[?25h\n")  # colours and cursor
    os._exit(128 + number)
