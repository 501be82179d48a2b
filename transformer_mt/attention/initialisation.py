"""Random initial values that take no time on the device `meta`, where torch would first import its compiler."""

import torch
from torch import Tensor, nn


def drawn(*shape: int, std: float) -> Tensor:
    """Numbers with mean 0 and this standard deviation, from torch's default generator."""
    return fill(torch.empty(shape), std=std)


def fill(tensor: Tensor, *, std: float) -> Tensor:
    """Draw the numbers of a tensor anew; on `meta`, which has none, nothing is drawn."""
    return tensor if tensor.is_meta else nn.init.normal_(tensor, std=std)


def embedding_table(rows: int, width: int) -> nn.Embedding:
    """Embeddings e with variance 1/D, so that √D e has variance one."""
    table = nn.Embedding.from_pretrained(torch.empty(rows, width), freeze=False)  # type: ignore[no-untyped-call]
    fill(table.weight, std=width**-0.5)
    return table
