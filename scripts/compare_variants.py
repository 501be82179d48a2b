"""Variants of the model side by side: each trained on the same tokens from the same seeds, then evaluated.

    python scripts/compare_variants.py                                  all variants
    python scripts/compare_variants.py baseline rotary --steps 300      two of them, for a shorter time

A variant is a file of configs/laboratory; one that you put there can be compared at once. Every variant and seed is a
run of `tmt train` below `--runs`, with its measurement in a JSON file beside it: a second start skips what has been
measured and continues what was stopped. Ends with 1 when a variant failed; the others are compared all the same.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from experiments.comparison import compare, plan
from experiments.experiment import Runner

from transformer_mt.errors import TmtError

LABORATORY = Path(__file__).resolve().parents[1] / "configs" / "laboratory"


def main(
    variants: Annotated[
        list[str] | None,
        typer.Argument(metavar="VARIANT", help="Files of configs/laboratory; all where none is named."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="How long to train each.")] = 700,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds: 1, 2, …")] = 1,
    runs: Annotated[Path, typer.Option(help="Where the runs and measurements go.")] = Path("runs/compare"),
    jobs: Annotated[int, typer.Option(min=1, help="How many experiments side by side.")] = 1,
    set: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A change to all variants.")] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="STEM", help="The table goes to STEM.md and STEM.json. [RUNS/comparison]")
    ] = None,
) -> None:
    """Train variants of the model on the same tokens, evaluate them, and print one table."""
    runner = Runner(jobs=jobs, threads=max(1, (os.cpu_count() or 1) // jobs))
    signal.signal(signal.SIGTERM, runner.stop)
    try:
        experiments = plan(LABORATORY, variants or [], steps=steps, seeds=seeds, runs=runs, overrides=set or [])
        code = compare(experiments, runner, stem=output or runs / "comparison")
    except TmtError as error:
        print(f"compare_variants: error: {error}", file=sys.stderr)
        code = error.exit_code
    raise typer.Exit(code)


if __name__ == "__main__":
    typer.run(main)
