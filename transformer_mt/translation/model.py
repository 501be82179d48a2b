"""A trained model, opened once, for everything that translates with it or looks into it."""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Self

from transformer_mt.config.sections import Config
from transformer_mt.corpus.word_counts import SeenWords
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.prepared import Preparer
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.engine import OWN, Engine

if TYPE_CHECKING:
    from transformer_mt.models.seq2seq import Seq2Seq


@dataclass(eq=False)
class Model:
    """A configuration, a tokenizer and an engine that belong together, and the run that they are from, if any."""

    config: Config
    tokenizer: Tokenizer
    engine: Engine
    run: Run | None = None

    @classmethod
    def open(cls, run: Run, *, device: str = "auto", engine: str = OWN, quantization: str | None = None) -> Self:
        """The model of a run, or of its checkpoint. All its files are of one moment.

        Raises `InputError` before the first validation, for an unknown device or engine, and for a model that the
        engine cannot compute; `MachineError` for a damaged file.
        """
        module = import_module(lookup(ENGINES, engine, key="engine"))
        run, opened = module.open_engine(run.anew(), device=device, quantization=quantization)
        run.keep_beside()
        return cls(run.config(), run.tokenizer(), opened, run)

    @property
    def network(self) -> "Seq2Seq":
        """The network, to look into. Raises `InputError` where another program computes."""
        if self.engine.network is None:
            raise InputError("engine", f"{self.engine.name} shows nothing of the model", "leave it out")
        return self.engine.network

    @property
    def path(self) -> Path:
        """The directory of its run."""
        assert self.run is not None
        return self.run.path

    @cached_property
    def known(self) -> SeenWords | None:
        """The source words of training; None where the run does not say."""
        words = None if self.run is None else self.run.words()
        return None if words is None else words.seen(self.config.data.source_language)

    @cached_property
    def alignment(self) -> AlignmentHeads | None:
        """The heads that validation chose to link words by; None before training ends."""
        return None if self.run is None else self.run.alignment()

    @cached_property
    def step(self) -> int:
        """The step at which its weights were validated."""
        from transformer_mt.runs.checkpoints import newest_progress  # which imports torch

        assert self.run is not None
        return newest_progress(self.run).best_step if self.run.step is None else self.run.step

    @cached_property
    def prepare(self) -> Preparer:
        """Prepares text for this model."""
        return Preparer(self.tokenizer, self.known, self.config.data.source_language)


# The module of each engine, imported when somebody asks for it: only one of them needs torch, and the other comes later
# in the order of the packages. Each has `open_engine(run, device=…, quantization=…) -> (run, engine)`.
ENGINES = {OWN: "transformer_mt.translation.torch_engine", "ctranslate2": "transformer_mt.export.ctranslate2_engine"}
