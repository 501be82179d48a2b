"""Compare model variants, trained on the same tokens from the same seeds.

    python scripts/compare_variants.py                                  all variants
    python scripts/compare_variants.py baseline rotary --steps 300      two of them, with shorter training

A variant is a file in configs/laboratory, or next to its plugin in scripts/plugins; add one to compare it. Each
variant and seed is a run of `tmt train` below `--runs`, with its measurement in a JSON file next to it. A second start
skips finished measurements and resumes stopped runs. If a variant fails, the others are still compared, and the exit
code is 1.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from experiments.comparison import compare, plan
from experiments.experiment import PLUGINS, Runner, load_plugins

from transformer_mt.ground.errors import TmtError

LABORATORY = Path(__file__).resolve().parents[1] / "configs" / "laboratory"


def main(
    variants: Annotated[
        list[str] | None,
        typer.Argument(metavar="VARIANT", help="Names of their files. [all]"),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Training steps of each variant.")] = 700,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds: 1, 2, …")] = 1,
    runs: Annotated[Path, typer.Option(help="Folder for runs and measurements.")] = Path("runs/compare"),
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel experiments.")] = 1,
    set: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Change a key of all variants.")] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="STEM", help="Write the table to STEM.md and STEM.json. [RUNS/comparison]")
    ] = None,
) -> None:
    """Train model variants on the same tokens, evaluate them, and print one table."""
    runner = Runner(jobs, max(1, (os.cpu_count() or 1) // jobs), load_plugins())
    signal.signal(signal.SIGTERM, runner.stop)
    try:
        folders = (LABORATORY, PLUGINS)
        experiments = plan(folders, variants or [], steps=steps, seeds=seeds, runs=runs, overrides=set or [])
        code = compare(experiments, runner, stem=output or runs / "comparison")
    except TmtError as error:
        print(f"compare_variants: error: {error}", file=sys.stderr)
        code = error.exit_code
    raise typer.Exit(code)


if __name__ == "__main__":
    typer.run(main)
