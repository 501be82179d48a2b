"""The run that a command works with, and the words that it hardly knows."""

from pathlib import Path

from transformer_mt.cli.options import DEFAULT_ENGINE, RUNS, SearchOptions
from transformer_mt.cli.terminal import note
from transformer_mt.corpus.pairs import words
from transformer_mt.corpus.source import corpus_name
from transformer_mt.runs.directory import find_run, newest_run
from transformer_mt.translation.opened_run import OpenedRun

# A word is rare below this count: of 25 everyday sentences with such a word, none was translated right.
FEW = 10
# Lines that are named, and words of each; the others are counted.
LINES, WORDS = 5, 9


def open_run(
    model: Path | None,
    search: SearchOptions,
    *,
    device: str,
    engine: str = DEFAULT_ENGINE,
    quantization: str | None = None,
    quiet: bool = False,
) -> OpenedRun:
    """The run in a directory, or at a checkpoint, with its search changed by the options.

    Without a directory it is the newest run under `runs/`, which is named on stderr unless `quiet`.
    """
    run = newest_run(RUNS) if model is None else find_run(model)
    opened = OpenedRun.of(run, device=device, engine=engine, quantization=quantization)
    if model is None and not quiet:
        data = opened.config.data
        note(f"using {run.path} ({data.source_language} → {data.target_language}, {corpus_name(data)})")
    opened.translator.search = search.applied_to(opened.config.search)
    return opened


class RareWords:
    """Gathers the lines with words that training showed seldom or never and that the translation does not copy."""

    def __init__(self) -> None:
        self._looked_at = self._found = 0
        self._named: list[tuple[str, str]] = []

    def look_at(self, source: str, translation: str, run: OpenedRun, *, place: str) -> None:
        """Note the rare words of a source, if the run knows its words."""
        self._looked_at += 1
        known = run.known
        if known is None:
            return
        counts, copied, rare = known.counts(source), set(words(translation)), dict[str, list[str]]()
        for word, count in counts.items():
            if count < FEW and word not in copied:
                how = "never seen" if not count else "seen fewer than ten times"
                rare.setdefault(how if known.complete else "rare or never seen", []).append(word)
        if rare:
            self._found += 1
        if rare and self._found <= LINES:
            remarks = (f"{how} in training: {_few(found)}" for how, found in sorted(rare.items()))  # `never` first
            self._named.append((place, "; ".join(remarks)))

    def report(self) -> None:
        """Name the first lines that were found on stderr, with their places if others were looked at."""
        for place, remark in self._named:
            note(f"{f'{place}: ' if self._looked_at > 1 else ''}{remark}; the translation guesses")
        if self._found > LINES:
            note(f"further lines with such words: {self._found - LINES}")


def _few(found: list[str]) -> str:
    more = len(found) - WORDS
    return ", ".join(found[:WORDS]) + (f" and {more} more" if more > 0 else "")
