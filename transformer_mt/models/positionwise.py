"""Parts that act on each token separately (Vaswani et al. 2017, §3.3, §3.4): embeddings and feed-forward networks.

To add a feed-forward network, subclass `FeedForward` and enter it in `FEED_FORWARDS`. It can take numbers in its
spelling, as in `moe(8, 2)`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from transformer_mt.attention.hooks import show
from transformer_mt.attention.initialisation import fill
from transformer_mt.attention.positions import Position
from transformer_mt.attention.shapes import States
from transformer_mt.ground.registry import Table
from transformer_mt.models.dropout import Dropout
from transformer_mt.models.seq2seq import TokenMask

Hidden = Float[Tensor, "*B N hidden"]


class Embedding(nn.Module):
    """x_i = √D e_i, then the position encoding, then dropout (Vaswani et al. 2017, §3.4, §3.5, §5.4)."""

    formulas: ClassVar = {"√D e": ""}

    def __init__(self, table: nn.Embedding, position: Position, *, dropout: float) -> None:
        super().__init__()
        self.table = table
        self.position = position
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Int[Tensor, "B N"], *, start: int = 0) -> States:
        """Embed tokens at the positions start, start + 1, …"""
        scaled = show(self, "√D e", self.table(tokens) * math.sqrt(self.table.embedding_dim), "B Q D")
        return self.dropout(self.position.embed(scaled, start=start))


class Embeddings(NamedTuple):
    """The embeddings of source and target, and whether the output matrix shares the target's table."""

    source: Embedding
    target: Embedding
    tie_output: bool

    def output(self) -> nn.Linear:
        """The output layer h W + b, initialised with variance 1/D and b = 0."""
        vocabulary, width = self.target.table.weight.shape
        output = nn.Linear(width, vocabulary)
        fill(output.weight, std=width**-0.5)
        nn.init.zeros_(output.bias)
        if self.tie_output:
            output.weight = self.target.table.weight
        return output


class FeedForward(nn.Module, ABC):
    """A network of the model's width with one hidden layer, built with the numbers in its spelling."""

    @abstractmethod
    def __init__(self, width: int, hidden: int, *numbers: int) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, x: States, mask: TokenMask) -> States:
        """FFN(x). `mask` is True at real tokens."""


class ReLU(FeedForward):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, §3.3)."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(width, hidden)
        self.hidden = nn.Linear(width, hidden)
        self.output = nn.Linear(hidden, width)

    @override
    def forward(self, x: States, mask: TokenMask) -> States:
        return self.output(self.activation(self.hidden(x)))

    def activation(self, x: Hidden) -> Hidden:
        """max(0, x)."""
        return x.relu()


class GELU(ReLU):
    """FFN(x) = GELU(x W_1 + b_1) W_2 + b_2, GELU(x) = x Φ(x) (Hendrycks and Gimpel 2016)."""

    @override
    def activation(self, x: Hidden) -> Hidden:
        return F.gelu(x)


class SiLU(ReLU):
    """FFN(x) = SiLU(x W_1 + b_1) W_2 + b_2, SiLU(x) = x σ(x), also called Swish (Ramachandran et al. 2017)."""

    @override
    def activation(self, x: Hidden) -> Hidden:
        return F.silu(x)


class SwiGLU(FeedForward):
    """FFN(x) = (Swish(x W) ∘ x V) W_2, Swish(x) = x σ(x) (Shazeer 2020, §2).

    It has three matrices instead of two. The hidden width is used as configured, not scaled by two thirds.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(width, hidden)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.value = nn.Linear(width, hidden, bias=False)
        self.output = nn.Linear(hidden, width, bias=False)

    @override
    def forward(self, x: States, mask: TokenMask) -> States:
        return self.output(F.silu(self.gate(x)) * self.value(x))


FEED_FORWARDS: Table[Callable[..., FeedForward]] = Table(
    "model.feed_forward", {"relu": ReLU, "gelu": GELU, "silu": SiLU, "swiglu": SwiGLU}, given=2
)
