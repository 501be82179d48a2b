"""`record_attention`: what every layer and head computes during a forward pass."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.attention.multihead import Attention
from transformer_mt.attention.observing import Attended, current_observer, observing
from transformer_mt.models.seq2seq import Seq2Seq


class Recording(Mapping[str, list[Tensor]]):
    """The attention weights of one forward pass: for each stack one tensor B H Q K a layer, first layer first.

    The stacks are those of `Seq2Seq.attention_stacks`. The weights are those before dropout, and the very tensors that
    the model went on with, so that gradients with respect to them can be taken.

    A decoder that reads its target in several steps counts as one pass: copies of the steps' queries are put together,
    and keys that a step did not have yet weigh zero. Row b of every step must be the same sentence, which a greedy loop
    keeps and a search that reorders or drops hypotheses does not; look at what a search found with `attend_pair`.
    """

    def __init__(self, stacks: Mapping[str, list[nn.Module]]) -> None:
        self._stacks = stacks
        self._steps: dict[nn.Module, list[Attended]] = {module: [] for stack in stacks.values() for module in stack}

    def add(self, module: nn.Module, attended: Attended) -> None:
        """Take what a module computed in one step; modules of another model are left alone."""
        if module in self._steps:
            self._steps[module].append(attended)

    def __getitem__(self, stack: str) -> list[Tensor]:
        """The layers of a stack, none before the first pass. Raises `ValueError` after more than one pass."""
        self._check_one_pass()
        steps = filter(None, (self._steps[module] for module in self._stacks[stack]))
        return [_join([step.weights for step in layer]) for layer in steps]

    def stacked(self, stack: str) -> Float[Tensor, "B L H Q K"]:
        """The weights of a stack in one tensor, whose heads are those of the configuration: see `in_slots`.

        Raises `ValueError` after more than one pass, and before the first.
        """
        layers = zip(self._stacks[stack], self[stack], strict=True)
        return torch.stack([in_slots(weights, module) for module, weights in layers], dim=1)

    def attended(self, stack: str) -> list[Attended]:
        """All that the layers of a stack computed; those of `recording[stack]` are its weights.

        Raises `ValueError` after more than one pass, as that does.
        """
        self._check_one_pass()
        return [_joined(self._steps[module]) for module in self._stacks[stack] if self._steps[module]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stacks)

    def __len__(self) -> int:
        return len(self._stacks)

    def _check_one_pass(self) -> None:
        """Every token of a self-attention is a query once; the keys of a cross-attention stay the same."""
        for stack, modules in self._stacks.items():
            for steps in filter(None, (self._steps[module] for module in modules)):
                shapes = [step.weights.shape for step in steps]
                keys = shapes[-1][3]
                queries = sum(shape[2] for shape in shapes)
                whole = queries == keys if stack != "cross" else all(shape[3] == keys for shape in shapes)
                if not whole or len({shape[0] for shape in shapes}) > 1:
                    raise ValueError(
                        f"the recording of the {stack} attention holds more than one pass, or a search; "
                        "open one recording for each forward pass"
                    )


@contextmanager
def record_attention(model: Seq2Seq) -> Iterator[Recording]:
    """While this is open, the weights of every attention layer of the model are gathered; see `Recording`.

    Nothing is put on the model. Recordings nest: each sees what happens while it is open.
    """
    recording = Recording(model.attention_stacks())
    outer = current_observer()

    def observe(module: nn.Module, attended: Attended) -> None:
        recording.add(module, attended)
        if outer:
            outer(module, attended)

    with observing(observe):
        yield recording


def in_slots(x: Float[Tensor, "B H *rest"], module: nn.Module) -> Float[Tensor, "B H2 *rest"]:
    """What an attention module has for each of its heads, and zeros for those that have been left out of it."""
    if not isinstance(module, Attention) or module.heads == module.configured_heads:
        return x
    slots = x.new_zeros(len(x), module.configured_heads, *x.shape[2:])
    slots[:, [number - 1 for number in module.head_numbers]] = x
    return slots


def present_heads(module: nn.Module) -> Bool[Tensor, " H"]:
    """Which slots of `in_slots` have a head."""
    if not isinstance(module, Attention):
        return torch.ones(1, dtype=torch.bool)
    numbers = torch.arange(1, module.configured_heads + 1)
    return torch.isin(numbers, torch.tensor(module.head_numbers, dtype=torch.int64))


def _joined(steps: list[Attended]) -> Attended:
    """All steps as one. Keys and values are those of the last step, which has seen the most."""
    first, last = steps[0], steps[-1]
    if first is last:
        return first
    queries, heads = (torch.cat([getattr(step, name) for step in steps], dim=2) for name in ("queries", "heads"))
    scores, weights = (_join([getattr(step, name) for step in steps]) for name in ("scores", "weights"))
    return Attended(queries, last.keys, last.values, scores, weights, heads)


def _join(steps: list[Tensor]) -> Tensor:
    """The queries of all steps, over the keys of the last; of a single step its own tensor, for gradients."""
    if len(steps) == 1:
        return steps[0]
    keys = steps[-1].shape[3]
    return torch.cat([F.pad(step, (0, keys - step.shape[3])) for step in steps], dim=2)
