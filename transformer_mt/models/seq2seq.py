"""The protocol of all models: training and search know that one reads a source once, then target tokens."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from transformer_mt.attention.multihead import InspectableAttention
from transformer_mt.attention.shapes import Logits, Rows, Source, States, Target
from transformer_mt.errors import NOT_FINITE, MachineError

# Of N tokens of the source or of the target: True at the real ones.
TokenMask = Bool[Tensor, "B N"]
# The attention modules of each stack, first layer first.
Stacks = dict[str, list[InspectableAttention]]


@dataclass(frozen=True, slots=True)
class Memory:
    """An encoder's output: one state for each source token, and which of them are real (True) or padding."""

    states: States
    mask: TokenMask


@runtime_checkable
class State(Protocol):
    """A decoder's memory of the source and of the target tokens it has read, so that each is read once."""

    def select(self, rows: Rows) -> "State":
        """The state of the hypotheses `rows`; a row may come several times."""


class Seq2Seq(nn.Module, ABC):
    """An encoder–decoder, read in two steps: `state = start(source)`, then `logits, state = decode(target, state)`.

    Padding is marked by the token `tokenizer.PAD`. Logits are what `output` makes of the states that `read` gives.
    """

    max_length: int
    output: nn.Linear

    @abstractmethod
    def attention_stacks(self) -> Stacks:
        """The attention modules of each stack, first layer first, for inspection.

        `encoder` and `decoder` attend to themselves, `cross` from the decoder to the memory; a model has those it has.
        """

    @abstractmethod
    def start(self, source: Source) -> State:
        """Read the source sentences; nothing of the target yet."""

    @abstractmethod
    def read(self, target: Target, state: State) -> tuple[States, State]:
        """The states that the output matrix is applied to, one after each token of `target`, and the next state.

        `target` continues what the state has read; after `start` it begins with `BOS`. The given state stays as it is.
        A target row ends with padding only in training, where no state is carried on.
        """

    def decode(self, target: Target, state: State) -> tuple[Logits, State]:
        """Logits of the token after each token of `target`, and the state that has read them."""
        states, state = self.read(target, state)
        return self.output(states), state

    def layer_logits(self, target: Target, state: State) -> list[Logits]:
        """The logits if decoding ended after each layer, first layer first; the last are those of `decode`.

        Only where a residual path joins the layers does the output matrix fit the lower ones; other models have the
        last alone.
        """
        return [self.decode(target, state)[0]]

    def forward(
        self,
        source: Source,
        target: Target,
        head: Callable[[States, nn.Linear], Tensor] | None = None,
    ) -> Tensor:
        """Logits of the token after each token of `target`, for training: teacher forcing.

        With a `head`, its result for the states and the output layer in place of the logits: a loss that never has all
        of them at once.
        """
        states, _ = self.read(target, self.start(source))
        return self.output(states) if head is None else head(states, self.output)


def require_finite(x: Tensor) -> Tensor:
    """Return x, or raise `MachineError` where a number is not finite: a stranger's weights can be that large."""
    if not x.sum().isfinite() and not x.isfinite().all():  # the sum takes a small part of the time
        raise MachineError(*NOT_FINITE)
    return x


@contextmanager
def evaluating(model: nn.Module, *, gradients: bool = False) -> Iterator[None]:
    """Without dropout and, unless they are asked for, gradients; afterwards the model trains again if it did."""
    training = model.training
    if training:  # telling every module would take a twentieth of the time of a short translation
        model.eval()
    try:
        with torch.enable_grad() if gradients else torch.inference_mode():
            yield
    finally:
        if training:
            model.train()
