"""Two processes started by torchrun train together; a signal saves, and a failing process ends both."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import settings

from transformer_mt.runs.directory import saved_steps

pytestmark = pytest.mark.slow

# Seconds before a process counts as hung, on the slowest machine.
LONGEST = 240
STEPS = settings(training__steps="12", training__validate_every="6", training__checkpoint_every="3")

# The fault happens in one process after its fourth step. Python imports this module at startup.
FAULT = """
import os, signal
if os.environ.get("RANK") == "{rank}":
    import torch
    from transformer_mt.training.trainer import Trainer
    function = Trainer.step
    def faulty(self):
        if self.progress.step == 4:
            {fault}
        return function(self)
    Trainer.step = faulty
"""


def command(data: str, directory: str = "run") -> list[str]:
    """The documented command, with a corpus."""
    torchrun = str(Path(sys.executable).with_name("torchrun"))
    start = [torchrun, "--nproc-per-node", "2", "-m", "transformer_mt"]
    return [*start, "train", "--data", data, "--run-dir", directory, *STEPS]


def weights(run: Path) -> str:
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()


def ours(stderr: str) -> list[str]:
    """The lines `tmt` wrote; torch may add a summary."""
    return [line for line in stderr.splitlines() if line.startswith("tmt: ")]


@pytest.fixture(scope="module")
def uninterrupted(home: Path) -> str:
    """The final weights of two processes."""
    environment = os.environ | {"HF_DATASETS_CACHE": str(home / "cache"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command(str(home / "data"), str(home / "two")), env=environment, capture_output=True, text=True, timeout=LONGEST
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r".*two: validation loss \d\.\d{4} at step \d+\n", done.stdout)
    assert done.stderr.count("finished at step 12") == 1
    return weights(home / "two")


@pytest.fixture
def failing(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the started processes import `faults/sitecustomize.py`."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(workplace / "faults"), *sys.path])))
    (workplace / "faults").mkdir()


def test_signal_saves_and_the_run_resumes(data: str, uninterrupted: str) -> None:
    with subprocess.Popen(command(data), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        lines = [line for line in iter(process.stderr.readline, "") if "step 2/" not in line or process.terminate()]
    (step,) = re.findall(r"tmt: stopped at step (\d+), saved; run the same command to resume", "".join(lines))
    assert saved_steps(Path("run/checkpoints"))[-1] == int(step) < 12
    done = subprocess.run(command(data), capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    assert f"tmt: continuing run from step {step}" in ours(done.stderr)
    assert "not bit-exact" not in done.stderr
    assert weights(Path("run")) == uninterrupted


@pytest.mark.parametrize(
    ("rank", "fault", "message"),
    [
        (1, "raise KeyError('x')", r"rank 1: internal error \(KeyError: 'x'\): .* report it"),
        (
            1,
            "torch.nn.init.constant_(next(self.model.parameters()), torch.nan)",
            "training: the loss diverged at step 5, .*; the checkpoint of step 3 is intact",
        ),
    ],
)
@pytest.mark.usefixtures("failing")
def test_failing_process_ends_all(rank: int, fault: str, message: str, data: str) -> None:
    Path("faults/sitecustomize.py").write_text(FAULT.format(rank=rank, fault=fault))
    done = subprocess.run(command(data), capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode != 0
    errors = [line.removeprefix("tmt: error: ") for line in ours(done.stderr) if line.startswith("tmt: error: ")]
    assert any(re.fullmatch(message, error) for error in errors), done.stderr
    assert saved_steps(Path("run/checkpoints")) == [3]


@pytest.mark.usefixtures("failing")
def test_signal_to_one_process_stops_all(data: str) -> None:
    Path("faults/sitecustomize.py").write_text(FAULT.format(rank=1, fault="os.kill(os.getpid(), signal.SIGTERM)"))
    done = subprocess.run(command(data), capture_output=True, text=True, timeout=LONGEST)
    assert "tmt: stopped at step 5, saved; run the same command to resume" in ours(done.stderr), done.stderr
    assert saved_steps(Path("run/checkpoints")) == [3, 5]


@pytest.mark.usefixtures("failing")
def test_usage_error_prints_one_line(data: str) -> None:
    Path("faults/sitecustomize.py").write_text("import os, time\ntime.sleep(3 * (os.environ.get('RANK') == '0'))")
    wrong = [*command(data), "--set", "training.batch_tokens=nonsense"]
    done = subprocess.run(wrong, capture_output=True, text=True, timeout=LONGEST)
    (line,) = ours(done.stderr)
    assert line.startswith("tmt: error: training.batch_tokens: ")


def test_unknown_host_prints_one_line(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_CPP_LOG_LEVEL")  # set by the tests
    program = """
import transformer_mt.cli.main as cli
def hurried(arguments, run=cli.run):
    import transformer_mt.ground.distributed as meeting
    meeting.MEETING /= 10
    return run(arguments)
cli.run = hurried
cli.main()
"""
    others = {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "no\x1b[31m.invalid", "MASTER_PORT": "9"}
    done = subprocess.run(
        [sys.executable, "-c", program, "train", "--data", data],
        env=os.environ | others | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert done.stderr.startswith("tmt: error: rank 1: MASTER_ADDR: ")
    assert "\x1b" not in done.stderr
