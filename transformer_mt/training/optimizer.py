"""Optimizers by name, whose learning rate follows a schedule.

To add one, write a function that makes it, or several for different parameters, enter it in `OPTIMIZERS`, and give it a
section in `config/sections.py`. The learning rate that it is made with is a factor of the schedule's.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic_core import from_json, to_json
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from transformer_mt.config.sections import AdamConfig, AdamWConfig, OptimizerConfig, SGDConfig
from transformer_mt.device import random_states, restore_random_states
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup
from transformer_mt.runs.checkpoints import STATE, put_tensors, take_tensors
from transformer_mt.runs.weights import Tensors, pack, unpack
from transformer_mt.training.schedules import Schedule

# Steps of the trial before it is stopped, and after.
STEPS_TRIED = 8
_KEY = "optimizer.name"
_UNSCALED = torch.amp.GradScaler(enabled=False)


def adam(model: nn.Module, config: AdamConfig) -> Optimizer:
    """Adam (Kingma and Ba 2015) over all parameters."""
    return Adam(model.parameters(), lr=1.0, betas=config.betas, eps=config.epsilon, fused=True)


def adamw(model: nn.Module, config: AdamWConfig) -> Optimizer:
    """w ← w − η λ w beside Adam's step (Loshchilov and Hutter 2019), for matrices that are no embeddings."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    matrices = [each for each in model.parameters() if each.ndim > 1 and id(each) not in embeddings]
    others = [each for each in model.parameters() if each.ndim <= 1 or id(each) in embeddings]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return AdamW(groups, lr=1.0, betas=config.betas, eps=config.epsilon, fused=True)


def sgd(model: nn.Module, config: SGDConfig) -> Optimizer:
    """m ← μ m + g, w ← w − η m (Sutskever et al. 2013, §2, as torch writes it)."""
    return SGD(model.parameters(), lr=1.0, momentum=config.momentum)


OPTIMIZERS: dict[str, Callable[[nn.Module, Any], Optimizer | list[Optimizer]]] = {
    "adam": adam,
    "adamw": adamw,
    "sgd": sgd,
}


@dataclass(eq=False)
class _Together:
    """Several optimizers as the one that a `GradScaler` knows: a gradient that overflows stops all of them."""

    optimizers: Sequence[Optimizer]

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for optimizer in self.optimizers for group in optimizer.param_groups]

    def step(self) -> None:
        for optimizer in self.optimizers:
            optimizer.step()


class ScheduledOptimizer:
    """Optimizers, each for its own parameters, whose learning rates follow a schedule.

    Where the loss is scaled and the gradient has overflowed, a step leaves the parameters as they are.
    """

    def __init__(self, optimizers: Sequence[Optimizer], schedule: Schedule, scaler: torch.amp.GradScaler) -> None:
        self.together: Any = _Together(optimizers)
        self.schedule, self.scaler = schedule, scaler
        self.parameters: list[Tensor] = [each for group in self.together.param_groups for each in group["params"]]
        self.factors = [group["lr"] for group in self.together.param_groups]
        self._untouched = copy.deepcopy(self.state())

    def step(self, number: int) -> float:
        """Take the step of this number, from 1, and clear the gradients; returns the schedule's learning rate."""
        learning_rate = self.schedule(number)
        self._take(learning_rate, self.scaler)
        self.scaler.update()
        return learning_rate

    def _take(self, learning_rate: float, scaler: torch.amp.GradScaler) -> None:
        for group, factor in zip(self.together.param_groups, self.factors, strict=True):
            group["lr"] = learning_rate * factor
        for parameter in self.parameters:
            if parameter.grad is None:  # as where a model does not use it
                parameter.grad = torch.zeros_like(parameter)
        scaler.step(self.together)
        for parameter in self.parameters:
            parameter.grad = None

    def unscale(self) -> None:
        """Divide the gradients by the scale of the loss."""
        self.scaler.unscale_(self.together)

    def state(self) -> dict[str, Any]:
        """All that the next step depends on; of the scaler nothing where the loss is not scaled."""
        states = [optimizer.state_dict() for optimizer in self.together.optimizers]
        return {"scaler": self.scaler.state_dict(), "optimizers": states}

    def load(self, saved: Any) -> None:
        """Continue from a state, which may be a stranger's; the parameters are changed, and to be loaded after it.

        Raises whatever an optimizer that cannot continue from it raises.
        """
        self._set(copy.deepcopy(self._untouched))  # another state may have been tried before
        self._take(self.schedule(1), _UNSCALED)  # after which all state is there
        ours, theirs = Tensors(), Tensors()
        take_tensors(self.state(), ours, "state")
        take_tensors(saved, theirs, "state")
        for name in ours.keys() & theirs.keys():  # a fused kernel would read beyond a smaller one
            if (ours[name].dtype, ours[name].shape) != (theirs[name].dtype, theirs[name].shape):
                raise ValueError(f"{name} is of another type or shape")
        self._set(copy.deepcopy(saved))
        self._take(self.schedule(1), _UNSCALED)  # whatever numbers there are, a step can be taken
        self._set(saved)

    def _set(self, saved: Any) -> None:
        if self.scaler.is_enabled() and saved["scaler"]:
            self.scaler.load_state_dict(saved["scaler"])
        for optimizer, state in zip(self.together.optimizers, saved["optimizers"], strict=True):
            if _fixed(state) != _fixed(optimizer.state_dict()):
                raise ValueError("its parameters have another order, or other options")
            optimizer.load_state_dict(state)
            parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            for index, own in state["state"].items():
                optimizer.state[parameters[index]] = _with_strings(optimizer.state[parameters[index]], own)


def _fixed(state: Any) -> list[dict[str, Any]]:
    """Of each group, what a state may not change: in another order a parameter would get the state of another one, and
    with an option such as `amsgrad` a kernel would read tensors whose shapes nobody has compared."""
    groups = []
    for group in state["param_groups"]:
        groups.append({key: value for key, value in group.items() if key == "params" or type(value) in (bool, str)})
    return groups


def _with_strings(loaded: Any, saved: Any) -> Any:
    """A loaded state with its strings as they were saved; torch makes others of them."""
    if isinstance(saved, dict):
        return {key: _with_strings(loaded[key], value) for key, value in saved.items()}
    if isinstance(saved, list):
        return [_with_strings(*pair) for pair in zip(loaded, saved, strict=True)]
    return saved if isinstance(saved, str) else loaded


def reason(error: Exception) -> str:
    """An error in a few words."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def build_optimizer(
    config: OptimizerConfig, model: nn.Module, schedule: Schedule, scaler: torch.amp.GradScaler
) -> ScheduledOptimizer:
    """The optimizer that the configuration names, for the parameters of the model.

    Raises `InputError` unless it takes every parameter once, and can be stopped and continued exactly.
    """
    optimizer = ScheduledOptimizer(_made(config, model), schedule, scaler)
    if sorted(map(id, optimizer.parameters)) != sorted(id(each) for each in model.parameters() if each.requires_grad):
        problem = f"{config.name} does not take each parameter once"
        raise InputError(_KEY, problem, "have it take all, or freeze the others")
    try:
        why = _try_to_resume(config, model)
    except Exception as error:  # optimizers raise many
        why = reason(error)
    if why:
        problem = f"{config.name} cannot be stopped and continued exactly ({why})"
        raise InputError(_KEY, problem, "choose or write another")
    return optimizer


def _made(config: OptimizerConfig, model: nn.Module) -> list[Optimizer]:
    made = lookup(OPTIMIZERS, config.name, key=_KEY)(model, config)
    optimizers = made if isinstance(made, list) else [made]
    for each in optimizers:
        if not (isinstance(each, Optimizer) and all("lr" in group for group in each.param_groups)):
            problem = f"{config.name} makes {type(each).__name__}, no optimizer of torch with a learning rate"
            raise InputError(_KEY, problem, "have it return one, or a list of them")
    return optimizers


def _try_to_resume(config: OptimizerConfig, model: nn.Module) -> str | None:
    """Why an optimizer that is saved and loaded does not go on as before; None where it does.

    Each has two small parameters of a group, and its state goes through the formats of a checkpoint.
    """
    device = next(model.parameters()).device
    before = random_states(device)
    try:
        whole, resumed = (ScheduledOptimizer(_small(config, model), lambda step: 1e-3, _UNSCALED) for _ in range(2))
        _walk(whole, first=1)
        values, tensors = _saved(whole)
        tree = put_tensors(from_json(values), unpack(tensors, path=Path(STATE)), "optimizer")
        resumed.load(tree["state"])
        for there, here in zip(tree["parameters"], resumed.parameters, strict=True):
            here.data.copy_(there)
        middle = random_states(device)
        for optimizer in (whole, resumed):
            restore_random_states(middle, device)
            _walk(optimizer, first=STEPS_TRIED + 1)
    finally:
        restore_random_states(before, device)
    return None if _saved(whole) == _saved(resumed) else "the steps after it are others"


def _saved(optimizer: ScheduledOptimizer) -> tuple[bytes, bytes]:
    """Parameters and state in the formats of a checkpoint."""
    tensors = Tensors()
    values = take_tensors({"parameters": optimizer.parameters, "state": optimizer.state()}, tensors, "optimizer")
    return to_json(values), pack(tensors)


def _small(config: OptimizerConfig, model: nn.Module) -> list[Optimizer]:
    """The optimizers for a copy of the model with small parameters, of which each group keeps two."""
    copied: dict[int, Any] = {}
    for each in model.parameters():
        shape = [min(size, 3 + axis) for axis, size in enumerate(each.shape)]
        copied[id(each)] = nn.Parameter(each.new_ones(shape), each.requires_grad)
    optimizers = _made(config, copy.deepcopy(model, copied))
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for each in group["params"][2:]:
                optimizer.state.pop(each, None)  # where it is there before the first step
            del group["params"][2:]
    return optimizers


def _walk(optimizer: ScheduledOptimizer, *, first: int) -> None:
    """A few steps, whose gradients depend on the number of the step."""
    for step in range(first, first + STEPS_TRIED):
        for parameter in optimizer.parameters:
            numbers = torch.arange(parameter.numel(), device=parameter.device, dtype=parameter.dtype)
            parameter.grad = torch.sin(numbers + step).view_as(parameter)
        optimizer.step(step)
