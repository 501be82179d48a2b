"""`record_attention`: the weights of every layer and head during a forward pass."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.attention.observing import current_observer, observing
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
        self._steps: dict[nn.Module, list[Tensor]] = {module: [] for stack in stacks.values() for module in stack}

    def add(self, module: nn.Module, weights: Tensor) -> None:
        """Take the weights B H Q K of one step of a module; those of another model are left alone."""
        if module in self._steps:
            self._steps[module].append(weights)

    def __getitem__(self, stack: str) -> list[Tensor]:
        """The layers of a stack, none before the first pass. Raises `ValueError` after more than one pass."""
        self._check_one_pass()
        return [_join(self._steps[module]) for module in self._stacks[stack] if self._steps[module]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stacks)

    def __len__(self) -> int:
        return len(self._stacks)

    def _check_one_pass(self) -> None:
        """Every token of a self-attention is a query once; the keys of a cross-attention stay the same."""
        for stack, modules in self._stacks.items():
            for steps in filter(None, (self._steps[module] for module in modules)):
                keys = steps[-1].shape[3]
                queries = sum(step.shape[2] for step in steps)
                whole = queries == keys if stack != "cross" else all(step.shape[3] == keys for step in steps)
                if not whole or len({step.shape[0] for step in steps}) > 1:
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

    def observe(module: nn.Module, weights: Tensor) -> None:
        recording.add(module, weights)
        if outer:
            outer(module, weights)

    with observing(observe):
        yield recording


def _join(steps: list[Tensor]) -> Tensor:
    """The queries of all steps, over the keys of the last; of a single step its own tensor, for gradients."""
    if len(steps) == 1:
        return steps[0]
    keys = steps[-1].shape[3]
    return torch.cat([F.pad(step, (0, keys - step.shape[3])) for step in steps], dim=2)
