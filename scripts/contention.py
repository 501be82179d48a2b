"""Run trainers, one with `--overwrite`, readers and writers concurrently in one run directory, and kill some.

    python scripts/contention.py --rounds 200

Prints the exit codes, and everything lost or mixed with the seed of its round; exits with 1 if there was anything.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # forked children need the thread state from before the fork

import random
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import torch
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from robustness.contention import Contention


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Number of rounds.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first round.")] = 0,
) -> None:
    """Run rounds SEED, SEED + 1, …"""
    torch.set_num_threads(1)
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        contention = Contention(Path(folder))
        for number in range(seed, seed + rounds):
            problems = contention.round(random.Random(number))
            broken += bool(problems)
            for problem in problems:
                print(f"round {number}: {problem}", flush=True)
    codes = sorted({code for _, code in contention.endings})
    print("| process | " + " | ".join(f"exit {code}" for code in codes) + " |")
    print("|---|" + "--:|" * len(codes))
    for kind in dict.fromkeys(kind for kind, _ in contention.endings):
        print(f"| {kind} | " + " | ".join(str(contention.endings[kind, code]) for code in codes) + " |")
    print("; ".join(f"{what}: {count}" for what, count in sorted(contention.counts.items())))
    print(f"{rounds} rounds, {broken} with something lost or mixed")
    raise typer.Exit(1 if broken else 0)


if __name__ == "__main__":
    typer.run(main)
