"""Softmax attention in place, with its gradient written out: for training on a CPU.

Of the many small products of attention, a processor computes those with a transposed right factor at a quarter of the
speed of the others, and a softmax over few keys number by number. Here the right factors are turned beforehand, and the
scores become the weights in the same memory.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from transformer_mt.attention.shapes import Heads, Mask, Queries, Scores, Values

# exp(60), times any number of keys, is finite in float32, and exp(−60) not yet zero.
LARGEST = 60.0


def attend_in_place(
    queries: Queries,
    keys: Float[Tensor, "B H K dk"],
    values: Values,
    mask: Mask,
    *,
    scale: float,
    factors: Scores | None = None,
) -> Heads:
    """softmax(scale Q Kᵀ) V over each query's neighbours; dropout gives `factors`, by which it multiplies the weights.

    A query without neighbours gets zeros.
    """
    heads: Tensor = _Attend.apply(queries, keys, values, mask, scale, factors)  # type: ignore[no-untyped-call]
    return heads


def softmax_in_place(scores: Scores, mask: Mask) -> Scores:
    """`masked_softmax`, written over the scores."""
    least, most = torch.aminmax(scores.mul_(mask))  # masked scores do not even decide what follows
    if least > -LARGEST and most < LARGEST:  # then no row has to be brought nearer to zero
        weights = scores.exp_().mul_(mask)
        return weights.div_(weights.sum(dim=-1, keepdim=True).clamp_min_(torch.finfo(weights.dtype).tiny))
    scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1, out=scores).mul_(mask)


class _Attend(torch.autograd.Function):
    """w = softmax(s), ∂/∂s = w (∂/∂w − Σ w ∂/∂w) for the scores s of each query; weights in float32 at least."""

    @staticmethod
    @override
    def forward(
        ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float, factors: Tensor | None
    ) -> Tensor:
        queries = queries.contiguous()
        scores = queries @ _turned(keys).mul_(scale)
        weights = softmax_in_place(scores.to(torch.promote_types(scores.dtype, torch.float32)), mask)
        ctx.scale = scale
        ctx.save_for_backward(queries, keys, values, weights, factors)
        return _dropped(weights, factors).to(values.dtype) @ values.contiguous()

    @staticmethod
    @override
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, weights, factors = ctx.saved_tensors
        gradient = upstream[0].contiguous()
        of_values = _dropped(weights, factors).to(values.dtype).transpose(-1, -2) @ gradient
        of_weights = (gradient @ _turned(values)).to(weights.dtype)
        if factors is not None:
            of_weights *= factors
        of_weights *= weights
        of_weights.addcmul_(weights, of_weights.sum(dim=-1, keepdim=True), value=-1)
        of_scores = of_weights.mul_(ctx.scale).to(queries.dtype)
        return of_scores @ keys.contiguous(), of_scores.transpose(-1, -2) @ queries, of_values, None, None, None


def _turned(x: Tensor) -> Tensor:
    return x.transpose(-1, -2).contiguous()  # B H N d -> B H d N


def _dropped(weights: Tensor, factors: Tensor | None) -> Tensor:
    return weights if factors is None else weights * factors
