"""`tmt runs`: which trained models there are, and how far each has come."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from transformer_mt.cli.options import RUNS, Json
from transformer_mt.cli.terminal import note, result
from transformer_mt.errors import InputError, TmtError
from transformer_mt.views.text import escaped_json, message_line, rendered, table

HEADINGS = ("run", "corpus", "languages", "score", "step", "size", "age", "state")
# The state of a run that tmt heads --prune wrote, and that has no training of its own.
PRUNED = "pruned"
# Units of an age, in seconds.
AGES = {"days": 86_400, "h": 3_600, "min": 60, "s": 1}


def runs(
    directory: Annotated[
        Path, Argument(metavar="DIR", help="A folder of runs, or a run.", show_default=str(RUNS))
    ] = RUNS,
    as_json: Json = False,
) -> None:
    """List the runs in a folder: corpus, languages, best score, steps, size, age, and whether one is being trained.

    \b
    Examples:
      tmt runs
      tmt runs path/to/runs
      tmt runs --json

    The newest comes first. State is training, stopped, finished, or pruned: made by tmt heads --prune, and not trained
    since. --json prints an object a line.
    """
    from transformer_mt.runs.directory import Run

    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory; give one that holds runs")
    places = [path for path in (directory, *sorted(directory.iterdir())) if Run(path).exists()]
    records = sorted(map(_record, places), key=lambda record: record["seconds_since"])
    if not records:
        note(f"{directory}: no runs here; train one with: tmt train")
    result(*map(escaped_json, records) if as_json else _lines(records))


def _record(path: Path) -> dict[str, Any]:
    """The fields of `--json` for a run; for a damaged one, its `error`."""
    from transformer_mt.cli.load import corpus_name
    from transformer_mt.runs.checkpoints import newest_progress
    from transformer_mt.runs.directory import Run
    from transformer_mt.runs.lock import is_held

    files = list(_files(path))
    age = time.time() - max((file.st_mtime for file in files), default=0.0)
    size = {"bytes": sum(file.st_size for file in files), "seconds_since": max(0, round(age))}
    try:
        run = Run(path)
        config, progress = run.config(), newest_progress(run)
        # Weights that no step led to are those of another run, less the heads that `tmt heads --prune` masked.
        is_pruned = config.init_from.run and not progress.step and run.has_model() and not any(run.metrics())
        state = PRUNED if is_pruned else "finished" if progress.reason_to_finish(config.training) else "stopped"
    except TmtError as error:
        return {"run": str(path), "error": str(error)} | size
    return {
        "run": str(path),
        "corpus": corpus_name(config.data),
        "source_language": config.data.source_language,
        "target_language": config.data.target_language,
        # A loss is kept negated, so that higher is better.
        "score": None if progress.best_score is None else abs(progress.best_score),
        "score_name": config.training.best_metric,
        "step": progress.step,
        "steps": config.training.steps,
        "epochs": config.training.epochs,
        "state": "training" if is_held(path) else state,
        "init_from": config.init_from.run or None,
    } | size


def _files(path: Path) -> Iterator[os.stat_result]:
    """The regular files of a run. No link is followed."""
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):  # deleted meanwhile by a training
                status = os.lstat(os.path.join(folder, name))
                if stat.S_ISREG(status.st_mode):
                    yield status


def _lines(records: list[dict[str, Any]]) -> Iterator[str]:
    """A table, then a line for each damaged run."""
    sound = [record for record in records if "error" not in record]
    right = [HEADINGS.index(name) for name in ("step", "size", "age")]
    grid = table(map(_row, sound), headings=HEADINGS, right=right)
    yield from (line.plain for line in rendered(grid, width=10_000) if sound)
    for record in records:
        if error := record.get("error", ""):  # most messages begin with a path inside the run
            yield message_line(error if error.startswith(record["run"]) else f"{record['run']}: {error}")


def _row(record: dict[str, Any]) -> list[str]:
    score = "–" if record["score"] is None else f"{record['score_name']} {record['score']:.3f}"
    step = f"{record['step']}" if record["epochs"] else f"{record['step']}/{record['steps']}"
    state = f"{PRUNED}, from {record['init_from']}" if record["state"] == PRUNED else record["state"]
    languages = f"{record['source_language']} → {record['target_language']}"
    size, seconds = f"{record['bytes'] / 1e6:,.1f} MB", record["seconds_since"]
    unit = next((unit for unit, length in AGES.items() if seconds >= length), "s")
    return [record["run"], record["corpus"], languages, score, step, size, f"{seconds // AGES[unit]} {unit}", state]
