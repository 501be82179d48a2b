"""Kill training at random moments with SIGKILL, resume it each time, and compare the weights with an uninterrupted run.

    python scripts/kill_and_resume.py --kills 5

Prints the SHA-256 of both `model.safetensors` and of the last checkpoint's weights; exits with 1 when they differ.
"""

import hashlib
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

# Small enough for minutes, large enough to be killed in the middle: dropout, shuffling and subword sampling are on.
SETTINGS = (
    "data.builtin.train=3000",
    "model.width=64",
    "model.feedforward=128",
    "tokenizer.sampling=subword",
    "training.batch_tokens=1024",
    "training.steps=400",
    "training.validate_every=100",
    "training.checkpoint_every=20",
)
COMPARED = ("model.safetensors", "checkpoints/step-400/weights.safetensors")


def main(
    kills: Annotated[int, typer.Option(help="How many times to kill.")] = 5,
    seed: Annotated[int, typer.Option(help="For the moments.")] = 1,
) -> None:
    """Train once without and once with interruptions; compare."""
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder, "whole"), Path(folder, "killed")
        start = time.monotonic()
        start_training(whole).wait()
        seconds = time.monotonic() - start
        print(f"uninterrupted: {seconds:.0f} s")
        moments = random.Random(seed)
        for number in range(1, kills + 1):
            kill_once(killed, number, after=moments.uniform(0.2, 0.6) * seconds)
        start_training(killed).wait()
        same = [compare(name, whole, killed) for name in COMPARED]
    raise typer.Exit(0 if all(same) else 1)


def start_training(run: Path) -> "subprocess.Popen[bytes]":
    """`tmt train` in a process of its own."""
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    command = [sys.executable, "-m", "transformer_mt", "train", "--run", str(run), *settings]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_once(run: Path, number: int, *, after: float) -> None:
    """Start or continue training, and kill it after so many seconds."""
    process = start_training(run)
    time.sleep(after)
    ended = process.poll() is not None
    process.kill()
    process.wait()
    steps = sorted(int(path.name.removeprefix("step-")) for path in (run / "checkpoints").glob("step-*"))
    moment = "had ended" if ended else f"SIGKILL after {after:.1f} s"
    print(f"kill {number}: {moment}, newest checkpoint at step {steps[-1] if steps else 0}")


def compare(name: str, whole: Path, killed: Path) -> bool:
    """Print the sums of a file in both runs; whether they agree."""
    sums = [hashlib.sha256((run / name).read_bytes()).hexdigest() for run in (whole, killed)]
    verdict = "equal" if sums[0] == sums[1] else "DIFFERENT"
    print(f"{name}: {sums[0][:16]}… uninterrupted, {sums[1][:16]}… killed: {verdict}")
    return sums[0] == sums[1]


if __name__ == "__main__":
    typer.run(main)
