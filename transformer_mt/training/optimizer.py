"""Optimizers by name, whose learning rate follows a schedule.

To add one, write a function that makes it, enter it in `OPTIMIZERS`, and give it a section in `config/sections.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from transformer_mt.config.sections import AdamConfig, AdamWConfig, OptimizerConfig
from transformer_mt.registry import lookup
from transformer_mt.training.schedules import Schedule


def adam(model: nn.Module, config: AdamConfig) -> torch.optim.Optimizer:
    """Adam (Kingma and Ba 2015) over all parameters."""
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=config.betas, eps=config.epsilon, fused=True)


def adamw(model: nn.Module, config: AdamWConfig) -> torch.optim.Optimizer:
    """w ← w − η λ w beside Adam's step (Loshchilov and Hutter 2019), for matrices that are no embeddings."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    matrices = [each for each in model.parameters() if each.ndim > 1 and id(each) not in embeddings]
    others = [each for each in model.parameters() if each.ndim <= 1 or id(each) in embeddings]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.0, betas=config.betas, eps=config.epsilon, fused=True)


OPTIMIZERS: dict[str, Callable[[nn.Module, Any], torch.optim.Optimizer]] = {"adam": adam, "adamw": adamw}


class ScheduledOptimizer:
    """An optimizer of Adam's kind, whose learning rate follows a schedule; its state is there from the start.

    Where the loss is scaled and the gradient has overflowed, a step leaves the parameters as they are.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, schedule: Schedule, scaler: torch.amp.GradScaler) -> None:
        self.optimizer, self.schedule, self.scaler, self.steps = optimizer, schedule, scaler, 0
        for parameter in (parameter for group in optimizer.param_groups for parameter in group["params"]):
            moments = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
            step = torch.zeros((), dtype=torch.float32, device=parameter.device)
            optimizer.state[parameter] = {"step": step, **moments}

    def step(self) -> float:
        """Change the parameters by their gradients, clear these, and return the learning rate."""
        self.steps += 1
        learning_rate = self.schedule(self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
            for parameter in group["params"]:
                if parameter.grad is None:  # as that of an expert without tokens
                    parameter.grad = torch.zeros_like(parameter)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return learning_rate

    def state(self) -> dict[str, Tensor]:
        """All tensors that the next step depends on; the scale is 0 where the loss is not scaled."""
        scaler = self.scaler.state_dict()
        return {
            "steps": torch.tensor(self.steps),
            "loss_scale": torch.tensor(scaler.get("scale", 0.0)),
            "steps_at_scale": torch.tensor(scaler.get("_growth_tracker", 0)),  # without overflow, after which it grows
        } | self._moments()

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        self.steps = int(tensors["steps"])
        if self.scaler.is_enabled() and tensors["loss_scale"] > 0:
            steps = min(int(tensors["steps_at_scale"]), 2**31 - 1)
            scale = {"scale": float(tensors["loss_scale"]), "_growth_tracker": steps}
            self.scaler.load_state_dict(self.scaler.state_dict() | scale)
        for name, moment in self._moments().items():
            moment.copy_(tensors[name])

    def _moments(self) -> dict[str, Tensor]:
        states = self.optimizer.state_dict()["state"].items()
        return {f"{index}.{name}": value for index, state in states for name, value in state.items()}


def build_optimizer(
    config: OptimizerConfig, model: nn.Module, schedule: Schedule, scaler: torch.amp.GradScaler
) -> ScheduledOptimizer:
    """The optimizer that the configuration names, for the parameters of the model."""
    make = lookup(OPTIMIZERS, config.name, key="optimizer.name")
    return ScheduledOptimizer(make(model, config), schedule, scaler)
