"""Opening the run that a command works with. Imports torch: only for use inside commands."""

from pathlib import Path

from transformer_mt.cli.options import RUNS
from transformer_mt.cli.terminal import note
from transformer_mt.runs.directory import Run, newest_run


def open_run(model: Path | None) -> Run:
    """The run in that directory; without one, the newest under `runs/`, which is named on stderr."""
    if model is not None:
        return Run.open(model)
    run = newest_run(RUNS)
    note(f"using {run.path}")
    return run
