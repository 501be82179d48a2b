"""From logits to a sampled token: temperature, top-k, top-p, and the draw."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

RowLogits = Float[Tensor, "N V"]


def temper(logits: RowLogits, temperature: float) -> RowLogits:
    """(logits − row maximum) / temperature; subtracting first avoids overflow."""
    return (logits - logits.amax(dim=-1, keepdim=True)) / temperature


def keep_top_k(logits: RowLogits, k: int) -> RowLogits:
    """The k largest logits of each row, −∞ for the others (Fan et al. 2018, §5.4); 0 keeps all."""
    if k == 0 or k >= logits.shape[1]:
        return logits
    kept, index = logits.topk(k)
    return torch.full_like(logits, -torch.inf).scatter(1, index, kept)


def keep_top_p(logits: RowLogits, p: float) -> RowLogits:
    """The smallest set of largest logits of each row whose probabilities sum to at least p, −∞ for the others.

    Holtzman et al. 2020, §3.1; 1 keeps all.
    """
    if p == 1.0:
        return logits
    ordered, index = logits.sort(dim=1, descending=True)
    probabilities = ordered.softmax(dim=1)
    before = probabilities.cumsum(dim=1) - probabilities
    return torch.full_like(logits, -torch.inf).scatter(1, index, ordered.masked_fill(before >= p, -torch.inf))


def draw(logits: RowLogits, uniform: Float[Tensor, " N"]) -> Int[Tensor, " N"]:
    """Draw a token per row from softmax(logits): the first whose cumulative probability exceeds `uniform`, in [0, 1).

    Float64 logits with float32 `uniform` never select a token of probability zero, since uniform × total stays below
    the total. Non-finite logits give an arbitrary token.
    """
    cumulative = logits.softmax(dim=1).cumsum(dim=1)
    level = uniform[:, None] * cumulative[:, -1:]
    return torch.searchsorted(cumulative, level, right=True).squeeze(1).clamp_(max=logits.shape[1] - 1)
