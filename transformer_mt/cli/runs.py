"""`tmt runs`: which trained models there are, and how far each has come."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transformer_mt.cli.options import RUNS, Json
from transformer_mt.errors import InputError, TmtError

if TYPE_CHECKING:
    from transformer_mt.config.sections import Config
    from transformer_mt.runs.checkpoints import Progress
    from transformer_mt.runs.directory import Run

HEADINGS = ("run", "corpus", "languages", "score", "step", "size", "age", "state")
# The state of a run that tmt heads --prune wrote, and that has no training of its own.
PRUNED = "pruned"
# Units of an age, in seconds.
AGES = {"days": 86_400, "h": 3_600, "min": 60, "s": 1}


def runs(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the runs are, or one run.", show_default=str(RUNS))
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
    since. Of a damaged run it says what is wrong. --json prints an object a line: run, corpus, source_language,
    target_language, score, score_name, step, steps, epochs, state, init_from (the run it started from, or null), bytes,
    seconds_since; or run and error.
    """
    from transformer_mt.cli.terminal import note, result
    from transformer_mt.views.text import escaped_json

    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory; give one that holds runs")
    records = sorted(_records(directory), key=lambda record: record["seconds_since"])
    if not records:
        note(f"{directory}: no runs here; train one with: tmt train")
    result(*map(escaped_json, records) if as_json else _lines(records))


def _records(directory: Path) -> Iterator[dict[str, Any]]:
    """A record of every run in a folder, or of the folder itself if it is one."""
    from transformer_mt.runs.directory import Run

    try:
        inside = sorted(path for path in directory.iterdir() if path.is_dir())
    except OSError as error:
        raise InputError(f"{directory}: cannot be read ({error.strerror}); check its permissions") from None
    for path in [directory] if Run(directory).exists() else inside:
        if Run(path).exists():
            yield _record(Run(path))


def _record(run: "Run") -> dict[str, Any]:
    """The fields of `--json` for a run; for a damaged one, its `error`."""
    from transformer_mt.runs.checkpoints import Progress, saved_progress
    from transformer_mt.runs.directory import CHECKPOINTS, saved_steps
    from transformer_mt.runs.lock import is_held

    size, changed = _size_and_change(run.path)
    record: dict[str, Any] = {"run": str(run.path)}
    try:
        config = run.config()
        steps = saved_steps(run.path / CHECKPOINTS)
        progress = saved_progress(run.path / CHECKPOINTS, steps[-1]) if steps else Progress()
        state = "training" if is_held(run.path) else _state(run, config, progress)
        record |= _numbers(config, progress) | {"state": state, "init_from": config.init_from.run or None}
    except TmtError as error:
        record["error"] = str(error)
    return record | {"bytes": size, "seconds_since": max(0, round(time.time() - changed))}


def _state(run: "Run", config: "Config", progress: "Progress") -> str:
    """Weights that no step led to are those of another run, less the heads that `tmt heads --prune` left out."""
    if config.init_from.run and not progress.step and run.has_model() and not run.metrics():
        return PRUNED
    return "finished" if progress.reason_to_finish(config.training) else "stopped"


def _numbers(config: "Config", progress: "Progress") -> dict[str, Any]:
    from transformer_mt.cli.load import corpus_name

    best = progress.best_score
    return {
        "corpus": corpus_name(config.data),
        "source_language": config.data.source_language,
        "target_language": config.data.target_language,
        "score": None if best is None else abs(best),  # a loss is kept negated, so that higher is better
        "score_name": config.training.best_metric,
        "step": progress.step,
        "steps": config.training.steps,
        "epochs": config.training.epochs,
    }


def _size_and_change(path: Path) -> tuple[int, float]:
    """The bytes of all files of a run, and when one was last written. No link is followed."""
    size, changed = 0, 0.0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):  # deleted meanwhile by a training
                status = os.lstat(os.path.join(folder, name))
                if stat.S_ISREG(status.st_mode):
                    size, changed = size + status.st_size, max(changed, status.st_mtime)
    return size, changed


def _lines(records: list[dict[str, Any]]) -> Iterator[str]:
    """A table, then a line for each damaged run."""
    from transformer_mt.views.text import rendered, table

    damaged = [record for record in records if "error" in record]
    if rows := [_row(record) for record in records if record not in damaged]:
        right = [HEADINGS.index(name) for name in ("step", "size", "age")]
        yield from (line.plain for line in rendered(table(rows, headings=HEADINGS, right=right), width=10_000))
    for record in damaged:  # most messages begin with a path inside the run
        error, run = record["error"], record["run"]
        yield error if error.startswith(run) else f"{run}: {error}"


def _row(record: dict[str, Any]) -> list[str]:
    score = "–" if record["score"] is None else f"{record['score_name']} {record['score']:.3f}"
    step = f"{record['step']}" if record["epochs"] else f"{record['step']}/{record['steps']}"
    state = record["state"]
    if state == PRUNED:
        origin = Path(record["init_from"])
        place = os.path.relpath(origin) if origin.is_relative_to(Path.cwd()) else origin
        step, state = "–", f"{PRUNED}, from {place}"
    languages = f"{record['source_language']} → {record['target_language']}"
    size = f"{record['bytes'] / 1e6:,.1f} MB"
    return [record["run"], record["corpus"], languages, score, step, size, _age(record["seconds_since"]), state]


def _age(seconds: int) -> str:
    """An age in the largest unit of which it has at least one, as in `3 h`."""
    unit = next((unit for unit, length in AGES.items() if seconds >= length), "s")
    return f"{seconds // AGES[unit]} {unit}"
