"""Optimizers by name, with a scheduled learning rate.

To add one, write a function that returns it, register it in `OPTIMIZERS`, and give it a section in
`config/sections.py`. Create it with a learning rate of 1, or with a factor for the scheduled rate.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from pydantic_core import to_json
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

from transformer_mt.config.sections import AdamConfig, AdamWConfig, OptimizerSection
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.registry import Table
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.checkpoints import STATE, put_tensors, take_tensors
from transformer_mt.runs.weights import Tensors, pack, unpack
from transformer_mt.training.schedules import Schedule

# Steps of the resumption trial before stopping, and after.
STEPS_TRIED = 3


def adam(model: nn.Module, config: AdamConfig) -> Optimizer:
    """Adam (Kingma and Ba 2015) over all parameters."""
    return Adam(model.parameters(), lr=1.0, betas=config.betas, eps=config.epsilon, fused=True)


def adamw(model: nn.Module, config: AdamWConfig) -> Optimizer:
    """Adam with w ← w − η λ w (Loshchilov and Hutter 2019), the decay only for hidden layers' matrices."""
    matrices, others = split_parameters(model)
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return AdamW(groups, lr=1.0, betas=config.betas, eps=config.epsilon, fused=True)


def split_parameters(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The weight matrices, and all other parameters: norms, biases, embeddings and the output matrix."""
    by_token = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    if isinstance(model, Seq2Seq):
        by_token.add(id(model.output.weight))
    matrices = [each for each in model.parameters() if each.ndim > 1 and id(each) not in by_token]
    return matrices, [each for each in model.parameters() if each.ndim <= 1 or id(each) in by_token]


OPTIMIZERS: Table[Callable[[nn.Module, Any], Optimizer]] = Table("optimizer.name", {"adam": adam, "adamw": adamw})


class ScheduledOptimizer:
    """An optimizer whose learning rates follow a schedule."""

    def __init__(self, optimizer: Optimizer, schedule: Schedule) -> None:
        self.optimizer = optimizer
        self.schedule = schedule
        self.parameters: list[Tensor] = [each for group in optimizer.param_groups for each in group["params"]]
        self.factors = [group["lr"] for group in optimizer.param_groups]
        self._untouched = _form(self.state())

    def step(self, number: int) -> float:
        """Take step `number`, counted from 1, and clear the gradients; return the scheduled learning rate."""
        learning_rate = self.schedule(number)
        for group, factor in zip(self.optimizer.param_groups, self.factors, strict=True):
            group["lr"] = learning_rate * factor
        for parameter in self.parameters:
            if parameter.grad is None:  # the model did not use it
                parameter.grad = torch.zeros_like(parameter)
        self.optimizer.step()
        for parameter in self.parameters:
            parameter.grad = None
        return learning_rate

    def state(self) -> dict[str, Any]:
        """The state that the next step depends on."""
        return self.optimizer.state_dict()

    def load(self, saved: Any) -> None:
        """Restore a state, possibly from an untrusted source. Changes the parameters: load them afterwards.

        Raises `ValueError` unless it has the form of our own state, before or after a step. Otherwise a parameter could
        get another one's state, and a fused kernel could read beyond a smaller tensor.
        """
        if _form(saved) != self._untouched:
            self.step(1)  # creates all state
            if _form(saved) != _form(self.state()):
                raise ValueError("its parameters, options, types or shapes are different")
        self.optimizer.load_state_dict(saved)


def _form(state: Any, key: object = None) -> Any:
    """Keys, types and shapes of a state. Values only of the order of parameters and of options such as `amsgrad`."""
    if isinstance(state, dict):
        return {name: _form(value, name) for name, value in state.items()}
    if isinstance(state, list | tuple) and key != "params":
        return [_form(value) for value in state]
    if isinstance(state, Tensor):
        return state.dtype, state.shape
    return type(state) if isinstance(state, float) or type(state) is int else state


def reason(error: Exception) -> str:
    """The type and first line of an error, at most 200 characters."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def build_optimizer(config: OptimizerSection, model: nn.Module, schedule: Schedule) -> ScheduledOptimizer:
    """Build the configured optimizer for the parameters of the model.

    Raises `InputError` unless it gets every trainable parameter exactly once and can be resumed exactly.
    """
    optimizer = ScheduledOptimizer(_made(config, model), schedule)
    if sorted(map(id, optimizer.parameters)) != sorted(id(each) for each in model.parameters() if each.requires_grad):
        problem = f"{config.name} does not get each parameter exactly once"
        raise InputError(OPTIMIZERS.key, problem, "pass it all of them, or freeze the others")
    try:
        why = _try_to_resume(config, model)
    except Exception as error:  # optimizers may raise anything
        why = reason(error)
    if why:
        problem = f"{config.name} cannot be resumed exactly ({why})"
        raise InputError(OPTIMIZERS.key, problem, "choose or write another")
    return optimizer


def _made(config: OptimizerSection, model: nn.Module) -> Optimizer:
    made = OPTIMIZERS.find(config.name)(model, config)
    if not (isinstance(made, Optimizer) and all("lr" in group for group in made.param_groups)):
        problem = f"{config.name} returns {type(made).__name__}, not a torch optimizer with a learning rate"
        raise InputError(OPTIMIZERS.key, problem, "return one")
    return made


def _try_to_resume(config: OptimizerSection, model: nn.Module) -> str | None:
    """Save and load an optimizer halfway; return why its further steps differ, or None if they do not.

    Uses a copy of the model with small parameters, and the file formats of a checkpoint.
    """
    with torch.random.fork_rng():
        whole, resumed = (ScheduledOptimizer(_made(config, _small(model)), lambda step: 1e-3) for _ in range(2))
        _walk(whole, first=1)
        values, tensors = _saved(whole)
        tree = put_tensors(values, unpack(tensors, path=Path(STATE)))
        resumed.load(tree["state"])
        for there, here in zip(tree["parameters"], resumed.parameters, strict=True):
            here.data.copy_(there)
        for optimizer in (whole, resumed):
            torch.manual_seed(0)
            _walk(optimizer, first=STEPS_TRIED + 1)
    return None if _saved(whole) == _saved(resumed) else "its steps differ after resuming"


def _saved(optimizer: ScheduledOptimizer) -> tuple[bytes, bytes]:
    """Parameters and state in the file formats of a checkpoint."""
    tensors = Tensors()
    values = take_tensors({"parameters": optimizer.parameters, "state": optimizer.state()}, tensors, "optimizer")
    return to_json(values), pack(tensors)


def _small(model: nn.Module) -> nn.Module:
    """A copy of a model with small parameters."""
    copied: dict[int, Any] = {}
    for each in model.parameters():
        shape = [min(size, 3 + axis) for axis, size in enumerate(each.shape)]
        copied[id(each)] = nn.Parameter(each.new_ones(shape), each.requires_grad)
    return copy.deepcopy(model, copied)


def _walk(optimizer: ScheduledOptimizer, *, first: int) -> None:
    """Take a few steps with gradients that depend on the step number."""
    for step in range(first, first + STEPS_TRIED):
        for parameter in optimizer.parameters:
            numbers = torch.arange(parameter.numel(), device=parameter.device, dtype=parameter.dtype)
            parameter.grad = torch.sin(numbers + step).view_as(parameter)
        optimizer.step(step)
