"""`tmt train --processes 2` and `torchrun`: one training by two processes, and what is said when one of them fails."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command_line import PROGRAM, Tmt, settings

from transformer_mt.cli import launcher
from transformer_mt.cli.main import ERROR_FILE
from transformer_mt.errors import TmtError
from transformer_mt.runs.checkpoints import saved_steps

# Seconds that a process may take on the slowest machine; it is for those that hang.
LONGEST = 240
STEPS = settings(training__steps="12", training__validate_every="6", training__checkpoint_every="3")

# What happens in the second process, or the first, at its fourth step. Python imports this module when it starts.
FAULT = """
import os, signal
if os.environ.get("RANK") == "{rank}":
    import torch
    from transformer_mt.training.trainer import Trainer
    function = Trainer.{method}
    def faulty(self, *arguments):
        if self.progress.step in (4, 6):
            {fault}
        return function(self, *arguments)
    Trainer.{method} = faulty
"""


def weights(run: str) -> str:
    return hashlib.sha256((Path(run) / "model.safetensors").read_bytes()).hexdigest()


def run(*command: str) -> str:
    """What a command writes to stderr; it must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def uninterrupted(home: Path) -> str:
    """The weights that two processes of `torchrun` end with, started as the documentation has it."""
    torchrun = str(Path(sys.executable).with_name("torchrun"))
    data, directory = str(home / "data"), str(home / "two")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_DATASETS_CACHE", str(home / "cache"))
        patch.setenv("OMP_NUM_THREADS", "1")
        said = run(
            *(torchrun, "--nproc-per-node", "2", "-m", "transformer_mt"),
            *("train", "--data", data, "--run-dir", directory, *STEPS),
        )
    assert said.count("finished at step 12") == 1
    return weights(directory)


@pytest.fixture
def fault(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets what stands in `faults/sitecustomize.py` happen in the processes that are started."""
    path = [str(workplace / "faults"), *sys.path]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))
    (workplace / "faults").mkdir()


def inject(fault: str, *, rank: int = 1, method: str = "step") -> None:
    Path("faults/sitecustomize.py").write_text(FAULT.format(rank=rank, method=method, fault=fault))


def train(data: str, directory: str = "run") -> list[str]:
    return ["train", "--processes", "2", "--data", data, "--run-dir", directory, *STEPS]


def test_both_ways_to_start_give_the_same_weights_and_one_process_speaks(data: str, uninterrupted: str) -> None:
    command = [*PROGRAM, *train(data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"run: validation loss \d\.\d{4} at step \d+\n", done.stdout)
    assert all(line.startswith("tmt: ") for line in done.stderr.splitlines())
    assert done.stderr.count("finished at step 12") == 1
    assert weights("run") == uninterrupted


def test_a_signal_to_the_launcher_stops_all_with_one_checkpoint_from_which_they_go_on(
    data: str, uninterrupted: str
) -> None:
    with subprocess.Popen([*PROGRAM, *train(data)], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = [line for line in iter(process.stderr.readline, "") if "step 2/" not in line or process.terminate()]
    assert process.returncode == 143
    (stopped,) = (line for line in said if "stopped" in line)
    (step,) = re.fullmatch(r"tmt: stopped at step (\d+), saved; the same command continues\n", stopped).groups()  # type: ignore[union-attr]
    assert saved_steps(Path("run/checkpoints"))[-1] == int(step)
    said = run(*PROGRAM, *train(data))
    assert f"tmt: continuing run from step {step}\n" in said
    assert "not bit for bit" not in said
    assert weights("run") == uninterrupted


@pytest.mark.parametrize(
    ("rank", "method", "what", "code", "message"),
    [
        (1, "step", "os.kill(os.getpid(), signal.SIGKILL)", 3, "rank 1 of 2: ended by SIGKILL; .*saved stays, .*"),
        (1, "step", "raise KeyError('x')", 70, r"rank 1 of 2: internal error \(KeyError: 'x'\): .* report it"),
        (
            1,
            "step",
            "torch.nn.init.constant_(next(self.model.parameters()), torch.nan)",
            4,
            "training: the loss diverged at step 5, .*; the checkpoint of step 3 is sound and stays",
        ),
        (0, "_validated", "raise OSError(28, 'No space left', 'x')", 3, "x: No space left; check disk and permissions"),
    ],
)  # fmt: skip
def test_a_process_that_fails_ends_all_with_its_reason_and_the_last_checkpoint_stays(
    rank: int, method: str, what: str, code: int, message: str, data: str, tmt: Tmt, fault: None
) -> None:
    inject(what, rank=rank, method=method)
    outcome = tmt(*train(data))
    assert (outcome.code, outcome.out) == (code, "")
    assert re.fullmatch(f"tmt: error: {message}\n", outcome.err), outcome.err
    assert saved_steps(Path("run/checkpoints")) == [3]


def test_a_mistake_is_said_once_and_before_anything_is_written(data: str, tmt: Tmt, workplace: Path) -> None:
    outcome = tmt(*train(data), "--set", "training.batch_tokens=nonsense")
    assert outcome.code == 2
    assert outcome.err.startswith("tmt: error: --set training.batch_tokens=nonsense")
    assert outcome.err.count("\n") == 1
    assert list(workplace.iterdir()) == []


def test_a_signal_to_one_process_stops_all(data: str, tmt: Tmt, fault: None) -> None:
    inject("os.kill(os.getpid(), signal.SIGTERM)")
    assert tmt(*train(data)).code == 143
    assert saved_steps(Path("run/checkpoints")) == [3, 5]


@pytest.mark.parametrize("count", ["0", "-1", "1025"])
def test_an_impossible_number_of_processes_is_refused(count: str, data: str, tmt: Tmt) -> None:
    outcome = tmt("train", "--data", data, "--processes", count)
    assert (outcome.code, outcome.err) == (
        2,
        f"tmt: error: --processes: {count} is not from 2 to 1024; leave it out for one\n",
    )


def test_check_looks_at_a_single_process(data: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["--processes", "2"], []):
        outcome = tmt("train", "--data", data, "--check", *arguments)
        assert outcome.code == 2
        assert outcome.err.startswith("tmt: error: --check: looks at a single process; leave out --processes")
        monkeypatch.setenv("WORLD_SIZE", "2")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"WORLD_SIZE": "many"}, "WORLD_SIZE: 'many' is no number; unset it, or start with torchrun"),
        ({"WORLD_SIZE": "2"}, "WORLD_SIZE: is 2, but .*RANK expected, but not set; use torchrun or --processes"),
    ],
)
def test_a_launchers_environment_that_is_incomplete_is_one_line(
    environment: dict[str, str], message: str, data: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    outcome = tmt("train", "--data", data)
    assert outcome.code == 2
    assert re.fullmatch(f"tmt: error: {message}\n", outcome.err)


# From here on no process trains: what the launcher makes of those that it starts.
BOTH = "import os, signal, sys, time; rank = int(os.environ['RANK']); "


def report(reason: str) -> str:
    content = json.dumps({"message": {"message": reason}})
    return f"open(os.environ['{ERROR_FILE}'], 'w').write({content!r})"


@pytest.mark.parametrize(
    ("program", "code", "message"),
    [
        ("rank or time.sleep(60); os.kill(os.getpid(), 9)", 3, "rank 1 of 2: ended by SIGKILL; is another"),
        ("rank or time.sleep(60); os.kill(os.getpid(), 11)", 3, "rank 1 of 2: ended by SIGSEGV; all are"),
        ("rank or time.sleep(60); os.kill(os.getpid(), signal.SIGSTOP)", 3, r"rank 1 of 2: stopped \(SIGSTOP\) for "),
        ("rank or time.sleep(60); sys.exit(5)", 5, "rank 1 of 2: ended with code 5; what it wrote stands above"),
        (f"{report('file: it is bad')}; sys.exit(2)", 2, "file: it is bad$"),
        (f"rank or time.sleep(60); {report('a fault')}; sys.exit(70)", 70, "rank 1 of 2: a fault$"),
        (f"rank and time.sleep(60); {report('full')}; sys.exit(3)", 3, "full$"),
        (f"rank or time.sleep(1); {report('by ')[:-1]}.replace('by ', str(rank))); sys.exit(3)", 3, "rank 1.*: 1$"),
    ],
)  # fmt: skip
def test_the_reason_is_that_of_the_first_to_fail(
    program: str, code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "STOPPED_SECONDS", 0.3)
    monkeypatch.setattr(launcher, "GRACE_SECONDS", 1.0)
    monkeypatch.setattr(launcher, "PROGRAM", BOTH + program)
    start = time.monotonic()
    with pytest.raises(TmtError, match=f"^{message}") as caught:
        launcher.train_in_processes(2, [])
    assert caught.value.exit_code == code
    assert time.monotonic() - start < 50  # the other rank sleeps for 60


def test_processes_have_what_torchrun_gives_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(7))
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "OMP_NUM_THREADS")
    program = f"open(f'{{rank}}', 'w').write(' '.join([os.environ[n] for n in {names}] + sys.argv[1:]))"
    monkeypatch.setattr(launcher, "PROGRAM", BOTH + program)
    assert launcher.train_in_processes(3, ["train", "--run-dir", "x"]) == 0
    expected = [f"{rank} {rank} 3 3 127.0.0.1 2 train --run-dir x" for rank in range(3)]
    assert [Path(str(rank)).read_text() for rank in range(3)] == expected


def test_a_process_that_is_stopped_for_a_moment_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "STOPPED_SECONDS", 1.0)
    go_on = "import subprocess; subprocess.Popen(['sh', '-c', f'sleep 0.4; kill -CONT {os.getpid()}']); "
    monkeypatch.setattr(launcher, "PROGRAM", f"{BOTH}{go_on}os.kill(os.getpid(), signal.SIGSTOP); time.sleep(1.5)")
    assert launcher.train_in_processes(2, []) == 0


HANGING = (
    BOTH
    + "signal.signal(15, lambda *_: print('asked', flush=True)); print('ready', flush=True)\nwhile 1: time.sleep(1)"
)

# The second never comes; the first is asked to end when it has begun to wait for it.
WAITING = (
    BOTH
    + """
import datetime, threading
if rank: sys.exit(143)
from torch.distributed import TCPStore
signal.signal(15, lambda *_: None)
threading.Timer(0.5, os.kill, (os.getpid(), 15)).start()
try: TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), timeout=datetime.timedelta(seconds=2))
except Exception: sys.exit(143)
"""
)


def test_the_first_signal_asks_all_once_and_the_second_ends_them() -> None:
    program = f"from transformer_mt.cli import launcher; launcher.PROGRAM = {HANGING!r}; "
    program += "raise SystemExit(launcher.train_in_processes(2, []))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "ready\n"]
        process.send_signal(signal.SIGTERM)
        assert [process.stdout.readline() for _ in range(2)] == ["asked\n", "asked\n"]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=5) == 130
        assert process.stdout.read() == ""  # which ends when the last of them does


def test_processes_that_a_signal_has_ended_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "PROGRAM", BOTH + "time.sleep(0.3 * rank); sys.exit(143)")
    assert launcher.train_in_processes(2, []) == 143


def test_a_signal_while_they_wait_for_each_other_leaves_no_trace_of_torch(capfd: pytest.CaptureFixture[str]) -> None:
    program = f"from transformer_mt.cli import launcher; launcher.PROGRAM = {WAITING!r}; "
    program += "raise SystemExit(launcher.train_in_processes(2, []))"
    assert subprocess.run([sys.executable, "-c", program], timeout=LONGEST).returncode == 143
    assert capfd.readouterr().err == ""
