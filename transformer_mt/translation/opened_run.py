"""A trained run opened to translate with and to look into."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from transformer_mt.config.sections import Config
from transformer_mt.corpus.word_counts import SeenWords
from transformer_mt.runs.data import AlignmentHeads
from transformer_mt.runs.directory import Run
from transformer_mt.translation.engine import OWN
from transformer_mt.translation.engines import open_engine
from transformer_mt.translation.translator import Translator


@dataclass(frozen=True)
class OpenedRun:
    """A trained run, all of one moment: its directory, its configuration, and the translator with its model.

    `checkpoint` is the step of the checkpoint that the weights are from; None for those to use.
    """

    path: Path
    config: Config
    translator: Translator
    checkpoint: int | None = None

    @classmethod
    def of(cls, run: Run, *, device: str = "auto", engine: str = OWN, quantization: str | None = None) -> Self:
        """The run, or its checkpoint. Raises what `Translator.load` does."""
        opened = open_engine(run, engine=engine, device=device, quantization=quantization)
        return cls(run.path, opened.config, Translator.of(opened), run.step)

    @cached_property
    def known(self) -> SeenWords | None:
        """The words that training showed; None where the run does not say."""
        return Run(self.path).seen_words()

    @cached_property
    def alignment(self) -> AlignmentHeads | None:
        """The heads that validation chose to link words by; None before training ends."""
        return Run(self.path).alignment()

    def written(self, text: str) -> str:
        """A text as it is translated: one that was typed without capitals gets those of its words."""
        return self.known.with_capitals(text) if self.known else text

    def never_seen(self, text: str) -> list[str] | None:
        """The words of a source that training never showed; None where the run does not know."""
        return None if self.known is None else [word for word, count in self.known.counts(text).items() if not count]
