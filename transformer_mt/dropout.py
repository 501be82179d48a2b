"""Dropout whose random mask is fast to draw on a CPU."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override


class Dropout(nn.Module):
    """Each element is zeroed with `probability` in training, the others divided by 1 − probability.

    Srivastava et al. 2014. On a CPU, torch draws one random number an element on a single core, which costs more than
    the matrix products around it. There we draw 64 random bits for four elements, 16 each: a probability is then a
    multiple of 2⁻¹⁶. Elsewhere this is torch's own dropout.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    @override
    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """`x` itself in evaluation mode; random numbers come from torch's default generator."""
        if not self.training or self.probability == 0.0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.probability)
        return x * keep_mask(x.shape, self.probability).to(x.dtype) * (1.0 / (1.0 - self.probability))

    @override
    def extra_repr(self) -> str:
        return f"p={self.probability}"


def keep_mask(shape: torch.Size, probability: float) -> Tensor:
    """A boolean CPU tensor that is False with `probability`, rounded to 16 bits."""
    draws = torch.empty((shape.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    threshold = round(probability * 2**16) - 2**15
    return (draws.view(torch.int16)[: shape.numel()] >= threshold).view(shape)
