"""The prompt; tests of line editing run it in a process on a pseudo-terminal."""

import re
import signal
import sys

import pytest
from support.person import Person

from transformer_mt.cli.line_io import prompted

pytestmark = pytest.mark.slow

CODE = """
from transformer_mt.cli.signals import leave_on_signals
from transformer_mt.cli.line_io import prompted
leave_on_signals()
for line in prompted("de> "):
    print("got", repr(line), flush=True)
print("end", flush=True)
"""
PROGRAM = (sys.executable, "-c", CODE)


def test_line_editing_and_history() -> None:
    person = Person(*PROGRAM)
    person.types(b"abc\x02X\n", b"\x1b[A\n", b":quit\n")
    assert re.findall("got '.*'|end", person.ends(0)) == ["got 'abXc'", "got 'abXc'", "end"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_restores_echo(number: int, code: int) -> None:
    person = Person(*PROGRAM)
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
