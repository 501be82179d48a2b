"""Commands in children of this process, which has everything imported: each is a process of its own within moments."""

import atexit
import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable

from transformer_mt.cli.main import main
from transformer_mt.cli.signals import leave_on_signals

FAULT = 99
ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def start(command: Callable[[], int], *, out: int, err: int) -> int:
    """Fork; the child's number. It ends with the code that the command returns, or with 99 and a traceback.

    `out` and `err` are the descriptors to which its stdout and stderr go; its stdin is empty.
    """
    waiting = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
        return child
    code = FAULT
    try:
        atexit._clear()  # what our own end is to clear away is still in use
        leave_on_signals()
        signal.pthread_sigmask(signal.SIG_SETMASK, waiting)  # one that came since the fork ends the process here
        null = os.open(os.devnull, os.O_RDONLY)
        for target, descriptor in enumerate((null, out, err)):
            os.dup2(descriptor, target)
        sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
        code = command()
    except BaseException:
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()
        os._exit(code)


def tmt(*arguments: str) -> Callable[[], int]:
    """A command for `start`: `tmt` as a shell calls it."""

    def command() -> int:
        sys.argv = ["tmt", *arguments]
        try:
            main()
        except SystemExit as end:
            code = end.code
        assert isinstance(code, int)
        return code

    return command
