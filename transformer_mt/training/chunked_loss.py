"""The cross-entropy of an output layer's logits, of which only some hundred rows exist at a time.

The logits of a batch and their gradient take more memory than all the rest of a training, and on a CPU they take longer
to move than to compute. Here the output layer and the loss are one function. Its gradient is made in the
forward pass, while the logits of a block of rows lie in the processor's cache.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.attention.shapes import States, Target
from transformer_mt.device import as_computed
from transformer_mt.tokenizer.symbols import PAD

Sum = Float[Tensor, ""]

# Rows for an efficient product; a GPU is busy only with more.
CPU_ROWS, GPU_ROWS = 512, 8192
LARGEST_EXPONENT = 60.0  # exp(60) times any size of vocabulary is finite in float32, and exp(−60) not yet zero


def chunked_linear_cross_entropy(
    states: States, output: nn.Linear, labels: Target, *, tokens: int, label_smoothing: float
) -> Sum:
    """The value and the gradients of `cross_entropy` of `output(states)`, where `tokens` of the labels are no padding.

    Padding is not computed at all. Not for float16, in which a gradient that is made before the loss is scaled has no
    room.
    """
    # The number of tokens is given: a GPU would have to be waited for.
    real = (labels.flatten() == PAD).int().argsort(stable=True)[:tokens]
    inputs = as_computed(states.flatten(0, 1).index_select(0, real), output.weight, output.bias)
    loss: Tensor = _CrossEntropy.apply(*inputs, labels.flatten()[real], label_smoothing)  # type: ignore[no-untyped-call]
    return loss


class _CrossEntropy(torch.autograd.Function):
    """∂loss/∂z_k = p_k − (1 − ε) [k = label] − ε/V, z the logits of a row; products of it are all other gradients.

    p_k = e_k / Σ e, e_k = exp(z_k). Factors of a whole row, or of all k, act on the small factors of the products and
    not on the V numbers of each row: 1 / Σ e, the mean of z, and ε/V.
    """

    @staticmethod
    @override
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        precise = torch.promote_types(states.dtype, torch.float32)  # in which sums are made
        means = weight.mean(dim=0, dtype=precise), bias.mean(dtype=precise)
        loss = torch.zeros((), dtype=precise, device=states.device)
        gradients = [torch.zeros_like(tensor, dtype=precise) for tensor in (states, weight, bias)]
        of_states, of_weight, of_bias = gradients
        rows = CPU_ROWS if states.device.type == "cpu" else GPU_ROWS
        # Memory that is allocated anew is slower to get than to compute with.
        computed = states.new_empty(min(rows, len(states)), len(bias))
        summed = computed if states.dtype == precise else torch.empty_like(computed, dtype=precise)
        # A GPU would have to be waited for.
        needs_shift = states.device.type != "cpu" or bool(_largest_logit(states, weight, bias) > LARGEST_EXPONENT)
        for first in range(0, len(states), rows):
            h, label, of_h = (x[first : first + rows] for x in (states, labels[:, None], of_states))
            low, z = computed[: len(h)], summed[: len(h)]
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
        return *(kept * upstream[0].to(kept.dtype) for kept in ctx.saved_tensors), None, None


def _largest_logit(states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """No logit is larger, nor less than the negative: |h·w + b| ≤ ‖h‖ ‖w‖ + |b|."""
    if not len(states):
        return torch.zeros(())
    precise = torch.promote_types(states.dtype, torch.float32)
    lengths = [torch.linalg.vector_norm(x, dim=-1, dtype=precise).max() for x in (states, weight)]
    return lengths[0] * lengths[1] + bias.abs().max()


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """total ← total + left right, in the precision of the total."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right
