"""How a model knows the order of its tokens, which attention alone does not see."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_mt.config import lookup


class Position(nn.Module):
    """An encoding of positions. A subclass overrides the hook where it acts."""

    def embed(self, embeddings: Float[Tensor, "B N D"], *, start: int) -> Float[Tensor, "B N D"]:
        """Scaled token embeddings at the positions start, start + 1, … with the encoding added."""
        del start
        return embeddings


class NoPosition(Position):
    """No positions at all: the encoder sees a bag of words."""


class Sinusoidal(Position):
    """x_i = √D e_i + pe_i; pe_{i,2t} = sin(i / 10000^{2t/D}), pe_{i,2t+1} = cos(i / 10000^{2t/D}).

    Vaswani et al. 2017, §3.5. Computed afresh for the positions asked for: there is no table to outgrow.
    """

    def embed(self, embeddings: Float[Tensor, "B N D"], *, start: int) -> Float[Tensor, "B N D"]:
        """The embeddings plus the sinusoids, in the embeddings' own precision."""
        _, length, width = embeddings.shape
        encoding = sinusoids(start, length, width=width, device=embeddings.device)
        return embeddings + encoding.to(embeddings.dtype)


def sinusoids(start: int, length: int, *, width: int, device: torch.device) -> Float[Tensor, "N D"]:
    """The sinusoidal encodings of `length` positions from `start` on, computed in float64 (float32 on MPS)."""
    dtype = torch.float32 if device.type == "mps" else torch.float64
    position = torch.arange(start, start + length, dtype=dtype, device=device)
    frequency = 10_000.0 ** (-torch.arange(0, width, 2, dtype=dtype, device=device) / width)
    angles = torch.outer(position, frequency)  # N D/2
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[:, :width]  # N D/2 2 -> N D


POSITIONS: dict[str, type[Position]] = {"none": NoPosition, "sinusoidal": Sinusoidal}


def build_position(name: str) -> Position:
    """The position encoding that the configuration names."""
    return lookup(POSITIONS, name, key="model.attention.position")()
