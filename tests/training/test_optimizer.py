from typing import Any

import pytest
import torch
from torch import Tensor, nn

from transformer_mt.config.sections import CHOSEN, OptimizerConfig
from transformer_mt.config.toml import load_config
from transformer_mt.models.build_model import build_model
from transformer_mt.training.optimizer import OPTIMIZERS, ScheduledOptimizer, build_optimizer

UNSCALED = torch.amp.GradScaler("cpu", enabled=False)
every_optimizer = pytest.mark.parametrize("name", OPTIMIZERS)


def configured(name: str, **numbers: Any) -> OptimizerConfig:
    overrides = [f"optimizer.{key}={value}" for key, value in numbers.items()]
    return load_config(None, [f"optimizer.name={name}", *overrides]).optimizer


class Small(nn.Module):
    """One of each: a matrix, a bias, an embedding whose matrix is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 3)
        self.inner = nn.Linear(3, 3)
        self.output = nn.Linear(3, 5)
        self.output.weight = self.table.weight
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))


def schedule(step: int) -> float:
    return 0.1 / step


def set_gradients(of: nn.Module, *, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in of.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def walk(optimizer: ScheduledOptimizer, model: nn.Module, steps: range) -> list[float]:
    rates = []
    for step in steps:
        set_gradients(model, step=step)
        rates.append(optimizer.step())
    return rates


def test_every_name_has_its_section_and_its_optimizer() -> None:
    assert set(OPTIMIZERS) == set(CHOSEN["optimizer"][1])


@every_optimizer
def test_every_step_is_one_of_torch_at_the_rate_of_the_schedule(name: str) -> None:
    ours, plain = Small(), Small()
    optimizer = build_optimizer(configured(name, betas="[0.7, 0.9]", epsilon=1e-3), ours, schedule, UNSCALED)
    groups: list[dict[str, Any]] = [{"params": list(plain.parameters())}]
    if name == "adamw":
        matrix = [plain.inner.weight]
        others = [plain.table.weight, plain.inner.bias, plain.output.bias]
        groups = [{"params": matrix, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    torchs = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name](groups, betas=(0.7, 0.9), eps=1e-3)
    for step in range(1, 6):
        for group in torchs.param_groups:
            group["lr"] = schedule(step)
        set_gradients(plain, step=step)
        torchs.step()
        assert walk(optimizer, ours, range(step, step + 1)) == [schedule(step)]
    for our, their in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(our, their)


def test_weight_decay_spares_norms_biases_and_embeddings() -> None:
    model = build_model(load_config(None, ["model.attention.position=relative(3)"]).model, vocabulary_size=13)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    build_optimizer(configured("adamw", weight_decay=0.5), model, schedule, UNSCALED).step()
    changed = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    matrices = {name for name, parameter in before.items() if parameter.ndim == 2}
    assert changed == {name for name in matrices if "table" not in name and ".to_" not in name}
    assert len(changed) == 3 * (4 + 2) + 3 * (8 + 2)  # of three layers each: attention matrices and feed-forward
    name = min(changed)
    torch.testing.assert_close(dict(model.named_parameters())[name], (1 - 0.1 * 0.5) * before[name])


@every_optimizer
def test_a_step_clears_the_gradients(name: str) -> None:
    model = Small()
    walk(build_optimizer(configured(name), model, schedule, UNSCALED), model, range(1, 2))
    assert all(parameter.grad is None for parameter in model.parameters())


@every_optimizer
@pytest.mark.parametrize("stop", [0, 1, 4])
def test_a_loaded_state_continues_bit_for_bit(name: str, stop: int) -> None:
    whole, first, second = Small(), Small(), Small()
    all_rates = walk(build_optimizer(configured(name), whole, schedule, UNSCALED), whole, range(1, 8))
    before = build_optimizer(configured(name), first, schedule, UNSCALED)
    rates = walk(before, first, range(1, stop + 1))
    after = build_optimizer(configured(name), second, schedule, UNSCALED)
    second.load_state_dict(first.state_dict())
    state: dict[str, Tensor] = {key: tensor.clone() for key, tensor in before.state().items()}
    after.load(state)
    assert rates + walk(after, second, range(stop + 1, 8)) == all_rates
    assert all(torch.equal(there, here) for there, here in zip(second.parameters(), whole.parameters(), strict=True))
