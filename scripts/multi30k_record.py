"""Multi30k, our best recipe: train a model of both directions, then continue in one direction with SimCut.

    python scripts/multi30k_record.py path/to/multi30k
    python scripts/multi30k_record.py path/to/multi30k --to de --seed 2 --set training.precision=bfloat16

Both directions: Ding et al. 2021; SimCut: Gao et al. 2022 (the plugin scripts/plugins/simcut.py). A second start
resumes. The test split is scored once: the scores stay in `--runs`, and a later start prints them.
"""

import json
import os
import signal
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from experiments.experiment import Experiment, Runner, load_plugins

from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.ground.files import make_directory, write_atomically, write_errors

BOTH = (
    "training.steps=2400", "training.batch_tokens=4096", "training.validate_every=400", "training.checkpoint_every=400",
    "schedule.warmup=800",
)  # fmt: skip
ONE = ("objective.name=simcut", "schedule.learning_rate=0.0022", "training.steps=4000")
PRINTED = {"bleu_lowercase": "BLEU, lowercased", "bleu": "BLEU", "chrf": "chrF"}


class Language(StrEnum):
    """A side of the corpus."""

    DE = "de"
    EN = "en"


def recipe(data: str, target: Language, settings: tuple[str, ...], *, seed: int, runs: Path) -> Experiment:
    """The second stage, whose `parent` is the first. `settings` apply to both."""
    [source] = set(Language) - {target}
    corpus = json.dumps(data)
    languages = (f"data.source_language={source}", f"data.target_language={target}")
    reverse = f"data.mixture.reverse={{corpus={corpus}, source_language='{target}', target_language='{source}'}}"
    common = (f"data.corpus={corpus}", *languages, f"training.seed={seed}", *settings)
    both = Experiment(Path("multi30k"), seed, (*BOTH, *common, reverse), runs, label=f"both-{target}")
    return replace(both, settings=(*ONE, *settings), label=f"to-{target}", parent=both)


def measured(last: Experiment, runner: Runner) -> dict[str, Any]:
    """Train all stages and score the test split, unless its scores are stored."""
    path = last.runs / f"{last.name}.json"
    if not path.is_file():
        with write_errors(last.runs):
            make_directory(last.runs)
        if not last.runs.is_dir():
            raise InputError(last.runs, "not a folder", "give another --runs")
        stages = [stage for stage in (last.parent, last) if stage]
        seconds = sum(runner.train(stage).seconds for stage in stages)
        scores = runner.evaluate(last, "test") | {"training_seconds": seconds}
        write_atomically(path, json.dumps(scores, indent=1).encode())
    stored: dict[str, Any] = json.loads(path.read_bytes())
    return stored


def main(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Folder with train.jsonl, val.jsonl and test.jsonl.")],
    to: Annotated[Language, typer.Option(help="Target language.")] = Language.EN,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 1,
    runs: Annotated[Path, typer.Option(help="Folder for runs and scores.")] = Path("runs/multi30k_record"),
    set: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Change a key of both stages.")] = None,
) -> None:
    """Train the recipe and print its scores on the test split."""
    runner = Runner(1, os.cpu_count() or 1, load_plugins("simcut"))
    signal.signal(signal.SIGTERM, runner.stop)
    try:
        last = recipe(data, to, tuple(set or ()), seed=seed, runs=runs)
        last.config()  # raises
        scores = measured(last, runner)
    except TmtError as error:
        print(f"multi30k_record: error: {error}", file=sys.stderr)
        raise typer.Exit(error.exit_code) from None
    for key, title in PRINTED.items():
        print(f"{title:<18}{scores[key]:6.2f}")
    print(f"{'training':<18}{scores['training_seconds'] / 60:6.0f} minutes\n{scores['signature']}")


if __name__ == "__main__":
    typer.run(main)
