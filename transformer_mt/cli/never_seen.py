"""Which words of what is translated a model has never seen in training."""

from pathlib import Path

from transformer_mt.cli.terminal import note
from transformer_mt.runs.directory import Run

# Words that are named; of the others only the number is said.
NAMED = 9


class NeverSeen:
    """Gathers the words of sentences that the training data of a run did not have; of several, each is `named`."""

    def __init__(self, run: Path, *, named: bool = False) -> None:
        self._place = f"{run}: " if named else ""
        self._words = Run(run).seen_words()
        self._found: dict[str, None] = {}

    def look_at(self, text: str) -> list[str] | None:
        """Those words of a sentence, each once; None where the run does not know its training words."""
        if self._words is None:
            return None
        found = self._words.never_seen(text)
        self._found.update(dict.fromkeys(found))
        return found

    def say(self) -> None:
        """One line on stderr about all that was found since the last one, if anything was."""
        if not self._found:
            return
        assert self._words is not None
        named, more = list(self._found)[:NAMED], len(self._found) - NAMED
        shown = ", ".join(named) + (f" and {more} more" if more > 0 else "")
        how = "never seen" if self._words.complete else "rare or never seen"
        note(f"{self._place}{how} in training: {shown}; the translation guesses")
        self._found.clear()
