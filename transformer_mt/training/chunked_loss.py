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
        means = weight.mean(dim=0, dtype=precise), bias.mean(dtype=precise)
        loss = torch.zeros((), dtype=precise, device=states.device)
        gradients = [torch.zeros_like(tensor, dtype=precise) for tensor in (states, weight, bias)]
        of_states, of_weight, of_bias = gradients
        rows = CPU_ROWS if states.device.type == "cpu" else GPU_ROWS
        # Reuse buffers: allocating them would take longer than the computation.
        computed = states.new_empty(min(rows, len(states)), len(bias))
        summed = computed if states.dtype == precise else torch.empty_like(computed, dtype=precise)
        # On a GPU always shift: reading the bound would wait for it.
        needs_shift = states.device.type != "cpu" or bool(_largest_logit(states, weight, bias) > LARGEST_EXPONENT)
        for first in range(0, len(states), rows):
            h, label, of_h = (x[first : first + rows] for x in (states, labels[:, None], of_states))
            low = computed[: len(h)]
            z = summed[: len(h)]
            z.copy_(torch.mm(h, weight.t(), out=low)).add_(bias)
            top = z.amax(dim=-1, keepdim=True) if needs_shift else 0.0
            chosen = z.gather(1, label)
            e = z.sub_(top).exp_() if needs_shift else z.exp_()
            total = e.sum(dim=-1, keepdim=True)
            mean = (h.to(precise) @ means[0] + means[1])[:, None]
            loss += (top + total.log() - (1 - smoothing) * chosen - smoothing * mean).sum()
            if any(ctx.needs_input_grad):
                e = low.copy_(e.scatter_add_(1, label, (smoothing - 1) * total))
                torch.div(e @ weight, total, out=of_h)
                _add_product(of_weight, e.t(), (h / total).to(h.dtype))
                _add_product(of_bias[:, None], e.t(), (1 / total).to(h.dtype))
        if any(ctx.needs_input_grad):
            of_states -= smoothing * means[0]
            of_weight -= smoothing / len(bias) * states.sum(dim=0, dtype=precise)
            of_bias -= smoothing / len(bias) * len(states)
            ctx.save_for_backward(*(gradient.to(states.dtype) for gradient in gradients))
        return loss

    @staticmethod
    @override
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *(kept * upstream[0].to(kept.dtype) for kept in ctx.saved_tensors)


def _largest_logit(states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """An upper bound for the absolute value of all logits: |h·w + b| ≤ ‖h‖ ‖w‖ + |b|."""
    if not len(states):
        return torch.zeros(())
    precise = torch.promote_types(states.dtype, torch.float32)
    lengths = [torch.linalg.vector_norm(x, dim=-1, dtype=precise).max() for x in (states, weight)]
    return lengths[0] * lengths[1] + bias.abs().max()


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """total ← total + left right, in the precision of `total`."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right
