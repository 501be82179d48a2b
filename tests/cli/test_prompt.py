"""The prompt; tests of line editing run it in a process on a pseudo-terminal."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios

import pytest

from transformer_mt.cli.line_io import prompted

pytestmark = pytest.mark.slow

PROGRAM = """
from transformer_mt.cli.signals import leave_on_signals
from transformer_mt.cli.line_io import prompted
leave_on_signals()
for line in prompted("de> "):
    print("got", repr(line), flush=True)
print("end", flush=True)
"""
LONGEST = 100


class Person:
    """Types at a terminal that runs the prompt, and reads the screen."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        self.screen = b""
        program = [sys.executable, "-c", PROGRAM]
        self.process = subprocess.Popen(program, stdin=self.slave, stdout=self.slave, stderr=self.slave)

    @property
    def is_echoing(self) -> bool:
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    def reads(self, *, within: float) -> bool:
        """Read output that arrives in time; keep reading, because unread output blocks the process."""
        is_there = bool(select.select([self.master], [], [], within)[0])
        if is_there:
            self.screen += os.read(self.master, 65536)
        return is_there

    def sees(self, text: bytes, *, times: int = 1) -> None:
        while self.screen.count(text) < times:
            assert self.reads(within=LONGEST), self.screen

    def types(self, *texts: bytes) -> None:
        """Type each text at a new prompt."""
        for number, text in enumerate(texts, start=1):
            self.sees(b"de> ", times=number)
            os.write(self.master, text)
            if b":quit" not in text:
                self.sees(b"got", times=number)

    def ends(self, code: int) -> str:
        """Wait until the process ends with this code and the terminal echoes; return the screen."""
        while self.process.poll() is None or self.reads(within=0.0):
            self.reads(within=0.01)
        assert (self.process.returncode, self.is_echoing) == (code, True)
        os.close(self.slave)
        os.close(self.master)
        return self.screen.decode()


def test_line_editing_and_history() -> None:
    person = Person()
    person.types(b"abc\x02X\n", b"\x1b[A\n", b":quit\n")
    assert re.findall("got '.*'|end", person.ends(0)) == ["got 'abXc'", "got 'abXc'", "end"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_restores_echo(number: int, code: int) -> None:
    person = Person()
    person.types(b"ja\n")
    person.sees(b"de> ", times=2)
    while person.is_echoing or person.reads(within=0.1):  # until line editing has started and no more output arrives
        continue
    person.process.send_signal(number)
    assert "Traceback" not in person.ends(code)


def test_quit_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["ja", " :quit "])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    assert [*prompted("\x1b> ")] == ["ja"]
