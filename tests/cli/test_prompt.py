"""The prompt, with a process on a terminal of its own wherever lines are edited."""

import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from threading import Thread

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
    """Types at a terminal on which the prompt runs, and reads what appears."""

    def __init__(self, program: str = PROGRAM) -> None:
        self.master, self.slave = pty.openpty()
        self.screen = b""
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=self.slave, stdout=self.slave, stderr=self.slave
        )
        self.reader = Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        try:
            while chunk := os.read(self.master, 65536):
                self.screen += chunk
        except OSError:  # nobody holds the other side any more
            return

    def sees(self, text: str, *, times: int = 1) -> None:
        end = time.monotonic() + LONGEST
        while self.screen.decode(errors="replace").count(text) < times:
            assert time.monotonic() < end, self.screen
            time.sleep(0.01)

    def types(self, *texts: str) -> None:
        """Every text at a prompt of its own."""
        for text in texts:
            self.sees("de> ", times=1 + self.screen.count(b"got"))
            before = self.screen.count(b"got")
            os.write(self.master, text.encode())
            if text.endswith("\n") and ":quit" not in text:
                self.sees("got", times=before + 1)

    def ends(self) -> tuple[int, str]:
        code = self.process.wait(LONGEST)
        self.echoes = bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)
        os.close(self.slave)
        self.reader.join()
        os.close(self.master)
        return code, self.screen.decode().replace("\r\n", "\n")


def test_lines_are_edited_and_called_back() -> None:
    person = Person()
    person.types("abc\x02X\n", "\x1b[A\n", ":quit\n")
    code, screen = person.ends()
    assert (code, re.findall("got.*|end", screen)) == (0, ["got 'abXc'", "got 'abXc'", "end"])
    assert person.echoes


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_at_the_prompt_leaves_a_terminal_that_echoes(number: int, code: int) -> None:
    person = Person()
    person.types("ja\n")
    person.sees("de> ", times=2)
    while termios.tcgetattr(person.slave)[3] & termios.ECHO:  # until the line is being edited
        time.sleep(0.01)
    person.process.send_signal(number)
    returned, screen = person.ends()
    assert returned == code
    assert person.echoes
    assert "Traceback" not in screen


def test_a_prompt_off_a_terminal_reads_lines_until_quit(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["ja", " :quit "])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    assert [*prompted("\x1b> ")] == ["ja"]
