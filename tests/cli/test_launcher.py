"""`tmt train --processes 2` and `torchrun`: one training by two processes, and what is said when one of them fails."""

import hashlib
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
        if self.progress.step == 4:
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


REPORT = r"a report with the traceback is in \S+; please report it"
LEFT = "what was saved stays, and the same command continues"


@pytest.mark.parametrize(
    ("fault_there", "code", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 3, rf"rank 1 of 2: ended by SIGKILL; .*all are ended, {LEFT}"),
        ("os.kill(os.getpid(), signal.SIGSTOP)", 3, rf"rank 1 of 2: stopped \(SIGSTOP\) .* all are ended, {LEFT}"),
        ("raise KeyError('x')", 70, rf"rank 1 of 2: internal error \(KeyError: 'x'\): .*{REPORT}"),
        (
            "raise torch.OutOfMemoryError('CUDA out of memory')",
            3,
            r"rank 1 of 2: training: out of memory at step 5, in a batch of \d+ pairs, \d+×\d+ source and \d+×\d+ "
            r"target tokens; lower training.batch_tokens and raise training.accumulation_steps in proportion, .*",
        ),
        (
            "torch.nn.init.constant_(next(self.model.parameters()), torch.nan)",
            4,
            r"training: the loss diverged at step 5, .*; the checkpoint of step 3 is sound and stays",
        ),
    ],
)
def test_a_process_that_fails_ends_all_with_its_rank_and_reason_and_the_last_checkpoint_stays(
    fault_there: str, code: int, message: str, data: str, tmt: Tmt, fault: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "STOPPED_SECONDS", 0.5)
    inject(fault_there, method="backward" if "Memory" in fault_there else "step")
    outcome = tmt(*train(data))
    assert (outcome.code, outcome.out) == (code, "")
    assert re.fullmatch(f"tmt: error: {message}\n", outcome.err), outcome.err
    assert saved_steps(Path("run/checkpoints")) == [3]


def test_what_only_the_first_process_can_find_is_said_once(data: str, tmt: Tmt, fault: None) -> None:
    inject("raise OSError(28, 'No space left on device', 'x')", rank=0, method="_write")
    outcome = tmt(*train(data))
    assert (outcome.code, outcome.err) == (3, "tmt: error: x: No space left on device; check disk and permissions\n")


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


def test_a_second_signal_ends_all_at_once(data: str, tmt: Tmt, fault: None) -> None:
    inject("import time; time.sleep(1000)", rank=0)
    command = [*PROGRAM, *train(data)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "step 4/" in line:
                break
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=5) == 130
