"""What training and search know of a model: it encodes a source once and decodes a target against it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Memory:
    """What the decoder looks at: one state a source token, and which of them are real (True) or padding."""

    states: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B S"]

    def select(self, rows: Int[Tensor, " N"]) -> Self:
        """The memory of the sentences `rows`; a row may come several times."""
        return type(self)(self.states[rows], self.mask[rows])


@runtime_checkable
class State(Protocol):
    """What a decoder remembers of the target tokens it has read, so that each is read once."""

    @property
    def length(self) -> int:
        """How many target tokens have been read."""

    def select(self, rows: Int[Tensor, " N"]) -> "State":
        """The state of the hypotheses `rows`; a row may come several times."""


class Seq2Seq(nn.Module):
    """An encoder–decoder. Subclasses implement both halves; padding is marked by the token `tokenizer.PAD`."""

    max_length: int

    def attention_stacks(self) -> dict[str, list[nn.Module]]:
        """The attention modules of each stack, first layer first, for inspection.

        `encoder` and `decoder` attend to themselves, `cross` from the decoder to the memory; a model has those it has.
        """
        raise NotImplementedError

    def encode(self, source: Int[Tensor, "B S"]) -> Memory:
        """Read the source sentences."""
        raise NotImplementedError

    def decode(
        self, target: Int[Tensor, "B T"], memory: Memory, state: State | None = None
    ) -> tuple[Float[Tensor, "B T V"], State]:
        """Logits of the token after each token of `target`, and the state that has read them.

        Without a state, `target` starts the sentence (with `BOS`); with one, it continues what the state has read. A
        target row ends with padding only in training, where no state is carried on.
        """
        raise NotImplementedError

    def forward(self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits of the token after each token of `target`, for training: teacher forcing."""
        logits, _ = self.decode(target, self.encode(source))
        return logits


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients; afterwards the model trains again if it did."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)
