"""Measure changes of a configuration, one at a time: gain in BLEU with its interval, and cost.

    python scripts/ablate.py multi30k --steps 2800 --set data.corpus=path/to/multi30k
    python scripts/ablate.py multi30k simcut muon --seeds 3 --steps 2800 --set data.corpus=path/to/multi30k

The changes are in scripts/tricks.toml, or in the file that `--changes` names. Every change and seed is a run of
`tmt train` below `--runs`. A second start skips finished runs and resumes stopped ones. Scores are of the validation
split: choose on it, and score the test set once.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from experiments.ablation import BASE, SPLIT, Ablation, read_changes
from experiments.experiment import Runner, load_plugins

from transformer_mt.ground.errors import TmtError
from transformer_mt.ground.files import write_atomically

TRICKS = Path(__file__).with_name("tricks.toml")


def main(
    base: Annotated[Path, typer.Argument(metavar="CONFIG", help="The configuration to change.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="CHANGE", help="Sections of the file of changes. [all]")
    ] = None,
    changes: Annotated[Path, typer.Option(help="The file of changes.")] = TRICKS,
    steps: Annotated[int | None, typer.Option(min=1, help="Training steps of each change without its own.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds: 1, 2, …")] = 1,
    runs: Annotated[Path, typer.Option(help="Folder for runs and trials.")] = Path("runs/ablation"),
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel trainings.")] = 1,
    set: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Change a key of all runs.")] = None,
) -> None:
    """Train the base and each change, and print a table of gains."""
    from transformer_mt.corpus.load_corpus import load_corpus

    runner = Runner(jobs, max(1, (os.cpu_count() or 1) // jobs), load_plugins())
    signal.signal(signal.SIGTERM, runner.stop)
    settings = (*(set or ()), *([f"training.steps={steps}"] if steps else []))
    try:
        ablation = Ablation(base, read_changes(changes), settings, runs, runner)
        chosen = names or list(ablation.changes)
        for name in chosen:
            ablation.experiment(name, 1).config()  # raises
        pairs = load_corpus(ablation.experiment(BASE, 1).config().data).splits[SPLIT]
        table = ablation.table(chosen, pairs, seeds=seeds)
        write_atomically(runs / "ablation.md", table.encode())
        print(table, end="")
    except TmtError as error:
        print(f"ablate: error: {error}", file=sys.stderr)
        raise typer.Exit(error.exit_code) from None


if __name__ == "__main__":
    typer.run(main)
