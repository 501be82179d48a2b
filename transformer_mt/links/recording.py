"""Recording of a model's attention weights."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.attention.hooks import Shown, watching
from transformer_mt.attention.shapes import Source, Target
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import STACKS
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite


class Recording(Mapping[str, list[Tensor]]):
    """The attention weights of one forward pass: per stack, a list of B×H×Q×K tensors, first layer first.

    These are the weights before dropout, and the very tensors that the model used, so they have gradients.

    A decoder that reads its target in several steps counts as one pass; keys that a step did not have yet weigh zero.
    Row b must be the same sentence in every step. A search reorders rows, so use `attend_pair` on its result.
    """

    def __init__(self, model: Seq2Seq) -> None:
        self._stacks = model.attention_stacks()
        self._shown: dict[nn.Module, list[Tensor]] = defaultdict(list)

    def add(self, shown: Shown) -> None:
        """Record a shown value if it is a weight matrix."""
        if shown.symbol == "α_j":
            self._shown[shown.module].append(shown.value)

    def __getitem__(self, stack: str) -> list[Tensor]:
        """The layers of a stack; empty before the first pass. Raises `ValueError` after more than one pass."""
        if not all(map(self._is_one_pass, self._stacks)):
            raise ValueError("the recording holds more than one pass, or a search; open one for each forward pass")
        return [_joined(steps) for steps in self._steps(stack)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stacks)

    def __len__(self) -> int:
        return len(self._stacks)

    def _steps(self, stack: str) -> list[list[Tensor]]:
        return [steps for module in self._stacks[stack] if (steps := self._shown[module])]

    def _is_one_pass(self, stack: str) -> bool:
        """True if each token of a self-attention was a query once, and cross-attention keys did not change."""
        for steps in self._steps(stack):
            batches, _, queries, keys = zip(*(step.shape for step in steps), strict=True)
            is_whole = len(set(keys)) == 1 if stack == "cross" else sum(queries) == keys[-1]
            if not is_whole or len(set(batches)) > 1:
                return False
        return True


@contextmanager
def record_attention(model: Seq2Seq) -> Iterator[Recording]:
    """Record the weights of every attention layer inside this context; see `Recording`. Recordings nest."""
    recording = Recording(model)
    with watching(recording.add):
        yield recording


def attention_of(model: Seq2Seq, source: Source, target: Target) -> dict[str, list[Tensor]]:
    """The attention weights B H Q K of every stack in one pass in evaluation mode, first layer first.

    Raises `InputError` if the model's attention is over other tokens, as in one stack for both sides, or not shown, and
    `MachineError` if the model's numbers are not finite.
    """
    with evaluating(model), record_attention(model) as recording:
        require_finite(model(source, target))
    read, written = source.shape[1], target.shape[1]
    sizes = {"encoder": (read, read), "decoder": (written, written), "cross": (written, read)}
    found = dict(recording)
    for stack, modules in model.attention_stacks().items():
        if [layer.shape[2:] for layer in found[stack]] != [sizes[stack]] * len(modules):
            raise InputError(
                "model.kind",
                f"the {STACKS[stack]} of this model is over other tokens than this view shows",
                "use the lens or erasure",
            )
    return found


def _joined(steps: list[Tensor]) -> Tensor:
    """The queries of all steps over the keys of the last; for one step its own tensor, to keep gradients."""
    if len(steps) == 1:
        return steps[0]
    keys = steps[-1].shape[3]
    return torch.cat([F.pad(step, (0, keys - step.shape[3])) for step in steps], dim=2)
