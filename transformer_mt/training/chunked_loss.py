"""Cross-entropy fused with the output layer: only a block of logits exists at a time.

The logits of a batch and their gradient take more memory than the rest of training, and on a CPU they take longer to
move than to compute. So the output layer and the loss are one function. It computes the gradient in the forward pass,
while the logits of a block of rows are in the processor's cache. Padding is skipped.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.attention.shapes import States, Target
from transformer_mt.ground.device import as_computed
from transformer_mt.tokenizer.symbols import PAD

Sum = Float[Tensor, ""]

# Rows per block; a GPU needs more to be busy.
CPU_ROWS = 512
GPU_ROWS = 8192
LARGEST_EXPONENT = 60.0  # in float32, exp(60) times any vocabulary size is finite, and exp(−60) is not zero


def chunked_linear_cross_entropy(
    states: States, output: nn.Linear, labels: Target, *, tokens: int, label_smoothing: float
) -> Sum:
    """`cross_entropy` of `output(states)`, with its gradients; `tokens` is the number of labels that are not padding.

    States are B T D, labels B T.
    """
    # Counting the labels that are not padding would synchronise with the GPU.
    real = (labels.flatten() == PAD).int().argsort(stable=True)[:tokens]
    inputs = as_computed(states.flatten(0, 1).index_select(0, real), output.weight, output.bias)
    apply: Any = _CrossEntropy.apply  # untyped in some versions of torch
    loss: Tensor = apply(label_smoothing, labels.flatten()[real], *inputs)
    return loss


class _CrossEntropy(torch.autograd.Function):
    """∂loss/∂z_k = p_k − (1 − ε) [k = label] − ε/V, z the logits of a row; all other gradients are products of it.

    p_k = e_k / Σ e, e_k = exp(z_k). Factors that are constant over a row (1 / Σ e, the mean of z) or over all k (ε/V)
    are applied to the small operands of these products, not to the V numbers of each row. With autograd instead, block
    by block, a step of the default model would take 17 % longer.
    """

    @staticmethod
    @override
    def forward(ctx: Any, smoothing: float, labels: Tensor, states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Return the loss, summed over N rows: states N D, weight V D, bias V, labels N."""
        precise = torch.promote_types(states.dtype, torch.float32)  # the type of sums
        mean_weight, mean_bias = weight.mean(dim=0, dtype=precise), bias.mean(dtype=precise)
        loss = mean_bias.new_zeros(())
        gradients = [torch.zeros_like(tensor, dtype=precise) for tensor in (states, weight, bias)]
        of_states, of_weight, of_bias = gradients
        rows = CPU_ROWS if states.device.type == "cpu" else GPU_ROWS
        # Reuse buffers: allocating them would take longer than the computation.
        computed = states.new_empty(min(rows, len(states)), len(bias))
        summed = computed.to(precise)  # the same buffer, unless the types differ
        shift = _needs_shift(states, weight, bias)
        for h, label, of_h in zip(*(x.split(rows) for x in (states, labels[:, None], of_states)), strict=True):
            low = computed[: len(h)]
            z = summed[: len(h)].copy_(torch.mm(h, weight.t(), out=low)).add_(bias)
            chosen = z.gather(1, label)
            mean = (h.to(precise) @ mean_weight + mean_bias)[:, None]
            e, total, log_total = _exponentials(z, shift=shift)
            loss += (log_total - (1 - smoothing) * chosen - smoothing * mean).sum()
            scaled = low.copy_(e.scatter_add_(1, label, (smoothing - 1) * total))  # ∂loss/∂z Σ e, without ε/V
            torch.div(scaled @ weight, total, out=of_h)
            _add_product(of_weight, scaled.t(), h / total)
            _add_product(of_bias[:, None], scaled.t(), 1 / total)
        of_states -= smoothing * mean_weight
        of_weight -= smoothing / len(bias) * states.sum(dim=0, dtype=precise)
        of_bias -= smoothing / len(bias) * len(states)
        ctx.save_for_backward(*(gradient.to(states.dtype) for gradient in gradients))
        return loss

    @staticmethod
    @override
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *(kept * upstream[0].to(kept.dtype) for kept in ctx.saved_tensors)


def _needs_shift(states: Tensor, weight: Tensor, bias: Tensor) -> bool:
    """False if no logit is too large for exp: |h·w + b| ≤ ‖h‖ ‖w‖ + |b|. On a GPU, reading the bound would wait."""
    if states.device.type != "cpu" or not len(states):
        return True
    precise = torch.promote_types(states.dtype, torch.float32)
    lengths = [torch.linalg.vector_norm(x, dim=-1, dtype=precise).max() for x in (states, weight)]
    return bool(lengths[0] * lengths[1] + bias.abs().max() > LARGEST_EXPONENT)


def _exponentials(z: Tensor, *, shift: bool) -> tuple[Tensor, Tensor, Tensor]:
    """e = exp(z), in place; Σ e; and log Σ exp(z). With `shift`, e is divided by its largest value."""
    top = z.amax(dim=-1, keepdim=True) if shift else 0.0
    e = z.sub_(top).exp_() if shift else z.exp_()
    total = e.sum(dim=-1, keepdim=True)
    return e, total, top + total.log()


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """total ← total + left right, in the precision of `total`."""
    right = right.to(left.dtype)
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right
