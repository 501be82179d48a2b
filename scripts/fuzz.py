"""Fuzz tmt with hostile files of every kind, each tried in its own process.

    python scripts/fuzz.py --cases 10000

Prints a table of exit codes by kind of file, and every case that broke the contract (a signal, a traceback, a hang, a
change outside the run, unexpected output) with the seed that reproduces it. Exits with 1 if there was one.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # forked children need the thread state from before the fork

import random
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from robustness.fuzzing import Fuzzer

PROGRESS = 1_000


def main(
    cases: Annotated[int, typer.Option(min=1, help="Number of cases.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first case.")] = 0,
) -> None:
    """Try cases SEED, SEED + 1, …"""
    codes: dict[str, Counter[int]] = defaultdict(Counter)
    problems = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HF_DATASETS_CACHE"] = str(Path(folder, "cache"))  # before anything imports `datasets`
        fuzzer = Fuzzer(Path(folder, "place"))
        for done, number in enumerate(range(seed, seed + cases)):
            if done and done % PROGRESS == 0:
                print(f"{done} cases, {problems} broke the contract", file=sys.stderr)
            case = fuzzer.prepare(random.Random(number))
            code, err, problem = fuzzer.attempt(case)
            codes[case.kind][code] += 1
            if problem:
                problems += 1
                print(f"case {number}, {case.kind}, tmt {' '.join(case.arguments)}: {problem}\n{err[-600:]}")
    every = sorted({code for counter in codes.values() for code in counter})
    print("| kind | cases | " + " | ".join(f"exit {code}" for code in every) + " |")
    print("|---|--:|" + "--:|" * len(every))
    for kind, counter in sorted(codes.items()):
        print(f"| {kind} | {counter.total()} | " + " | ".join(str(counter[code]) for code in every) + " |")
    print(f"{cases} cases, {problems} broke the contract")
    raise typer.Exit(1 if problems else 0)


if __name__ == "__main__":
    typer.run(main)
