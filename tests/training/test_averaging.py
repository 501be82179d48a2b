from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from support.small_training import opened
from torch import Tensor

from transformer_mt.runs.directory import Run, saved_steps
from transformer_mt.runs.weights import weights_of
from transformer_mt.training.reports import Validation


def copied(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in weights.items()}


class Walk:
    """A training run with given validation scores: the weights after every step, and the weights to use."""

    def __init__(self, path: Path, scores: Sequence[float], *overrides: str) -> None:
        trainer = opened(
            path,
            "training.keep_checkpoints=needed",
            "training.validate_every=1",
            *overrides,
        ).trainer
        given = iter(scores)
        trainer.validate = lambda model: Validation(-next(given), 0.0, 0.0, ())
        self.weights: list[dict[str, Tensor]] = [copied(weights_of(trainer.model))]
        self.candidates: list[dict[str, Tensor]] = [copied(weights_of(trainer.averaging.candidate()))]
        for report in trainer.train():
            if report.step == len(self.weights):
                self.weights.append(copied(weights_of(trainer.model)))
                self.candidates.append(copied(weights_of(trainer.averaging.candidate())))
        self.used = copied(weights_of(Run(path).network()))
        self.kept = saved_steps(path / "checkpoints")


SCORES = (-3.0, -1.0, -2.0, -5.0, -4.0)
STEPS = f"training.steps={len(SCORES)}"


def test_running_average_matches_a_plain_loop(tmp_path: Path) -> None:
    """Running statistics of batch norm are averaged like weights."""
    walk = Walk(tmp_path, SCORES, STEPS, "training.averaging=ema", "training.ema_decay=0.25", "model.norm=batch")
    average = walk.weights[1]
    for count, weights in enumerate(walk.weights[2:], start=1):
        decay = min(0.25, (1 + count) / (10 + count))
        average = {name: decay * average[name] + (1 - decay) * weights[name] for name in average}
        torch.testing.assert_close(walk.candidates[count + 1], average)
    torch.testing.assert_close(walk.used, walk.candidates[2], rtol=0, atol=0)  # the best


def test_without_averaging_the_best_weights_are_used(tmp_path: Path) -> None:
    walk = Walk(tmp_path, SCORES, STEPS, "training.averaging=none")
    torch.testing.assert_close(walk.used, walk.weights[2], rtol=0, atol=0)
    assert walk.kept == [2, 4, 5]  # the best, and the two newest
