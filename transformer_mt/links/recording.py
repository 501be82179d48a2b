"""The attention of a model as it is computed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.attention.hooks import Shown, watching
from transformer_mt.errors import InputError, checked
from transformer_mt.head_names import STACKS
from transformer_mt.models.seq2seq import Seq2Seq


class Recording(Mapping[str, list[Tensor]]):
    """The attention weights of one forward pass: for each of `attention_stacks` a tensor B H Q K a layer, first first.

    They are weights before dropout, and the very tensors that the model went on with, so they have gradients.

    A decoder that reads its target in several steps counts as one pass; keys that a step did not have yet weigh zero.
    Row b of every step must be the same sentence, unlike in a search; use `attend_pair` for the result of one.
    """

    def __init__(self, model: Seq2Seq) -> None:
        self._stacks = model.attention_stacks()
        self._shown: dict[tuple[nn.Module, str], list[Tensor]] = defaultdict(list)

    def add(self, shown: Shown) -> None:
        if shown.symbol in ("α_j", "v_j"):
            self._shown[shown.module, shown.symbol].append(shown.value)

    def __getitem__(self, stack: str) -> list[Tensor]:
        """The layers of a stack, none before the first pass. Raises `ValueError` after more than one pass."""
        if not all(map(self._is_one_pass, self._stacks)):
            raise ValueError("the recording holds more than one pass, or a search; open one for each forward pass")
        return [_joined(steps) for steps in self._steps(stack, "α_j")]

    def of_tokens(self, stack: str, source: int, target: int) -> list[Tensor]:
        """The layers of a stack over that many tokens of the source and of the target.

        Raises `InputError` for a model that attends to others there, as one stack for both sides does, or shows none.
        """
        sizes = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}[stack]
        layers = self[stack]
        if [layer.shape[2:] for layer in layers] != [sizes] * len(self._stacks[stack]):
            problem = f"the {STACKS[stack]} of this model is not between the tokens that the view shows"
            raise InputError("model.kind", problem, "look at it through the lens, or by erasure")
        return layers

    def values_of(self, stack: str) -> list[Float[Tensor, "B H K d"]]:
        """The values that the weights of each layer weigh, from the last step, which has seen the most."""
        return [steps[-1] for steps in self._steps(stack, "v_j")]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stacks)

    def __len__(self) -> int:
        return len(self._stacks)

    def _steps(self, stack: str, symbol: str) -> list[list[Tensor]]:
        return [steps for module in self._stacks[stack] if (steps := self._shown[module, symbol])]

    def _is_one_pass(self, stack: str) -> bool:
        """True if each token of a self-attention was a query once, and the keys of a cross-attention stayed."""
        for steps in self._steps(stack, "α_j"):
            batches, _, queries, keys = zip(*(step.shape for step in steps), strict=True)
            is_whole = len(set(keys)) == 1 if stack == "cross" else sum(queries) == keys[-1]
            if not is_whole or len(set(batches)) > 1:
                return False
        return True


@checked
@contextmanager
def record_attention(model: Seq2Seq) -> Iterator[Recording]:
    """While this is open, the weights of every attention layer are gathered; see `Recording`. Recordings nest."""
    recording = Recording(model)
    with watching(recording.add):
        yield recording


def _joined(steps: list[Tensor]) -> Tensor:
    """The queries of all steps, over the keys of the last; of a single step its own tensor, for gradients."""
    if len(steps) == 1:
        return steps[0]
    keys = steps[-1].shape[3]
    return torch.cat([F.pad(step, (0, keys - step.shape[3])) for step in steps], dim=2)
