"""A trained model, opened once, for translation and for views."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from typing_extensions import override

from transformer_mt.config.sections import Config
from transformer_mt.corpus.word_counts import SeenWords
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.plugins import resolve
from transformer_mt.ground.registry import lookup
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.runs.directory import Run
from transformer_mt.runs.doubt import Doubt
from transformer_mt.tokenizer.prepared import Preparer
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.engine import OWN, Engine, engines

if TYPE_CHECKING:
    from transformer_mt.models.seq2seq import Seq2Seq


@dataclass(eq=False, repr=False)
class Model:
    """A configuration with its tokenizer and engine, and the run they come from, if any."""

    config: Config
    tokenizer: Tokenizer
    engine: Engine
    run: Run | None = None

    @classmethod
    def open(cls, run: Run, *, device: str = "auto", engine: str = OWN, quantization: str | None = None) -> Self:
        """Open the model of a run, or of its checkpoint, from a consistent snapshot of its files.

        Raises `InputError` before the first validation, for an unknown device or engine, and for a model that the
        engine does not support; `MachineError` for damaged files.
        """
        opening = resolve(lookup(engines(), engine, key="engine").open)
        run = Run(run.path, run.step)
        opened = opening(run, device=device, quantization=quantization)
        run.complete_snapshot()
        config = run.config()
        return cls(config, run.tokenizer().toward(config.data.target_language), opened, run)

    def toward(self, language: str) -> Self:
        """The same model for another of its target languages. Raises `InputError` for a language it lacks."""
        data = self.config.data
        source = lookup(data.directions(), language, key="to")
        config = self.config.model_copy(
            update={"data": data.model_copy(update={"source_language": source, "target_language": language})}
        )
        return replace(self, config=config, tokenizer=self.tokenizer.toward(language))

    @override
    def __repr__(self) -> str:
        return f"Model({str(self.run and self.run.path)!r}, {self.direction}, {self.engine.name})"

    @property
    def network(self) -> "Seq2Seq":
        """The network, for views. Raises `InputError` if another program computes."""
        if self.engine.network is None:
            raise InputError("engine", f"{self.engine.name} does not expose the model", "leave it out")
        return self.engine.network

    @property
    def path(self) -> Path:
        """The directory of its run."""
        assert self.run
        return self.run.path

    @property
    def name(self) -> str:
        """The directory of its run, or of the checkpoint."""
        assert self.run
        return str(self.run.model_path.parent)

    @property
    def direction(self) -> str:
        """Its languages: `de → en`."""
        return f"{self.config.data.source_language} → {self.config.data.target_language}"

    @cached_property
    def known(self) -> SeenWords | None:
        """The source words of training; None if the run does not have them."""
        words = self.run.words() if self.run else None
        return None if words is None else words.seen(self.config.data.source_language)

    @cached_property
    def alignment(self) -> AlignmentHeads | None:
        """The heads chosen on validation data for word links; None before training ends."""
        return self.run.alignment() if self.run else None

    @cached_property
    def linking_heads(self) -> AlignmentHeads:
        """The same heads, else all. Raises `InputError` for a model without cross-attention, or of another program."""
        from transformer_mt.links.choose_heads import guess_heads  # imports torch

        guess = guess_heads(self.network)
        if guess is None:
            place = self.run.path if self.run else "model"
            raise InputError(place, "this model has no cross-attention to link words by", "choose another model")
        return self.alignment or guess

    @cached_property
    def doubt(self) -> Doubt:
        """When to doubt a translation, as chosen on validation data at the end of training."""
        return self.run.doubt() if self.run else Doubt()

    @cached_property
    def step(self) -> int:
        """The step of its best validation, or of its checkpoint."""
        from transformer_mt.runs.checkpoints import newest_progress  # imports torch

        assert self.run
        return newest_progress(self.run).best_step if self.run.step is None else self.run.step

    @cached_property
    def prepare(self) -> Preparer:
        """Prepares text for this model."""
        return Preparer(self.tokenizer, self.known, self.config.data.source_language)
