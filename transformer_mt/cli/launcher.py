"""`tmt train --processes N`: one training by several processes of this machine, started and watched.

They are started as `torchrun` starts them, with the same variables. Torch's own agent would do too, but for three
things: a process that is stopped keeps it waiting, the one who asked for the end gets its log instead of our line, and
a checkpoint that takes longer than thirty seconds is cut off.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from transformer_mt.cli.main import ERROR_FILE
from transformer_mt.cli.signals import STOPPING
from transformer_mt.errors import InputError, MachineError, TmtError

PROGRAM = "from transformer_mt.cli.main import main; main()"
MOST_PROCESSES = 1_024
POLL_SECONDS = 0.1
# A process may be stopped for so long, as by a debugger's user, before it is taken for lost.
STOPPED_SECONDS = 10.0
# When one has failed, so long the others may take to fail for the same reason.
GRACE_SECONDS = 5.0
# How a process ends that a signal has asked to.
ASKED = {128 + signal.Signals[name] for name in STOPPING if name in signal.Signals.__members__}


class ProcessFailed(TmtError):  # noqa: N818 - named as the other kinds are
    """A process has ended with this code, for the reason that it gave."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass
class Rank:
    """One of the processes: its end, where there has been one, and since when it is stopped."""

    number: int
    process: "subprocess.Popen[bytes]"
    report: Path
    code: int | None = None
    stopped_since: float | None = field(default=None)

    def poll(self) -> None:
        """Take note of its end, a stop, or that it goes on."""
        while self.code is None:
            pid, status = os.waitpid(self.process.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if not pid:
                return
            if os.WIFSTOPPED(status):
                self.stopped_since = time.monotonic()
            elif os.WIFCONTINUED(status):
                self.stopped_since = None
            else:
                self.code = self.process.returncode = os.waitstatus_to_exitcode(status)

    @property
    def failed(self) -> bool:
        """Whether it has ended otherwise than by doing all, or because it was asked to."""
        return self.code is not None and self.code != 0 and self.code not in ASKED

    @property
    def reason(self) -> str | None:
        """What it said of its end."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            return str(json.loads(self.report.read_text("utf-8"))["message"]["message"])
        return None

    @property
    def when(self) -> int:
        """When it said so; who was killed has said nothing and comes first."""
        return self.report.stat().st_mtime_ns if self.reason is not None else 0


def train_in_processes(count: int, arguments: Sequence[str]) -> int:
    """Run `tmt` with these arguments in `count` processes that train together; the exit code of all.

    A signal goes to all of them once; a second one ends them there and then. Raises `TmtError` with the reason when one
    of them fails; none is left then.
    """
    if not 1 < count <= MOST_PROCESSES:
        raise InputError(f"--processes: {count} is not from 2 to {MOST_PROCESSES}; leave it out for one")
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        del frame
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in _handled_signals()}
    with tempfile.TemporaryDirectory(prefix="tmt-") as folder:
        ranks = _start(count, arguments, Path(folder))
        try:
            return _watch(ranks, asked)
        finally:
            for rank in ranks:
                if rank.code is None:
                    rank.process.kill()
                    rank.process.wait()
            for number, handler in before.items():
                signal.signal(number, handler)


def _handled_signals() -> list[signal.Signals]:
    numbers = [signal.Signals[name] for name in STOPPING if name in signal.Signals.__members__]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def _start(count: int, arguments: Sequence[str], folder: Path) -> list[Rank]:
    """Start the processes, each in a session of its own: a terminal's Ctrl-C reaches them through us alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shared = {
        "OMP_NUM_THREADS": str(max(1, cores // count)),
        "TORCH_CPP_LOG_LEVEL": "FATAL",  # we say ourselves, in one line, what torch says in forty
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
    }
    # Our own path: what we import stands there, and nothing from the working directory gets in between.
    command = [sys.executable, "-c", f"import sys; sys.path = {sys.path!r}; {PROGRAM}", *arguments]
    ranks = []
    for number in range(count):
        report = folder / f"{number}.json"
        own = {"RANK": str(number), "LOCAL_RANK": str(number), ERROR_FILE: str(report)}
        process = subprocess.Popen(command, env=shared | own, stdin=subprocess.DEVNULL, start_new_session=True)
        ranks.append(Rank(number, process, report))
    return ranks


def _watch(ranks: Sequence[Rank], asked: list[int]) -> int:
    """Wait until all have ended; the exit code. Raises `TmtError` when one has failed or does not go on."""
    passed_on = 0
    while any(rank.code is None for rank in ranks):
        for rank in ranks:
            rank.poll()
        if len(asked) > max(passed_on, 1):
            return 128 + asked[-1]
        for number in asked[passed_on:]:
            _send(ranks, number)
            passed_on += 1
        _require_all_going(ranks)
        if any(rank.failed for rank in ranks):
            raise _reason(_after_grace(ranks), count=len(ranks))
        time.sleep(POLL_SECONDS)
    return max(rank.code or 0 for rank in ranks)


def _send(ranks: Sequence[Rank], number: int) -> None:
    for rank in ranks:
        if rank.code is None:
            rank.process.send_signal(number)


def _require_all_going(ranks: Sequence[Rank]) -> None:
    """Raise `MachineError` for a process that is stopped and does not go on."""
    now = time.monotonic()
    for rank in ranks:
        if rank.stopped_since is not None and rank.code is None and now - rank.stopped_since > STOPPED_SECONDS:
            raise MachineError(
                f"rank {rank.number} of {len(ranks)}: stopped (SIGSTOP) for {STOPPED_SECONDS:.0f} seconds; all are "
                "ended, what was saved stays, and the same command continues"
            )


def _after_grace(ranks: Sequence[Rank]) -> list[Rank]:
    """Those that have failed when all have ended, or the time for that is over; who was killed needs no other."""
    limit = time.monotonic() + GRACE_SECONDS
    while all((rank.code or 0) >= 0 for rank in ranks) and any(rank.code is None for rank in ranks):
        if time.monotonic() > limit:
            break
        time.sleep(POLL_SECONDS)
        for rank in ranks:
            rank.poll()
    return [rank for rank in ranks if rank.failed]


def _reason(failed: Sequence[Rank], *, count: int) -> TmtError:
    """Why it ended: what the first to fail said, in its own words where the first process says the same."""
    cause = min(failed, key=lambda rank: rank.when)
    assert cause.code is not None
    if cause.code < 0:
        name = signal.Signals(-cause.code).name
        why = "is another process taking the memory? " if cause.code == -signal.SIGKILL else ""
        return MachineError(
            f"rank {cause.number} of {count}: ended by {name}; {why}all are ended, what was saved stays, and the same "
            "command continues"
        )
    reason = cause.reason or f"ended with code {cause.code}; what it wrote stands above"
    said_by_first = any(rank.number == 0 and rank.reason == cause.reason for rank in failed)
    return ProcessFailed(reason if said_by_first else f"rank {cause.number} of {count}: {reason}", cause.code)
