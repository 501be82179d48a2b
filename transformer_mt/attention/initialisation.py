"""Random initial values. On the device `meta`, where torch would import its compiler, they cost nothing."""

import torch
from torch import Tensor, nn


def drawn(*shape: int, std: float) -> Tensor:
    """Draw numbers with mean 0 and this standard deviation from torch's default generator."""
    return fill(torch.empty(shape), std=std)


def fill(tensor: Tensor, *, std: float) -> Tensor:
    """Redraw the numbers of a tensor in place. A `meta` tensor has none and is left as it is."""
    return tensor if tensor.is_meta else nn.init.normal_(tensor, std=std)


def embedding_table(rows: int, width: int) -> nn.Embedding:
    """Embeddings e with variance 1/D, so that √D e has unit variance."""
    table = nn.Embedding.from_pretrained(torch.empty(rows, width), freeze=False)
    fill(table.weight, std=width**-0.5)
    return table
