"""What training minimises, as sums over the real target tokens of a batch."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.config import ObjectiveConfig
from transformer_mt.names import lookup
from transformer_mt.tokenizer import PAD

# From logits and labels (PAD where there is none) to the summed loss: the caller divides by the number of tokens, which
# may be spread over several batches.
Objective = Callable[[Float[Tensor, "B T V"], Int[Tensor, "B T"]], Float[Tensor, ""]]


def cross_entropy(
    logits: Float[Tensor, "B T V"], labels: Int[Tensor, "B T"], *, label_smoothing: float
) -> Float[Tensor, ""]:
    """Σ −Σ_k q_k log p_k over real tokens, q = (1 − ε) one-hot + ε/V.

    Szegedy et al. 2016, §7; Vaswani et al. 2017, §5.4. In float32 at least, whatever the logits' precision.
    """
    logits = logits.flatten(0, 1)  # B T V -> BT V
    if logits.dtype == torch.bfloat16:
        logits = logits.float()
    return F.cross_entropy(logits, labels.flatten(), ignore_index=PAD, label_smoothing=label_smoothing, reduction="sum")


def cross_entropy_in_place(
    logits: Float[Tensor, "B T V"], labels: Int[Tensor, "B T"], *, label_smoothing: float
) -> Float[Tensor, ""]:
    """The same value and gradient as `cross_entropy`, a few rows at a time so that they stay in the processor's cache.

    Over a vocabulary of thousands the readable form moves more memory than the whole model. Here the gradient is made
    during the forward pass and overwrites the logits, which must not be used afterwards.
    """
    loss: Tensor = _CrossEntropyInPlace.apply(logits, labels, label_smoothing)  # type: ignore[no-untyped-call]
    return loss


class _CrossEntropyInPlace(torch.autograd.Function):
    """∂loss/∂z_k = p_k − (1 − ε) [k = label] − ε/V, written over z."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        """The summed loss; keeps the gradient instead of the logits."""
        vocabulary = logits.shape[-1]
        loss = torch.zeros((), dtype=torch.float32, device=logits.device)
        rows = max(1, 2**18 // vocabulary)
        z_all, label_all = logits.detach().flatten(0, 1), labels.flatten()
        for start in range(0, len(label_all), rows):
            stored = z_all[start : start + rows]
            label = label_all[start : start + rows, None]
            real = (label != PAD).float()
            z = stored.float()
            log_sum = z.logsumexp(dim=-1, keepdim=True)
            chosen = z.gather(1, label)
            loss += ((log_sum - (1 - smoothing) * chosen - smoothing * z.mean(dim=-1, keepdim=True)) * real).sum()
            gradient = z.sub_(log_sum).exp_().sub_(smoothing / vocabulary)
            gradient.scatter_add_(1, label, torch.full_like(chosen, smoothing - 1))
            stored.copy_(gradient.mul_(real))
        ctx.save_for_backward(z_all.view_as(logits))
        return loss

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        """The kept gradient times the upstream one."""
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(upstream[0].to(gradient.dtype)), None, None


OBJECTIVES: dict[str, Callable[..., Tensor]] = {"cross_entropy": cross_entropy_in_place}


def build_objective(config: ObjectiveConfig) -> Objective:
    """The objective that the configuration names."""
    return partial(lookup(OBJECTIVES, config.name, key="objective.name"), label_smoothing=config.label_smoothing)
