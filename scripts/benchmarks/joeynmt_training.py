"""Contestant: JoeyNMT's own training loop, run by an interpreter with JoeyNMT.

Argument: a JoeyNMT configuration file. A turn lasts from one batch to the next: the step, and making the next batch.
"""

import sys
import time
from pathlib import Path
from typing import Any

from joeynmt.config import load_config
from joeynmt.helpers import make_model_dir
from joeynmt.training import TrainManager, train

from benchmarks.host import Host


class Turns:
    """Blocks each step of the loop until it is its turn."""

    def __init__(self) -> None:
        self.host = Host()
        self.pending = self.host.turns()
        self.step = TrainManager._train_step
        self.began, self.tokens = 0.0, 0

    def __call__(self, manager: TrainManager, batch: Any) -> Any:
        """Report the previous step, wait, and compute the gradient of this one."""
        if self.tokens:
            self.host.answer(seconds=time.perf_counter() - self.began, tokens=self.tokens)
        if next(self.pending, None) is None:
            sys.exit()
        self.tokens = int(batch.src_length.sum()) + int(batch.ntokens)
        self.began = time.perf_counter()
        return self.step(manager, batch)


def main() -> None:
    """Train as `python -m joeynmt train` does."""
    configuration = load_config(Path(sys.argv[1]))
    make_model_dir(Path(configuration["model_dir"]), overwrite=True)
    turns = Turns()
    TrainManager._train_step = lambda manager, batch: turns(manager, batch)
    train(rank=0, world_size=None, cfg=configuration, skip_test=True)


if __name__ == "__main__":
    main()
