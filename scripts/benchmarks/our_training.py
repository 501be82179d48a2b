"""Contestant: steps of our own training.

Arguments: the sizes, the precision.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.host import serve
from benchmarks.reference import Sizes, reference_batches, reference_trainer
from transformer_mt.training.trainer import Trainer


def main() -> None:
    """Serve steps."""
    sizes, precision = Sizes(**json.loads(sys.argv[1])), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        serve(our_steps(reference_trainer(sizes, Path(folder), precision=precision), sizes))


def our_steps(trainer: Trainer, sizes: Sizes) -> Callable[[], dict[str, Any]]:
    """A function that takes a training step and measures it."""
    batches = reference_batches(sizes)

    def step() -> dict[str, Any]:
        batch = next(batches)
        start = time.perf_counter()
        report = trainer.step()
        if trainer.device.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        assert report.target_tokens == batch.target_tokens
        return {"seconds": seconds, "tokens": batch.source_tokens + batch.target_tokens, "loss": float(report.loss)}

    return step


if __name__ == "__main__":
    main()
