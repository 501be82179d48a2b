"""A process on a pseudo-terminal."""

import os
import pty
import select
import subprocess
import termios

# Seconds before a process counts as hung, on the slowest machine.
LONGEST = 100


class Person:
    """Types at a terminal that runs a program, and reads the screen."""

    def __init__(self, *program: str) -> None:
        self.master, self.slave = pty.openpty()
        self.screen = b""
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
