"""Leaving heads out of a model: what is left is computed as before, and the rest not at all."""

from collections.abc import Sequence

from torch import nn

from transformer_mt.attention.multihead import Attention, NoHeads
from transformer_mt.errors import InputError
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import HeadName

KEY = "model.attention.pruned"


def leave_out(model: Seq2Seq, names: Sequence[HeadName]) -> None:
    """Take these heads out of the model (Michel et al. 2019, "Are Sixteen Heads Really Better than One?").

    The width of a head and whatever else the others are made of stay as they were, so the model computes what it would
    with these heads' outputs zero. Raises `InputError` for a head that is not there, or named twice.
    """
    lost: dict[Attention, set[int]] = {}
    for name in names:
        module = _module(model, name)
        numbers = lost.setdefault(module, set())
        if name.head in numbers:
            raise InputError(f"{KEY}: {name} is named twice; name it once")
        numbers.add(name.head)
    for module, numbers in lost.items():
        kept = [place for place, number in enumerate(module.head_numbers) if number not in numbers]
        if kept:
            module.keep_heads(kept)
        else:
            _replace(model, module, NoHeads(module))


def _module(model: Seq2Seq, name: HeadName) -> Attention:
    """The layer that computes a head."""
    modules = model.attention_stacks().get(name.stack, [])
    module = modules[name.layer - 1] if name.layer <= len(modules) else None
    if isinstance(module, Attention) and name.head in module.head_numbers:
        return module
    there = f"{name.stack}.{name.layer} has {_numbers(module)}" if module else f"{name.stack} has {len(modules)} layers"
    raise InputError(f"{KEY}: there is no head {name} to leave out; {there}")


def _numbers(module: nn.Module) -> str:
    numbers = module.head_numbers if isinstance(module, Attention) else ()
    return f"the heads {', '.join(map(str, numbers))}" if numbers else "no heads that can be left out"


def _replace(model: Seq2Seq, old: nn.Module, new: nn.Module) -> None:
    for parent in model.modules():
        for place, child in parent.named_children():
            if child is old:
                setattr(parent, place, new)
