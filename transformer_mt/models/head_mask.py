"""Head masks: turn heads off, permanently or temporarily, or scale them by factors with gradients."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby
from types import MappingProxyType

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_mt.attention.multihead import InspectableAttention
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import HeadName, LayerName
from transformer_mt.ground.registry import suggest
from transformer_mt.models.seq2seq import Seq2Seq

# A factor per head, one row for all sentences or one row each.
Gates = Float[Tensor, "#B H"]


def attention_layers(model: Seq2Seq) -> dict[LayerName, InspectableAttention]:
    """The attention layers of a model by name, in order."""
    return {
        LayerName(stack, layer): module
        for stack, modules in model.attention_stacks().items()
        for layer, module in enumerate(modules, start=1)
    }


def active_heads(module: InspectableAttention) -> list[int]:
    """The heads, counted from 0, that the mask leaves on."""
    if module.head_mask is None:
        return list(range(module.heads))
    return (module.head_mask != 0).any(dim=0).nonzero().flatten().tolist()


def head_names(model: Seq2Seq) -> list[HeadName]:
    """Every active head of a model, by stack and layer."""
    return [
        HeadName(*layer, head + 1) for layer, module in attention_layers(model).items() for head in active_heads(module)
    ]


# Values of `--layer` and `--head` that select every head.
ALL = "all"
MEAN = "mean"
EVERY = {"layer": (ALL,), "head": (MEAN, ALL)}


def heads_at(
    names: Sequence[HeadName],
    *,
    layer: int | str | None,
    head: int | str | None,
    every: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Sequence[HeadName]:
    """Filter heads by layer and number. None, and the words in `every`, select all.

    Raises `InputError` with the option and its choices if a layer or number does not exist.
    """
    for field, wanted in (("layer", layer), ("head", head)):
        if wanted is not None and wanted not in (words := every.get(field, ())):
            numbers = map(str, sorted({getattr(name, field) for name in names}))
            names = [name for name in names if str(getattr(name, field)) == str(wanted)]
            if not names:
                raise InputError(field, f"{wanted!r} is unknown or off", suggest(str(wanted), [*words, *numbers]))
    return names


def mask_heads(model: Seq2Seq, names: Iterable[HeadName], *, key: str) -> None:
    """Turn these heads off permanently. Raises `InputError` under `key` for an unknown head."""
    _multiply(_zeros_at(model, names, key=key))


def without_heads(model: Seq2Seq, names: Iterable[HeadName]) -> AbstractContextManager[None]:
    """Turn these heads off inside a context. Raises `InputError` for an unknown head."""
    return gated(_zeros_at(model, names, key="without"))


@contextmanager
def gated(gates: Mapping[InspectableAttention, Gates]) -> Iterator[None]:
    """Scale head r of each of these modules to ξ_r head_r inside a context (Michel et al. 2019, §2.1).

    ξ_r = 0 turns the head off. The gradient of a loss by ξ at 1 measures how much the loss depends on the head.
    """
    before = {module: module.head_mask for module in gates}
    try:
        _multiply(gates)
        yield
    finally:
        for module, mask in before.items():
            module.head_mask = mask


def _multiply(gates: Mapping[InspectableAttention, Gates]) -> None:
    for module, factors in gates.items():
        module.head_mask = factors if module.head_mask is None else module.head_mask * factors


def _zeros_at(model: Seq2Seq, off: Iterable[HeadName], *, key: str) -> dict[InspectableAttention, Gates]:
    layers = attention_layers(model)
    device = next(model.parameters()).device
    gates: dict[InspectableAttention, Tensor] = {}
    for name in off:
        module = layers.get(name.of_layer)
        if module is None or name.head - 1 not in active_heads(module):
            stacks = [list(names) for _, names in groupby(head_names(model), key=lambda name: name.stack)]
            extent = ", ".join(f"{names[0]} to {names[-1]}" for names in stacks) or "none"
            raise InputError(key, f"the model has no head {name}", f"it has {extent}")
        gates.setdefault(module, torch.ones(1, module.heads, device=device))[0, name.head - 1] = 0.0
    return gates
