"""Opening the run that a command works with. Imports torch: only for use inside commands."""

from pathlib import Path

from transformer_mt.cli.options import RUNS
from transformer_mt.cli.search_options import SearchOptions
from transformer_mt.cli.terminal import note
from transformer_mt.runs.directory import Run, newest_run
from transformer_mt.translation.translator import Translator


def open_run(model: Path | None, search: SearchOptions, *, device: str) -> tuple[Run, Translator]:
    """The run in that directory, and its translator, which searches as the run is configured but for these options.

    Without a directory it is the newest run under `runs/`, which is named on stderr.
    """
    run = newest_run(RUNS) if model is None else Run.open(model)
    if model is None:
        note(f"using {run.path}")
    chosen = search.applied_to(run.config().search)
    translator = Translator.load(run.path, device=device)
    translator.search = chosen
    return run, translator
