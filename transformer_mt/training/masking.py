"""Token masking: the model must do without some words of the source, and learns to make up for them."""

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_mt.tokenizer.symbols import EOS, PAD, UNK

# With byte fallback no text has unknown subwords, so their symbol is free to stand for a hidden one.
MASK = UNK


def mask_tokens(source: Int[Tensor, "B S"], *, share: float) -> Int[Tensor, "B S"]:
    """The sentences with each subword hidden behind `MASK` with probability `share`, never `EOS` or padding.

    As in BERT (Devlin et al. 2019, §3.1), but without a loss of its own: the decoder's is enough. Random numbers come
    from torch's default generator.
    """
    if share == 0.0:
        return source
    hidden = (torch.rand(source.shape, device=source.device) < share) & (source != EOS) & (source != PAD)
    return source.masked_fill(hidden, MASK)
