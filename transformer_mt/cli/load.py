"""Opening the run that a command works with. Imports torch: only for use inside commands."""

from dataclasses import dataclass
from pathlib import Path

from transformer_mt.cli.options import RUNS
from transformer_mt.cli.search_options import SearchOptions
from transformer_mt.cli.terminal import note
from transformer_mt.config.sections import Config, DataConfig
from transformer_mt.device import choose_device
from transformer_mt.runs.directory import newest_run
from transformer_mt.runs.trained import find_run
from transformer_mt.translation.translator import Translator


@dataclass(frozen=True)
class OpenedRun:
    """A trained run, all of one moment: its directory, its configuration, and what translates with its model."""

    path: Path
    config: Config
    translator: Translator


def open_run(model: Path | None, search: SearchOptions, *, device: str, quiet: bool = False) -> OpenedRun:
    """The run in that directory, or at that checkpoint; it translates as it is configured but for these options.

    Without a directory it is the newest run under `runs/`, which is named on stderr unless `quiet`.
    """
    run = newest_run(RUNS) if model is None else find_run(model)
    place = choose_device(device)
    found = run.load()
    if model is None and not quiet:
        data = found.config.data
        note(f"using {run.path} ({direction(data)}, {corpus_name(data)})")
    translator = Translator.of(found, device=place)
    translator.search = search.applied_to(found.config.search)
    return OpenedRun(run.path, found.config, translator)


def direction(data: DataConfig) -> str:
    """From which language into which."""
    return f"{data.source_language} → {data.target_language}"


def corpus_name(data: DataConfig) -> str:
    """What a corpus is called: a folder or files by their names alone."""
    parts = data.corpus.split(",")
    return ",".join(Path(part).name if Path(part).is_absolute() else part for part in parts)
