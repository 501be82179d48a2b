"""Muon and SGD, as plugins."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support.plugins import FOLDER, loaded
from support.small_training import assert_resumed, opened
from torch import nn
from torch.optim import SGD, Adam, Muon, Optimizer

from transformer_mt.config.toml import load_config
from transformer_mt.training.optimizer import build_optimizer

NAMES = ("muon", "sgd")
SETTINGS = {"muon": ["optimizer.betas=[0.7, 0.9]", "optimizer.epsilon=1e-3"], "sgd": ["optimizer.momentum=0.7"]}
every_optimizer = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def plugins() -> Iterator[None]:
    with loaded(*(FOLDER / f"{name}.py" for name in NAMES)):
        yield


def small_model() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 7))


def by_torch(name: str, model: nn.Module) -> list[tuple[Optimizer, float]]:
    """torch's own optimizers, with factors of the learning rate."""
    table, matrix, bias = model.parameters()
    if name == "sgd":
        return [(SGD(model.parameters(), momentum=0.7), 1.0)]
    others: Any = Adam([table, bias], betas=(0.7, 0.9), eps=1e-3)
    return [(Muon([matrix], momentum=0.95, weight_decay=0.0), 5.0), (others, 1.0)]


@every_optimizer
def test_steps_match_torch_at_the_scheduled_rate(name: str) -> None:
    ours, plain = small_model(), small_model()
    config = load_config(None, [f"optimizer.name={name}", *SETTINGS[name]]).optimizer
    optimizer = build_optimizer(config, ours, lambda step: 0.1 / step)
    theirs = by_torch(name, plain)
    for step in range(1, 6):
        for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        for each, factor in theirs:
            each.param_groups[0]["lr"] = factor * 0.1 / step
            each.step()
        assert optimizer.step(step) == 0.1 / step
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other)


@every_optimizer
def test_resumes_bit_for_bit(name: str, tmp_path: Path) -> None:
    assert_resumed(lambda path: opened(path, f"optimizer.name={name}"), tmp_path)
