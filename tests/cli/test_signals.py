"""However a training is stopped, the same command ends with the same weights."""

import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest
from support.command_line import Tmt, settings

from transformer_mt.cli.signals import graceful_shutdown

PROGRAM = [sys.executable, "-c", "from transformer_mt.cli.main import main; main()"]
LONGER = settings(
    training__steps="200", training__validate_every="100", training__checkpoint_every="5", training__log_every="1"
)

# Seconds that a process may take on the slowest machine; it is for those that hang.
LONGEST = 240


def weights(run: Path) -> str:
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()


def train(data: str, run: Path) -> list[str]:
    return ["train", "--data", data, "--run", str(run), *LONGER]


@pytest.fixture(scope="module")
def uninterrupted(home: Path) -> str:
    """The weights that training ends with when it is left alone."""
    from transformer_mt.cli.main import run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.config.HF_DATASETS_CACHE", str(home / "cache"))
        assert run(train(str(home / "data"), home / "uninterrupted")) == 0
    return weights(home / "uninterrupted")


@contextmanager
def child(*command: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that ends with the block, and after `LONGEST` seconds whatever it does: what it wrote ends then too."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        limit = Timer(LONGEST, process.kill)
        limit.start()
        try:
            yield process
        finally:
            process.kill()
            limit.cancel()


def stopped(arguments: list[str], number: int, *, after_step: int, delay: float = 0.0) -> tuple[int, str, str]:
    """Start a process, send it a signal some time after it has reported a step; its exit code, stdout and stderr."""
    with child(*PROGRAM, *arguments) as process:
        assert process.stderr is not None
        seen = []
        for line in process.stderr:
            seen.append(line)
            if f"step {after_step}/" in line:
                break
        else:
            pytest.fail(f"no step {after_step} within {LONGEST} seconds:\n{''.join(seen)}")
        time.sleep(delay)
        process.send_signal(number)
        out, err = process.communicate()
        return process.returncode, out, "".join(seen) + err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_finishes_the_step_saves_and_loses_nothing(
    number: int, code: int, data: str, uninterrupted: str, workplace: Path, tmt: Tmt
) -> None:
    returned, out, err = stopped(train(data, workplace / "run"), number, after_step=3)
    assert returned == code
    assert out == ""
    (step,) = re.findall(r"^tmt: stopped at step (\d+), saved; the same command continues$", err, re.MULTILINE)
    assert 3 <= int(step) < 200
    assert (workplace / f"run/checkpoints/step-{step}").is_dir()
    assert "Traceback" not in err
    continued = tmt(*train(data, workplace / "run"))
    assert continued.code == 0
    assert f"tmt: continuing {workplace / 'run'} from step {step}\n" in continued.err
    assert weights(workplace / "run") == uninterrupted


@pytest.mark.parametrize("after_step", [7, 97])
def test_a_killed_run_ends_with_the_same_weights(
    after_step: int, data: str, uninterrupted: str, workplace: Path, tmt: Tmt
) -> None:
    delay = random.Random(after_step).uniform(0.0, 0.1)
    returned, _, _ = stopped(train(data, workplace / "run"), signal.SIGKILL, after_step=after_step, delay=delay)
    assert returned == -signal.SIGKILL
    assert tmt(*train(data, workplace / "run")).code == 0
    assert weights(workplace / "run") == uninterrupted


def test_the_first_signal_only_asks() -> None:
    before = signal.getsignal(signal.SIGINT)
    with graceful_shutdown(lambda: False) as request:
        assert request.number is None
        os.kill(os.getpid(), signal.SIGINT)
        assert request.exit_code == 130
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("second", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_leaves_at_once(second: int, code: int) -> None:
    program = (
        "import time; from transformer_mt.cli.signals import graceful_shutdown\n"
        "with graceful_shutdown(lambda: False) as request:\n"
        "    print('ready', flush=True)\n"
        "    while request.number is None: time.sleep(0.01)\n"
        "    print('asked', flush=True)\n"
        "    while True: time.sleep(0.01)\n"
    )
    with child(sys.executable, "-c", program) as process:
        assert process.stdout is not None
        for word, number in (("ready", signal.SIGINT), ("asked", second)):
            assert process.stdout.readline() == f"{word}\n"
            process.send_signal(number)
        assert process.wait() == code
