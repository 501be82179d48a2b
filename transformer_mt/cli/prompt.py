"""The prompt of `tmt translate`: lines that a person types, edits and calls back."""

import os
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from transformer_mt.cli.lines import Source
from transformer_mt.cli.signals import STOPPING
from transformer_mt.errors import TmtError
from transformer_mt.files import read_regular
from transformer_mt.views.text import escape_controls

QUIT = ":quit"
# Lines that are remembered from one session to the next, and bytes that the file of them may have.
REMEMBERED = 1_000
LONGEST_HISTORY = 2**20


def prompted(prompt: str) -> Iterator[Source]:
    """What a person types, line by line, until `:quit` or the end of input."""
    history = History(history_path())
    with _line_editing(history) as readline:
        while True:
            try:
                line = input(escape_controls(prompt))
            except EOFError:
                print()
                return
            if readline and line.strip():
                history.add(line)
            if line.strip() == QUIT:
                return
            yield Source([line], lambda _: "the line")


def history_path() -> Path:
    """Where lines are remembered: in the folder that programs keep their state in."""
    state = os.environ.get("XDG_STATE_HOME") or ""
    # As the XDG Base Directory Specification has it, a relative path is not used.
    return (Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state") / "tmt" / "history"


class History:
    """The last lines that were typed, kept in a file that only its owner reads. What fails is not worth a word."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []

    def load(self) -> None:
        """Read the file, if it is one of ours: regular, not too long, printable."""
        with suppress(TmtError, UnicodeDecodeError):
            content = read_regular(self.path, limit=LONGEST_HISTORY).decode("utf-8")
            self.lines = [line for line in content.split("\n") if line and line.isprintable()][-REMEMBERED:]

    def add(self, line: str) -> None:
        """Remember a line from now on; a signal may end the process without another chance.

        The file is replaced, so that nothing is written through a link.
        """
        if not line.isprintable() or self.lines[-1:] == [line]:
            return
        self.lines = [*self.lines, line][-REMEMBERED:]
        content = "".join(f"{line}\n" for line in self.lines).encode()[-LONGEST_HISTORY:]
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        with suppress(OSError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(content)
                temporary.replace(self.path)
            finally:
                temporary.unlink(missing_ok=True)


@contextmanager
def _line_editing(history: History) -> Iterator[Any]:
    """While this is open, `input` edits lines and calls old ones back. Yields None where it cannot."""
    try:
        import readline
        import termios
    except ImportError:  # Windows, and Pythons built without it
        yield None
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield None
        return
    history.load()
    readline.clear_history()
    for line in history.lines:
        readline.add_history(line)
    readline.parse_and_bind("set enable-bracketed-paste off")
    plain = termios.tcgetattr(sys.stdin)
    before = {number: signal.getsignal(number) for name in STOPPING if (number := getattr(signal, name, None))}

    def restored(number: int, frame: FrameType | None) -> None:
        """A signal ends the process while the line is being edited: the terminal gets its echo back first."""
        termios.tcsetattr(sys.stdin, termios.TCSANOW, plain)
        handler = before[number]
        assert callable(handler)
        handler(number, frame)

    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, restored)
    try:
        yield readline
    finally:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)
