"""Dropout with random masks that are fast to draw on a CPU."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

Numbers = Float[Tensor, "..."]


class Dropout(nn.Module):
    """In training, zero each element with `probability` and divide the others by 1 − probability.

    Srivastava et al. 2014. On a CPU, torch draws one random number per element on a single core. That costs more than
    the surrounding matrix products, so this class draws 8 or 16 random bits per element. The rate is rounded to 2⁻⁸, or
    to 2⁻¹⁶ if that would change it by more than 2 %. Kept elements are divided by one minus the rounded rate. On
    other devices it is torch's own dropout.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    @override
    def forward(self, x: Numbers, onto: Numbers | None = None) -> Numbers:
        """Apply dropout to `x` and add the result to `onto` if given. In evaluation mode, `x` is unchanged.

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
        return torch.addcmul(onto, x, mask)  # a single pass over memory

    @override
    def extra_repr(self) -> str:
        return f"p={self.probability}"


def scaled_mask(shape: torch.Size, probability: float, *, dtype: torch.dtype) -> Tensor:
    """A CPU tensor that is 0 with the rounded probability q, else 1 / (1 − q)."""
    bits, threshold = drawn_bits(probability)
    # Twice as fast as torch's generator. torch draws its seed.
    generator = np.random.SFC64(int(torch.randint(2**63 - 1, ())))
    draws = generator.random_raw(-(-shape.numel() * bits // 64)).view(f"int{bits}")[: shape.numel()]
    mask = torch.empty(shape, dtype=dtype)
    torch.ge(torch.from_numpy(draws).view(shape), threshold - 2 ** (bits - 1), out=mask)
    return mask.mul_(1.0 / (1.0 - threshold / 2**bits))


def drawn_bits(probability: float) -> tuple[int, int]:
    """The random bits per element, and how many of their 2 ** bits values drop it."""
    threshold = round(probability * 2**8)
    if abs(threshold / 2**8 - probability) <= probability / 50 and threshold < 2**8:
        return 8, threshold
    return 16, min(round(probability * 2**16), 2**16 - 1)  # never drop everything
