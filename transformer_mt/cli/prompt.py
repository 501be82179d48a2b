"""The prompt of `tmt translate`: lines that a person types, edits and calls back."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from transformer_mt.cli.lines import Source
from transformer_mt.cli.signals import cleanups
from transformer_mt.views.text import escape_controls

QUIT = ":quit"
# Lines that are remembered from one session to the next.
REMEMBERED = 1_000


def prompted(prompt: str) -> Iterator[Source]:
    """The lines that a person types, one by one, until `:quit` or the end of input."""
    with _line_editing() as remember:
        while True:
            try:
                line = input(escape_controls(prompt))
            except EOFError:
                print()
                return
            remember()
            if line.strip() == QUIT:
                return
            yield Source([line], lambda _: "the line")


def history_path() -> Path:
    """The file of remembered lines, in the user's state folder (XDG Base Directory Specification)."""
    state = Path(os.environ.get("XDG_STATE_HOME") or "")
    return (state if state.is_absolute() else Path.home() / ".local" / "state") / "tmt" / "history"


@contextmanager
def _line_editing() -> Iterator[Callable[[], None]]:
    """While this is open, `input` edits lines and calls old ones back, where it can; yields what remembers the last.

    The history is written after every line, since a signal ends the process at once. Errors are ignored.
    """
    try:
        import readline
        import termios
    except ImportError:  # Windows, and Pythons built without it
        yield lambda: None
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield lambda: None
        return
    path = history_path()

    def remember() -> None:
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            readline.write_history_file(path)
            path.chmod(0o600)

    readline.clear_history()
    with suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(REMEMBERED)
    readline.parse_and_bind("set enable-bracketed-paste off")
    # While a line is edited, the terminal does not echo.
    restore = partial(termios.tcsetattr, sys.stdin, termios.TCSANOW, termios.tcgetattr(sys.stdin))
    cleanups.append(restore)
    try:
        yield remember
    finally:
        cleanups.remove(restore)
