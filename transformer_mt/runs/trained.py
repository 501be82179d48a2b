"""The run that a path names: as it is now, or as it was at one of its checkpoints."""

import os
import re
from pathlib import Path

from transformer_mt.errors import InputError
from transformer_mt.runs.checkpoints import CHECKPOINT_NAME, saved_steps
from transformer_mt.runs.directory import CHECKPOINTS, Run


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
    return Run(run.path, int(named[1]))
