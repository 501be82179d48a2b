"""Optimizers by name: Adam, whose rate follows a schedule."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from transformer_mt.config import OptimizerConfig
from transformer_mt.names import lookup

# From the step, counted from 1, with the width of the model, factor and warm-up, to the rate.
Schedule = Callable[..., float]


def noam_rate(step: int, *, width: int, factor: float, warmup: int) -> float:
    """factor · D^{−1/2} · min(step^{−1/2}, step · warmup^{−3/2}), steps counted from 1.

    Vaswani et al. 2017, §5.3: a linear rise over `warmup` steps, then a fall with the square root of the step.
    """
    return float(factor * width**-0.5 * min(step**-0.5, step * warmup**-1.5))


def constant_rate(step: int, *, width: int, factor: float, warmup: int) -> float:
    """factor · D^{−1/2} · warmup^{−1/2} · min(1, step / warmup): it rises like Noam's and stays at the top."""
    return float(factor * width**-0.5 * warmup**-0.5 * min(1.0, step / warmup))


class ScheduledAdam:
    """Adam (Kingma and Ba 2015) at a rate of its own for every step: one call makes one step."""

    def __init__(
        self, parameters: Iterable[nn.Parameter], config: OptimizerConfig, *, schedule: Schedule, width: int
    ) -> None:
        self.schedule = schedule
        self.adam = torch.optim.Adam(parameters, lr=0.0, betas=config.betas, eps=config.epsilon, fused=True)
        self.config = config
        self.width = width
        self.steps = 0

    def step(self) -> float:
        """Change the parameters by their gradients, clear these, and return the rate."""
        self.steps += 1
        rate = self.schedule(self.steps, width=self.width, factor=self.config.factor, warmup=self.config.warmup)
        for group in self.adam.param_groups:
            group["lr"] = rate
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)
        return rate

    def state(self) -> dict[str, Tensor]:
        """Everything the next step depends on, as named tensors."""
        tensors = {"steps": torch.tensor(self.steps)}
        for index, entries in self.adam.state_dict()["state"].items():
            tensors |= {f"{index}.{name}": value for name, value in entries.items()}
        return tensors

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from a state that `state` gave."""
        self.steps = int(tensors["steps"])
        entries: dict[int, dict[str, Any]] = {}
        for key, value in tensors.items():
            index, dot, name = key.partition(".")
            if dot:
                entries.setdefault(int(index), {})[name] = value
        self.adam.load_state_dict({"state": entries, "param_groups": self.adam.state_dict()["param_groups"]})


OPTIMIZERS: dict[str, Schedule] = {"noam": noam_rate, "adam": constant_rate}


def build_optimizer(config: OptimizerConfig, parameters: Iterable[nn.Parameter], *, width: int) -> ScheduledAdam:
    """The optimizer that the configuration names, for a model of that width."""
    schedule = lookup(OPTIMIZERS, config.name, key="optimizer.name")
    return ScheduledAdam(parameters, config, schedule=schedule, width=width)
