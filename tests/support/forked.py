"""Run commands in forked children: each is a real process, with all imports done."""

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
    """Fork and return the child's id. The child exits with the command's code, or with 99 and a traceback.

    Its stdout and stderr go to the descriptors `out` and `err`; its stdin is empty.
    """
    waiting = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
        return child
    code = FAULT
    try:
        atexit._clear()  # our exit handlers would delete files still in use
        leave_on_signals()
        signal.pthread_sigmask(signal.SIG_SETMASK, waiting)  # a signal since the fork ends the process here
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
    """`tmt` as a command for `start`."""

    def command() -> int:
        sys.argv = ["tmt", *arguments]
        try:
            main()
        except SystemExit as end:
            code = end.code
        assert isinstance(code, int)
        return code

    return command
