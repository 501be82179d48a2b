"""Kill training at random moments, resume it, and compare the weights with an uninterrupted run.

    python scripts/kill_and_resume.py --kills 5
    python scripts/kill_and_resume.py --plugin scripts/plugins/muon.py --set optimizer.name=muon

Training is killed with SIGKILL. Prints the SHA-256 of the tensors of both `model.safetensors` and of the last
checkpoint's state; exits with 1 if they differ.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from transformer_mt.runs.checksums import saved_sums

# Small enough for minutes, long enough to be killed midway; with dropout, shuffling and subword sampling.
SETTINGS = (
    "data.builtin.train=3000",
    "model.width=64",
    "model.feed_forward_width=128",
    "tokenizer.sampling=subword",
    "training.batch_tokens=1024",
    "training.validate_every=100",
    "training.checkpoint_every=20",
    "training.log_every=1",
)
STEPS = 400
COMPARED = ("model.safetensors", f"checkpoints/step-{STEPS}/state.safetensors")


def main(
    kills: Annotated[int, typer.Option(help="Number of kills.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the moments.")] = 1,
    plugin: Annotated[list[str] | None, typer.Option(help="As for tmt.")] = None,
    set: Annotated[list[str] | None, typer.Option(help="As for tmt train.")] = None,
) -> None:
    """Train once without and once with interruptions, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder, "whole"), Path(folder, "killed")
        start = time.monotonic()
        before = [part for path in plugin or [] for part in ("--plugin", path)]
        settings = [part for setting in (*SETTINGS, *(set or [])) for part in ("--set", setting)]
        train = partial(start_training, before=before, settings=settings)
        train(whole).wait()
        seconds = time.monotonic() - start
        print(f"uninterrupted: {seconds:.0f} s")
        moments = random.Random(seed)
        for step in sorted(moments.sample(range(1, STEPS), kills)):
            kill_once(train, killed, step, delay=moments.uniform(0.0, 0.3))
        train(killed).wait()
        same = [compare(name, whole, killed) for name in COMPARED]
    raise typer.Exit(0 if all(same) else 1)


def start_training(run: Path, *, before: list[str], settings: list[str]) -> "subprocess.Popen[bytes]":
    """Start `tmt train` in its own process."""
    options = ["--run-dir", str(run), "--steps", str(STEPS), *settings]
    command = [sys.executable, "-m", "transformer_mt", *before, "train", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_once(train: Callable[[Path], "subprocess.Popen[bytes]"], run: Path, step: int, *, delay: float) -> None:
    """Start or resume training, and kill it `delay` seconds after it wrote the metrics of a step."""
    process = train(run)
    while newest_step(run) < step:
        assert process.poll() is None, "training ended by itself"
        time.sleep(0.01)
    time.sleep(delay)
    assert process.poll() is None, "training ended by itself"
    process.kill()
    process.wait()
    saved = max((int(path.name.removeprefix("step-")) for path in (run / "checkpoints").glob("step-*")), default=0)
    print(f"SIGKILL after step {newest_step(run)}, newest checkpoint at step {saved}", flush=True)


def newest_step(run: Path) -> int:
    """The last step with complete metrics; 0 if there is none."""
    metrics = run / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True) if metrics.exists() else []
    return max((json.loads(line)["step"] for line in lines if line.endswith("\n")), default=0)


def compare(name: str, whole: Path, killed: Path) -> bool:
    """Print the digests of a file in both runs; return whether they agree."""
    sums = [saved_sums((run / name).read_bytes())["tensors"] for run in (whole, killed)]
    verdict = "equal" if sums[0] == sums[1] else "DIFFERENT"
    print(f"{name}: {sums[0][:16]}… uninterrupted, {sums[1][:16]}… killed: {verdict}")
    return sums[0] == sums[1]


if __name__ == "__main__":
    typer.run(main)
