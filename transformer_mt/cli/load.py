"""The run that a command works with, and the words that it has never seen. Imports torch: only for use in commands."""

from dataclasses import dataclass
from pathlib import Path

from transformer_mt.cli.options import RUNS, SearchOptions
from transformer_mt.cli.terminal import note
from transformer_mt.config.sections import Config, DataConfig
from transformer_mt.device import choose_device
from transformer_mt.runs.directory import Run, find_run, newest_run
from transformer_mt.translation.translator import Translator

# Words that are named; the others are counted.
NAMED = 9


@dataclass(frozen=True)
class OpenedRun:
    """A trained run, all of one moment: its directory, its configuration, and the translator with its model."""

    path: Path
    config: Config
    translator: Translator


def open_run(model: Path | None, search: SearchOptions, *, device: str, quiet: bool = False) -> OpenedRun:
    """The run in a directory, or at a checkpoint, with its search changed by the options.

    Without a directory it is the newest run under `runs/`, which is named on stderr unless `quiet`.
    """
    run = newest_run(RUNS) if model is None else find_run(model)
    place = choose_device(device)
    trained = run.load()
    if model is None and not quiet:
        data = trained.config.data
        note(f"using {run.path} ({data.source_language} → {data.target_language}, {corpus_name(data)})")
    translator = Translator.of(trained, device=place)
    translator.search = search.applied_to(trained.config.search)
    return OpenedRun(run.path, trained.config, translator)


def corpus_name(data: DataConfig) -> str:
    """The name of a corpus; of a folder or files without the way to them."""
    parts = data.corpus.split(",")
    return ",".join(Path(part).name if Path(part).is_absolute() else part for part in parts)


class NeverSeen:
    """Gathers the words of sentences that the training data of a run did not have; of several runs, each is `named`."""

    def __init__(self, run: Path, *, named: bool = False) -> None:
        self._place = f"{run}: " if named else ""
        self._known = Run(run).seen_words()
        self._gathered: dict[str, None] = {}

    def look_at(self, text: str) -> list[str] | None:
        """The unseen words of a sentence, each once; None where the run does not know its training words."""
        if self._known is None:
            return None
        words = self._known.never_seen(text)
        self._gathered.update(dict.fromkeys(words))
        return words

    def report(self) -> None:
        """One line on stderr about the words gathered since the last one, if there are any."""
        if not self._gathered:
            return
        assert self._known is not None
        named, more = list(self._gathered)[:NAMED], len(self._gathered) - NAMED
        shown = ", ".join(named) + (f" and {more} more" if more > 0 else "")
        how = "never seen" if self._known.complete else "rare or never seen"
        note(f"{self._place}{how} in training: {shown}; the translation guesses")
        self._gathered.clear()
