"""Feed-forward networks, each chosen by name; a network's numbers stand in its spelling, as in `moe(8, 2)`."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from transformer_mt.models.seq2seq import Mask, States


class FeedForward(nn.Module, ABC):
    """A network applied to every token by itself. Its constructor takes the model's width, the width of the hidden
    layer, and the numbers of its spelling."""

    @abstractmethod
    def __init__(self, width: int, hidden: int, *numbers: int) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, x: States, mask: Mask) -> States:
        """FFN(x); mask is True at real tokens."""


class ReLU(FeedForward):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, §3.3)."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(width, hidden)
        self.hidden = nn.Linear(width, hidden)
        self.output = nn.Linear(hidden, width)

    @override
    def forward(self, x: States, mask: Mask) -> States:
        return self.output(self.activation(self.hidden(x)))

    def activation(self, x: Float[Tensor, "*B N hidden"]) -> Float[Tensor, "*B N hidden"]:
        """max(0, x)."""
        return x.relu()


class GELU(ReLU):
    """FFN(x) = GELU(x W_1 + b_1) W_2 + b_2, GELU(x) = x Φ(x) (Hendrycks and Gimpel 2016)."""

    @override
    def activation(self, x: Float[Tensor, "*B N hidden"]) -> Float[Tensor, "*B N hidden"]:
        return F.gelu(x)


class SwiGLU(FeedForward):
    """FFN(x) = (Swish(x W) ∘ x V) W_2, Swish(x) = x σ(x) (Shazeer 2020, §2).

    Three matrices where the others have two; the hidden width is the configured one, not two thirds of it.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(width, hidden)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.value = nn.Linear(width, hidden, bias=False)
        self.output = nn.Linear(hidden, width, bias=False)

    @override
    def forward(self, x: States, mask: Mask) -> States:
        return self.output(F.silu(self.gate(x)) * self.value(x))


FEED_FORWARDS: dict[str, Callable[..., FeedForward]] = {"relu": ReLU, "gelu": GELU, "swiglu": SwiGLU}
