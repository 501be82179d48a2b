"""Dropout whose random mask is fast to draw on a CPU."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

Numbers = Float[Tensor, "..."]


class Dropout(nn.Module):
    """Each element is zeroed with `probability` in training, the others divided by 1 − probability.

    Srivastava et al. 2014. On a CPU, torch draws one random number an element on a single core, which costs more than
    the matrix products around it. There we draw 8 or 16 random bits an element. What is drawn is then the next multiple
    of 2⁻⁸, where that is within 2 % of the probability, or of 2⁻¹⁶; what is kept is divided by the share that is drawn
    to be kept. Elsewhere this is torch's own dropout.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    @override
    def forward(self, x: Numbers, onto: Numbers | None = None) -> Numbers:
        """`x` after dropout, added to `onto` if that is given; `x` itself in evaluation mode.

        Random numbers come from torch's default generator.
        """
        if not self.training or self.probability == 0.0:
            return x if onto is None else onto + x
        if x.device.type != "cpu":
            dropped = F.dropout(x, self.probability)
            return dropped if onto is None else onto + dropped
        mask = scaled_mask(x.shape, self.probability, dtype=torch.promote_types(x.dtype, torch.float32))
        if onto is None:
            return (x * mask).to(x.dtype)
        return torch.addcmul(onto, x, mask)  # in one pass over the memory

    @override
    def extra_repr(self) -> str:
        return f"p={self.probability}"


def scaled_mask(shape: torch.Size, probability: float, *, dtype: torch.dtype) -> Tensor:
    """A CPU tensor of zeros, with the probability q that is drawn for this one, and of 1 / (1 − q)."""
    bits, threshold = drawn_bits(probability)
    # A generator that is twice as fast as torch's, and begins anew from a number of torch's.
    generator = np.random.SFC64(int(torch.randint(2**63 - 1, ())))
    draws = generator.random_raw(-(-shape.numel() * bits // 64)).view(f"int{bits}")[: shape.numel()]
    mask = torch.empty(shape, dtype=dtype)
    torch.ge(torch.from_numpy(draws).view(shape), threshold - 2 ** (bits - 1), out=mask)
    return mask.mul_(1.0 / (1.0 - threshold / 2**bits))


def drawn_bits(probability: float) -> tuple[int, int]:
    """With how many random bits an element is drawn, and how many of their 2 ** bits values drop it."""
    threshold = round(probability * 2**8)
    if abs(threshold / 2**8 - probability) <= probability / 50 and threshold < 2**8:
        return 8, threshold
    return 16, min(round(probability * 2**16), 2**16 - 1)  # something is kept
