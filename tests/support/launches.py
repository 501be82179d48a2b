"""`tmt train --processes 2` again and again, with something that goes wrong in one of the two.

The launcher and its processes are children of this one, which has everything imported and whose threads are known; so
none of them takes the seconds in which Python imports torch.
"""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from support.forked import start, tmt
from transformer_mt.cli import launcher
from transformer_mt.cli.main import run

# Seconds that a launch may take on the slowest machine; it is for those that hang.
LONGEST = 240


@dataclass(frozen=True)
class Launch:
    """What is to happen in one of the processes as soon as it has made some of its steps, or to the launcher."""

    directory: str
    rank: int = 1
    method: str = "step"
    fault: str | None = None
    terminate_after: str | None = None

    def inject(self) -> None:
        """In a process: let the fault happen at the steps 4 and 6."""
        from transformer_mt.training.trainer import Trainer

        if self.fault is None or os.environ["RANK"] != str(self.rank):
            return
        method, fault = getattr(Trainer, self.method), compile(self.fault, "fault", "exec")

        def faulty(trainer: Trainer, *arguments: Any) -> Any:
            if trainer.progress.step in (4, 6):
                exec(fault, {"os": os, "signal": signal, "torch": torch, "trainer": trainer})
            return method(trainer, *arguments)

        setattr(Trainer, self.method, faulty)


@dataclass(frozen=True)
class Ended:
    """How the launcher ended, and what it and its processes wrote."""

    code: int
    out: str
    err: str


class Forked:
    """What the launcher needs of `subprocess.Popen`, for a process that is forked from the launcher's."""

    launch: Launch

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], stdin: int, start_new_session: bool) -> None:
        assert command[:2] == [sys.executable, "-c"]
        assert command[2].endswith(launcher.PROGRAM)
        assert (stdin, start_new_session) == (subprocess.DEVNULL, True)
        self.returncode: int | None = None

        def begin() -> int:
            os.setsid()
            os.environ.clear()
            os.environ.update(env)
            self.launch.inject()
            return tmt(*command[3:])()

        self.pid = start(begin, out=1, err=2)

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it there and then."""
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end; the exit code."""
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


def launched(launch: Launch, arguments: Sequence[str]) -> Ended:
    """Start the launcher and wait for its end."""
    files = [os.memfd_create("out"), os.memfd_create("err")]

    def begin() -> int:
        Forked.launch = launch
        launcher.subprocess.Popen = Forked  # type: ignore[misc, assignment]
        return tmt("train", "--processes", "2", "--run-dir", launch.directory, *arguments)()

    process = start(begin, out=files[0], err=files[1])
    limit = time.monotonic() + LONGEST
    asked = launch.terminate_after is None
    ended = 0
    while not ended:
        if not asked and str(launch.terminate_after) in written(files[1]):
            os.kill(process, signal.SIGTERM)
            asked = True
        if time.monotonic() > limit:
            os.kill(process, signal.SIGKILL)
        time.sleep(0.003)
        ended, status = os.waitpid(process, os.WNOHANG)
    return Ended(os.waitstatus_to_exitcode(status), *map(written, files))


def written(descriptor: int) -> str:
    """All that stands in a file so far."""
    return os.pread(descriptor, 2**24, 0).decode("utf-8", "backslashreplace")


def run_all(launches: Sequence[Launch], arguments: Sequence[str], folder: Path) -> list[Ended]:
    """How each ended that is launched in this folder, one after another, from a process of their own."""
    path = os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))
    asked = json.dumps([[asdict(launch) for launch in launches], arguments])
    done = subprocess.run(
        [sys.executable, __file__],
        input=asked,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return [Ended(**each) for each in json.loads(done.stdout)]


def main() -> None:
    """Read what to launch, launch it, and write how each ended."""
    launches, arguments = json.load(sys.stdin)
    torch.set_num_threads(1)
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        assert run(["train", "--run-dir", "first", *arguments]) == 0  # so that children find everything imported
    print(json.dumps([asdict(launched(Launch(**each), arguments)) for each in launches]))


if __name__ == "__main__":
    main()
