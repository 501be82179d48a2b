"""The trained model that a path names: what a run has come to, or what it was at one of its checkpoints."""

import os
import re
from functools import partial
from pathlib import Path

from typing_extensions import override

from transformer_mt.config.toml import parse_written_config
from transformer_mt.errors import InputError, MachineError
from transformer_mt.models.build import Unfilled, build_model
from transformer_mt.runs.checkpoints import CHECKPOINT_NAME, saved_layout, saved_progress, saved_steps, saved_weights
from transformer_mt.runs.directory import CHECKPOINTS, CONFIG, TOKENIZER, Run, TrainedModel, model_layout
from transformer_mt.runs.weights import load_weights
from transformer_mt.tokenizer.tokenizer import Tokenizer


class RunAtStep(Run):
    """A run as it was at the checkpoint of a step: `load` gives the weights that were validated there.

    These are the running average where the run keeps one, else those that were being trained.
    """

    def __init__(self, path: Path, step: int) -> None:
        super().__init__(path)
        self.step = step

    @override
    def load(self) -> TrainedModel:
        """Raises `MachineError` for a damaged file, and for a checkpoint of another run."""
        checkpoints = self.path / CHECKPOINTS
        found = saved_progress(checkpoints, self.step).sums
        if other := [name for name, own in self.sums.items() if found.get(name) != own]:
            place = checkpoints / f"step-{self.step}"
            raise MachineError(f"{place}: was saved with another {other[0]}; restore that file, or train anew")
        config = parse_written_config(self._read(CONFIG), place=str(self.path / CONFIG))
        tokenizer = Tokenizer.parse(self._read(TOKENIZER), place=str(self.path / TOKENIZER))
        build = partial(build_model, config.model, vocabulary_size=tokenizer.size)
        layout = model_layout(config.model, build, most=len(saved_layout(checkpoints, self.step)))
        weights = saved_weights(checkpoints, self.step, layout)
        with Unfilled():
            model = build()
        load_weights(model, weights)
        return TrainedModel(config, tokenizer, model.eval())


def find_run(path: Path) -> Run:
    """The run in a directory, or at the checkpoint `…/checkpoints/step-N` of one.

    Raises `InputError` for a directory that is neither, and for a step without a checkpoint.
    """
    place = path.absolute()
    named = re.fullmatch(CHECKPOINT_NAME, place.name)
    if not (named and place.parent.name == CHECKPOINTS):
        return Run.open(path)
    run = Run.open(Path(os.path.normpath(path / "../..")))
    steps = saved_steps(run.path / CHECKPOINTS)
    if int(named[1]) not in steps:
        there = ", ".join(f"step-{step}" for step in steps) or "none"
        raise InputError(f"{path}: no such checkpoint; there are: {there}")
    return RunAtStep(run.path, int(named[1]))
