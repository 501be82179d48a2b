"""What training minimises, as sums over the real target tokens of a batch.

To add an objective, subclass `Objective`, enter how it is made in `OBJECTIVES`, and give it a section in
`config/sections.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from transformer_mt.batching import Batch
from transformer_mt.config.sections import ObjectiveConfig
from transformer_mt.names import lookup
from transformer_mt.tokenizer import PAD


class Objective(ABC):
    """A loss summed over a batch, and over how many tokens.

    The number is asked for first: with accumulation, sums over several batches are divided by the tokens of all of
    them before the first backward pass.
    """

    @abstractmethod
    def __call__(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """The summed loss, to take the gradient of; the model is in training mode, and may be run more than once."""

    def tokens(self, batch: Batch) -> int:
        """How many tokens the loss of this batch is a sum over."""
        return batch.target_tokens


class CrossEntropy(Objective):
    """Σ −Σ_k q_k log p_k over real target tokens, q = (1 − ε) one-hot + ε/V; see `cross_entropy`."""

    def __init__(self, *, label_smoothing: float) -> None:
        self.label_smoothing = label_smoothing

    @override
    def __call__(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        logits = model(batch.source, batch.target_in)
        # A gradient made before the loss is scaled has no room in float16.
        compute = cross_entropy if logits.dtype == torch.float16 else cross_entropy_in_place
        return compute(logits, batch.target_out, label_smoothing=self.label_smoothing)


class RDrop(Objective):
    """½ (CE_1 + CE_2) + α/4 (KL(p_1 ‖ p_2) + KL(p_2 ‖ p_1)), p_1 and p_2 of two passes under different dropout.

    Liang et al. 2021, eq. 4, halved, so that the loss stays comparable with that of one pass.
    """

    def __init__(self, *, label_smoothing: float, weight: float) -> None:
        self.label_smoothing, self.weight = label_smoothing, weight

    @override
    def __call__(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        one, other = (model(batch.source, batch.target_in) for _ in range(2))
        losses = [
            cross_entropy(logits, batch.target_out, label_smoothing=self.label_smoothing) for logits in (one, other)
        ]
        apart = symmetric_divergence(one, other, batch.target_out)
        return 0.5 * (losses[0] + losses[1]) + 0.25 * self.weight * apart


def cross_entropy(
    logits: Float[Tensor, "B T V"], labels: Int[Tensor, "B T"], *, label_smoothing: float
) -> Float[Tensor, ""]:
    """Σ −Σ_k q_k log p_k over real tokens, q = (1 − ε) one-hot + ε/V.

    Szegedy et al. 2016, §7; Vaswani et al. 2017, §5.4. In float32 at least, whatever the logits' precision.
    """
    logits = logits.flatten(0, 1)  # B T V -> BT V
    if logits.dtype in (torch.bfloat16, torch.float16):
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


def symmetric_divergence(
    one: Float[Tensor, "B T V"], other: Float[Tensor, "B T V"], labels: Int[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Σ KL(p ‖ q) + KL(q ‖ p) = Σ Σ_k (p_k − q_k) (log p_k − log q_k) over real target tokens."""
    real = labels != PAD
    dtype = torch.promote_types(one.dtype, torch.float32)
    p, q = (logits.to(dtype).log_softmax(dim=-1) for logits in (one, other))
    apart = ((p.exp() - q.exp()) * (p - q)).sum(dim=-1)  # B T V -> B T
    # Not apart[real], whose size a GPU would have to tell first.
    return torch.where(real, apart, 0.0).sum()


OBJECTIVES: dict[str, Callable[[Any], Objective]] = {
    "cross_entropy": lambda config: CrossEntropy(label_smoothing=config.label_smoothing),
    "r_drop": lambda config: RDrop(label_smoothing=config.label_smoothing, weight=config.weight),
}


def build_objective(config: ObjectiveConfig) -> Objective:
    """The objective that the configuration names."""
    return lookup(OBJECTIVES, config.name, key="objective.name")(config)
