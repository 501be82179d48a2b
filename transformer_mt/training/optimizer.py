"""Optimizers by name, with a scheduled learning rate.

To add one, write a function that returns it, or a list for different parameters, register it in `OPTIMIZERS`, and give
it a section in `config/sections.py`. Create it with a learning rate of 1, or with a factor for the scheduled rate.
"""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from pydantic_core import from_json, to_json
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Muon, Optimizer

from transformer_mt.config.sections import AdamConfig, AdamWConfig, MuonConfig, OptimizerConfig, SGDConfig
from transformer_mt.device import random_states, restore_random_states
from transformer_mt.errors import InputError
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import lookup
from transformer_mt.runs.checkpoints import STATE, put_tensors, take_tensors
from transformer_mt.runs.weights import Tensors, pack, unpack
from transformer_mt.training.schedules import Schedule

# Steps of the resumption trial before stopping, and after.
STEPS_TRIED = 8
_KEY = "optimizer.name"


def adam(model: nn.Module, config: AdamConfig) -> Optimizer:
    """Adam (Kingma and Ba 2015) over all parameters."""
    return Adam(model.parameters(), lr=1.0, betas=config.betas, eps=config.epsilon, fused=True)


def adamw(model: nn.Module, config: AdamWConfig) -> Optimizer:
    """Adam with w ← w − η λ w (Loshchilov and Hutter 2019), the decay only for hidden layers' matrices."""
    matrices, others = split_parameters(model)
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return AdamW(groups, lr=1.0, betas=config.betas, eps=config.epsilon, fused=True)


def muon(model: nn.Module, config: MuonConfig) -> list[Optimizer]:
    """Matrices: m ← μ m + g, w ← w − η U V^T √max(1, rows / columns), U Σ V^T = g + μ m; others: Adam.

    Jordan et al. 2024; torch computes U V^T approximately by five Newton–Schulz iterations.
    """
    matrices, others = split_parameters(model)
    own = Muon(matrices, lr=config.matrix_rate, momentum=config.momentum, weight_decay=config.weight_decay)
    return [own, Adam(others, lr=1.0, betas=config.betas, eps=config.epsilon, fused=True)]


def split_parameters(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The weight matrices, and all other parameters: norms, biases, embeddings and the output matrix."""
    by_token = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    if isinstance(model, Seq2Seq):
        by_token.add(id(model.output.weight))
    matrices = [each for each in model.parameters() if each.ndim > 1 and id(each) not in by_token]
    return matrices, [each for each in model.parameters() if each.ndim <= 1 or id(each) in by_token]


def sgd(model: nn.Module, config: SGDConfig) -> Optimizer:
    """m ← μ m + g, w ← w − η m (Sutskever et al. 2013, §2, in torch's form)."""
    return SGD(model.parameters(), lr=1.0, momentum=config.momentum)


OPTIMIZERS: dict[str, Callable[[nn.Module, Any], Optimizer | list[Optimizer]]] = {
    "adam": adam,
    "adamw": adamw,
    "muon": muon,
    "sgd": sgd,
}


class ScheduledOptimizer:
    """Optimizers, each with its own parameters, whose learning rates follow a schedule."""

    def __init__(self, optimizers: Sequence[Optimizer], schedule: Schedule) -> None:
        self.optimizers = optimizers
        self.schedule = schedule
        self.parameters: list[Tensor] = [each for group in self.groups for each in group["params"]]
        self.factors = [group["lr"] for group in self.groups]
        self._untouched = copy.deepcopy(self.state())

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The parameter groups of all optimizers; loading a state replaces them."""
        return [group for optimizer in self.optimizers for group in optimizer.param_groups]

    def step(self, number: int) -> float:
        """Take step `number`, counted from 1, and clear the gradients; return the scheduled learning rate."""
        learning_rate = self.schedule(number)
        for group, factor in zip(self.groups, self.factors, strict=True):
            group["lr"] = learning_rate * factor
        for parameter in self.parameters:
            if parameter.grad is None:  # the model did not use it
                parameter.grad = torch.zeros_like(parameter)
        for optimizer in self.optimizers:
            optimizer.step()
        for parameter in self.parameters:
            parameter.grad = None
        return learning_rate

    def state(self) -> dict[str, Any]:
        """The state that the next step depends on."""
        return {"optimizers": [optimizer.state_dict() for optimizer in self.optimizers]}

    def load(self, saved: Any) -> None:
        """Restore a state, possibly from an untrusted source. Changes the parameters: load them afterwards.

        Raises `ValueError` for tensors, parameters or options that do not match; optimizers may raise other errors.
        """
        self._set(copy.deepcopy(self._untouched))  # a previous call may have loaded another state
        self.step(1)  # creates all state
        ours = Tensors()
        theirs = Tensors()
        take_tensors(self.state(), ours, "state")
        take_tensors(saved, theirs, "state")
        for name in ours.keys() & theirs.keys():  # a fused kernel would read beyond a smaller tensor
            if (ours[name].dtype, ours[name].shape) != (theirs[name].dtype, theirs[name].shape):
                raise ValueError(f"{name} has a different type or shape")
        self._set(copy.deepcopy(saved))
        self.step(1)  # check that the loaded state allows a step
        self._set(saved)

    def _set(self, saved: Any) -> None:
        for optimizer, state in zip(self.optimizers, saved["optimizers"], strict=True):
            if _fixed(state) != _fixed(optimizer.state_dict()):
                raise ValueError("its parameters have a different order or different options")
            optimizer.load_state_dict(state)
            parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            for index, own in state["state"].items():
                optimizer.state[parameters[index]] = _with_strings(optimizer.state[parameters[index]], own)


def _fixed(state: Any) -> list[dict[str, Any]]:
    """The entries of each group that a state must not change.

    In a different order, a parameter would get another one's state; with a different option such as `amsgrad`, a kernel
    would read tensors of unchecked shape.
    """
    groups = []
    for group in state["param_groups"]:
        groups.append({key: value for key, value in group.items() if key == "params" or type(value) in (bool, str)})
    return groups


def _with_strings(loaded: Any, saved: Any) -> Any:
    """A loaded state with its strings as saved; torch converts them when loading."""
    if isinstance(saved, dict):
        return {key: _with_strings(loaded[key], value) for key, value in saved.items()}
    if isinstance(saved, list):
        return [_with_strings(*pair) for pair in zip(loaded, saved, strict=True)]
    return saved if isinstance(saved, str) else loaded


def reason(error: Exception) -> str:
    """The type and first line of an error, at most 200 characters."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def build_optimizer(config: OptimizerConfig, model: nn.Module, schedule: Schedule) -> ScheduledOptimizer:
    """Build the configured optimizer for the parameters of the model.

    Raises `InputError` unless it gets every trainable parameter exactly once and can be resumed exactly.
    """
    optimizer = ScheduledOptimizer(_made(config, model), schedule)
    if sorted(map(id, optimizer.parameters)) != sorted(id(each) for each in model.parameters() if each.requires_grad):
        problem = f"{config.name} does not get each parameter exactly once"
        raise InputError(_KEY, problem, "pass it all of them, or freeze the others")
    try:
        why = _try_to_resume(config, model)
    except Exception as error:  # optimizers may raise anything
        why = reason(error)
    if why:
        problem = f"{config.name} cannot be resumed exactly ({why})"
        raise InputError(_KEY, problem, "choose or write another")
    return optimizer


def _made(config: OptimizerConfig, model: nn.Module) -> list[Optimizer]:
    made = lookup(OPTIMIZERS, config.name, key=_KEY)(model, config)
    optimizers = made if isinstance(made, list) else [made]
    for each in optimizers:
        if not (isinstance(each, Optimizer) and all("lr" in group for group in each.param_groups)):
            problem = f"{config.name} returns {type(each).__name__}, not a torch optimizer with a learning rate"
            raise InputError(_KEY, problem, "return one, or a list of them")
    return optimizers


def _try_to_resume(config: OptimizerConfig, model: nn.Module) -> str | None:
    """Save and load an optimizer halfway; return why its further steps differ, or None if they do not.

    Uses two small parameters per group, and the file formats of a checkpoint.
    """
    device = next(model.parameters()).device
    before = random_states(device)
    try:
        whole, resumed = (ScheduledOptimizer(_small(config, model), lambda step: 1e-3) for _ in range(2))
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
    return None if _saved(whole) == _saved(resumed) else "its steps differ after resuming"


def _saved(optimizer: ScheduledOptimizer) -> tuple[bytes, bytes]:
    """Parameters and state in the file formats of a checkpoint."""
    tensors = Tensors()
    values = take_tensors({"parameters": optimizer.parameters, "state": optimizer.state()}, tensors, "optimizer")
    return to_json(values), pack(tensors)


def _small(config: OptimizerConfig, model: nn.Module) -> list[Optimizer]:
    """The optimizers for a copy of the model with small parameters; each group keeps two."""
    copied: dict[int, Any] = {}
    for each in model.parameters():
        shape = [min(size, 3 + axis) for axis, size in enumerate(each.shape)]
        copied[id(each)] = nn.Parameter(each.new_ones(shape), each.requires_grad)
    optimizers = _made(config, copy.deepcopy(model, copied))
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for each in group["params"][2:]:
                optimizer.state.pop(each, None)  # some create it before the first step
            del group["params"][2:]
    return optimizers


def _walk(optimizer: ScheduledOptimizer, *, first: int) -> None:
    """Take a few steps with gradients that depend on the step number."""
    for step in range(first, first + STEPS_TRIED):
        for parameter in optimizer.parameters:
            numbers = torch.arange(parameter.numel(), device=parameter.device, dtype=parameter.dtype)
            parameter.grad = torch.sin(numbers + step).view_as(parameter)
        optimizer.step(step)
