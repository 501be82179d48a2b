"""The interface of all models. Training and search only assume that a model reads a source, then target tokens."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_mt.attention.multihead import InspectableAttention
from transformer_mt.attention.shapes import Logits, Rows, Source, States, Target
from transformer_mt.ground.errors import NOT_FINITE, MachineError

# True at real tokens, for N source or target tokens.
TokenMask = Bool[Tensor, "B N"]
# The attention modules of each stack, first layer first.
Stacks = dict[str, list[InspectableAttention]]


@dataclass(frozen=True)
class Memory:
    """An encoder's output: one state per source token, and a mask of real tokens (True) and padding."""

    states: States
    mask: TokenMask


@runtime_checkable
class State(Protocol):
    """A decoder's cache of the source and of the target tokens read so far."""

    def select(self, rows: Rows) -> "State":
        """Select the hypotheses `rows`; rows may repeat."""


class Seq2Seq(nn.Module, ABC):
    """An encoder–decoder, used in two steps: `state = start(source)`, then `logits, state = decode(target, state)`.

    Padding is the token `tokenizer.PAD`. Logits are `output` applied to the states from `read`.
    """

    max_length: int
    output: nn.Linear

    @abstractmethod
    def attention_stacks(self) -> Stacks:
        """The attention modules of each stack, first layer first, for inspection.

        `encoder` and `decoder` are self-attention, `cross` leads from the decoder to the memory. A model may lack some.
        """

    @abstractmethod
    def start(self, source: Source) -> State:
        """Read the source sentences, and nothing of the target."""

    @abstractmethod
    def read(self, target: Target, state: State) -> tuple[States, State]:
        """Return the states to apply the output matrix to, one per token of `target`, and the next state.

        `target` continues the tokens read so far; after `start` it begins with `BOS`. The given state is not modified.
        Target rows may end with padding only in training, where the state is discarded.
        """

    def decode(self, target: Target, state: State) -> tuple[Logits, State]:
        """Return the logits of the token after each token of `target`, and the next state."""
        states, state = self.read(target, state)
        return self.output(states), state

    def layer_logits(self, target: Target, state: State) -> list[Logits]:
        """Return the logits as if decoding ended after each layer, first layer first; the last equal `decode`'s.

        The output matrix fits lower layers only if a residual path joins them. Other models return only the last
        logits.
        """
        return [self.decode(target, state)[0]]

    def forward(
        self,
        source: Source,
        target: Target,
        head: Callable[[States, nn.Linear], Tensor] | None = None,
    ) -> Tensor:
        """Return the logits of the token after each token of `target` under teacher forcing, for training.

        With a `head`, return its result for the states and the output layer instead, for a loss that never holds all
        logits at once.
        """
        states, _ = self.read(target, self.start(source))
        return head(states, self.output) if head else self.output(states)


def require_finite(x: Tensor) -> Tensor:
    """Return x. Raises `MachineError` if a number is not finite; extreme weights in a stranger's run can cause that."""
    if not x.sum().isfinite() and not x.isfinite().all():  # the sum is a fast check
        raise MachineError(*NOT_FINITE)
    return x


@contextmanager
def evaluating(model: nn.Module, *, gradients: bool = False) -> Iterator[None]:
    """Turn off dropout and, unless requested, gradients. On exit, training mode is restored."""
    training = model.training
    if training:  # visiting every module would take 5 % of a short translation
        model.eval()
    try:
        with torch.enable_grad() if gradients else torch.inference_mode():
            yield
    finally:
        if training:
            model.train()


def log_softmax(logits: Float[Tensor, "... V"]) -> Float[Tensor, "... V"]:
    """Log-softmax in float32 or finer, whatever the model's precision."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)
