"""The summary of a run: its corpus, progress, size and age."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from transformer_mt.corpus.source import IMPORTED, corpus_name
from transformer_mt.ground.errors import TmtError
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.directory import Run
from transformer_mt.runs.lock import is_held
from transformer_mt.text.terminal import JsonObject


def list_runs(directory: Path) -> list[Path]:
    """The directory itself if it is a run, and the runs in it."""
    return [path for path in (directory, *sorted(directory.iterdir())) if path.is_dir() and Run(path).exists()]


def describe_run(path: Path) -> JsonObject:
    """The fields of a run for `tmt runs --json`; for a damaged one, its `error`, size and age."""
    files = list(_files(path))
    age = time.time() - max((file.st_mtime for file in files), default=0.0)
    size = {"bytes": sum(file.st_size for file in files), "seconds_since": max(0, round(age))}
    try:
        run = Run(path)
        config = run.config()
        progress = newest_progress(run)
        training = progress.aims(config.training)
        is_imported = config.data.corpus == IMPORTED
        state = "imported" if is_imported else "finished" if progress.reason_to_finish(training) else "stopped"
    except TmtError as error:
        return {"run": str(path), "error": str(error)} | size
    return {
        "run": str(path),
        "corpus": corpus_name(config.data),
        "source_language": config.data.source_language,
        "target_language": config.data.target_language,
        # `best_score` is a negated loss, so that higher is better.
        "score": None if progress.best_score is None else abs(progress.best_score),
        "score_name": config.training.choose_by,
        "step": progress.step,
        "best_step": progress.best_step,  # its weights translate
        "steps": training.steps,
        "epochs": training.epochs,
        "state": "training" if is_held(path) else state,
        "init_from": config.init_from.run or None,
    } | size


def _files(path: Path) -> Iterator[os.stat_result]:
    """The regular files of a run; links are not followed."""
    if path.is_file():  # a packed run
        yield path.stat()
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):  # training may delete files meanwhile
                status = os.lstat(os.path.join(folder, name))
                if stat.S_ISREG(status.st_mode):
                    yield status
