"""Two processes started by torchrun train together; a signal saves, and a failing process ends both."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import settings, weights

from transformer_mt.runs.directory import saved_steps

pytestmark = pytest.mark.slow

# Seconds before a process counts as hung, on the slowest machine.
LONGEST = 240
STEPS = settings(training__steps="12", training__validate_every="6", training__checkpoint_every="3")

# The fault happens in one process after its fourth step. Python imports this module at startup.
FAULT = """
import os, signal
if os.environ.get("RANK") == "1":
    import torch
    from transformer_mt.training.trainer import Trainer
    function = Trainer.step
    def faulty(self):
        if self.progress.step == 4:
            raise KeyError('x')
        return function(self)
    Trainer.step = faulty
"""


def command(data: str, directory: str = "run") -> list[str]:
    """The documented command, with a corpus."""
    torchrun = str(Path(sys.executable).with_name("torchrun"))
    start = [torchrun, "--nproc-per-node", "2", "-m", "transformer_mt"]
    return [*start, "train", "--data", data, "--run-dir", directory, *STEPS]


def ours(stderr: str) -> list[str]:
    """The lines `tmt` wrote; torch may add a summary."""
    return [line for line in stderr.splitlines() if line.startswith("tmt: ")]


@pytest.fixture(scope="module")
def uninterrupted(home: Path) -> str:
    """The final weights of two processes."""
    done = subprocess.run(
        command(str(home / "data"), str(home / "two")), capture_output=True, text=True, timeout=LONGEST
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r".*two: validation loss \d\.\d{4} at step \d+\n", done.stdout)
    assert done.stderr.count("finished at step 12") == 1
    return weights(home / "two")


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


def test_failing_process_ends_all(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["faults", *filter(None, sys.path)]))
    Path("faults").mkdir()
    Path("faults/sitecustomize.py").write_text(FAULT)
    done = subprocess.run(command(data), capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode != 0
    assert re.search(r"^tmt: error: rank 1: internal error \(KeyError: 'x'\): .* report it$", done.stderr, re.MULTILINE)
    assert saved_steps(Path("run/checkpoints")) == [3]
