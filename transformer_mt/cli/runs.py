"""`tmt runs`: which trained models there are, and how far each has come."""

import os
import stat
import time
from collections.abc import Iterator, Sequence
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
RIGHT = ("step", "size", "age")
# The state of a run that tmt heads --prune wrote, and that has no training of its own.
PRUNED = "pruned"
# Units of an age, each as long as so many seconds.
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
    target_language, score, score_name, step, steps, epochs, state, parent (the run that it began with, or null), bytes,
    seconds_since; or run and error.
    """
    from transformer_mt.cli.terminal import note, result
    from transformer_mt.views.text import escaped_json

    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory; give one that holds runs")
    found = sorted(_described(directory), key=lambda one: one["seconds_since"])
    if not found:
        note(f"{directory}: no runs here; train one with: tmt train")
    lines = (escaped_json(one) for one in found) if as_json else _table(found)
    result(*lines)


def _described(directory: Path) -> Iterator[dict[str, Any]]:
    """What there is to say of every run in a folder, or of the folder itself if it is one."""
    from transformer_mt.runs.directory import Run

    try:
        inside = sorted(path for path in directory.iterdir() if path.is_dir())
    except OSError as error:
        raise InputError(f"{directory}: cannot be read ({error.strerror}); check its permissions") from None
    for path in [directory] if Run(directory).exists() else inside:
        run = Run(path)
        if run.exists():
            yield _description(run)


def _description(run: "Run") -> dict[str, Any]:
    """What there is to say of a run; of a damaged one, what is wrong."""
    from transformer_mt.runs.checkpoints import Progress, saved_progress, saved_steps
    from transformer_mt.runs.directory import CHECKPOINTS
    from transformer_mt.runs.lock import is_held

    size, changed = _size_and_change(run.path)
    described: dict[str, Any] = {"run": str(run.path)}
    try:
        config = run.config()
        steps = saved_steps(run.path / CHECKPOINTS)
        progress = saved_progress(run.path / CHECKPOINTS, steps[-1]) if steps else Progress()
        state = "training" if is_held(run.path) else _state(run, config, progress)
        described |= _numbers(config, progress) | {"state": state, "parent": config.init_from.run or None}
    except TmtError as error:
        described["error"] = str(error)
    return described | {"bytes": size, "seconds_since": max(0, round(time.time() - changed))}


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
    """The bytes of all files of a run, and when one was last written. Follows no link; leaves out what is hidden."""
    size, changed = 0, 0.0
    waiting = [str(path)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        waiting.append(entry.path)
                    elif stat.S_ISREG(found.st_mode):
                        size, changed = size + found.st_size, max(changed, found.st_mtime)
        except OSError:  # deleted meanwhile by a training, too deep, or not ours to read
            continue
    return size, changed


def _table(found: list[dict[str, Any]]) -> Iterator[str]:
    """Columns as wide as what stands in them, then a line for each damaged run."""
    from transformer_mt.views.text import escape_controls

    damaged = [one for one in found if "error" in one]
    rows = [[*map(escape_controls, _row(one))] for one in found if one not in damaged]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
    for row in (HEADINGS, *rows) if rows else ():
        yield _aligned(row, widths)
    for one in damaged:  # messages begin with a path, mostly one inside the run
        yield one["error"] if one["error"].startswith(one["run"]) else f"{one['run']}: {one['error']}"


def _aligned(cells: Sequence[str], widths: list[int]) -> str:
    columns = zip(HEADINGS, cells, widths, strict=True)
    return "  ".join(
        cell.rjust(width) if name in RIGHT else cell.ljust(width) for name, cell, width in columns
    ).rstrip()


def _row(one: dict[str, Any]) -> list[str]:
    score = "–" if one["score"] is None else f"{one['score_name']} {one['score']:.3f}"
    step = f"{one['step']}" if one["epochs"] else f"{one['step']}/{one['steps']}"
    state = one["state"]
    if state == PRUNED:
        step, state = "–", f"{PRUNED}, from {_shown(one['parent'])}"
    languages = f"{one['source_language']} → {one['target_language']}"
    size = f"{one['bytes'] / 1e6:,.1f} MB"
    return [one["run"], one["corpus"], languages, score, step, size, _age(one["seconds_since"]), state]


def _shown(path: str) -> str:
    """A path as it is reached from here, if it lies below."""
    return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else path


def _age(seconds: int) -> str:
    """A number of seconds in the largest unit of which it has one at least, as in `3 h`."""
    unit = next((unit for unit, length in AGES.items() if seconds >= length), "s")
    return f"{seconds // AGES[unit]} {unit}"
