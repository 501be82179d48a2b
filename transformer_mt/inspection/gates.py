"""Heads switched off, or turned by a factor through which gradients flow."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_mt.attention.multihead import Attention
from transformer_mt.errors import InputError
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import HeadName

# One factor a head, of all sentences or of each.
Gates = Float[Tensor, "#B H"]


def head_numbers(module: nn.Module) -> tuple[int, ...]:
    """The numbers, from 1, of the heads that an attention module computes, in the order of its tensors."""
    return module.head_numbers if isinstance(module, Attention) else (1,)


def head_names(model: Seq2Seq) -> list[HeadName]:
    """Every head of the model, in the order of its stacks and layers."""
    return [
        HeadName(stack, layer, head)
        for stack, modules in model.attention_stacks().items()
        for layer, module in enumerate(modules, start=1)
        for head in head_numbers(module)
    ]


@contextmanager
def gated(gates: Mapping[nn.Module, Gates]) -> Iterator[None]:
    """While this is open, head r of each of these attention modules contributes ξ_r head_r (Michel et al. 2019, §2.1).

    With ξ_r = 0 the head is off; the gradient of a loss in ξ at 1 says how much the loss depends on the head. Nothing
    is left on the modules afterwards.
    """
    with ExitStack() as hooks:
        for module, factors in gates.items():
            if not factors.shape[-1]:  # a layer whose heads have been left out
                continue
            if isinstance(module, Attention):
                handle = module.output_projection.register_forward_pre_hook(_before_output(factors))
            else:  # one head whose output nothing projects
                handle = module.register_forward_hook(_after(factors))
            hooks.callback(handle.remove)
        yield


@contextmanager
def without_heads(model: Seq2Seq, heads: Collection[HeadName], *, key: str = "--without") -> Iterator[None]:
    """While this is open, these heads are switched off. Raises `InputError` that names `key` for one there is not."""
    stacks = model.attention_stacks()
    there = set(head_names(model))
    gates: dict[nn.Module, Tensor] = {}
    for name in heads:
        if name not in there:
            raise InputError(f"{key}: the model has no head {name}; it has {_extent(model)}")
        module = stacks[name.stack][name.layer - 1]
        numbers = head_numbers(module)
        ones = torch.ones(1, len(numbers), device=next(model.parameters()).device)
        gates.setdefault(module, ones)[0, numbers.index(name.head)] = 0.0
    with gated(gates):
        yield


def _before_output(factors: Gates) -> Any:
    def scale(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        (merged,) = inputs  # B Q H*d
        heads = merged.reshape(*merged.shape[:-1], factors.shape[-1], -1)
        return ((heads * factors[:, None, :, None].to(merged.dtype)).flatten(-2),)

    return scale


def _after(factors: Gates) -> Any:
    def scale(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        return output * factors.to(output.dtype)

    return scale


def _extent(model: Seq2Seq) -> str:
    """For example `encoder.1.1 to encoder.3.4, …`."""
    by_stack: dict[str, list[HeadName]] = {}
    for name in head_names(model):
        by_stack.setdefault(name.stack, []).append(name)
    return ", ".join(f"{names[0]} to {names[-1]}" for names in by_stack.values()) or "none"
