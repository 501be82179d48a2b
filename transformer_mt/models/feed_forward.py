"""The feed-forward network with ReLU in place, with its gradient written out: for training on a CPU.

Its hidden layer is the largest tensor of a Transformer's layer. Here there is one of that size on the way forward and
one on the way back, where the readable form makes two and two.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.device import as_computed


def relu_network(x: Float[Tensor, "*N D"], first: nn.Linear, second: nn.Linear) -> Float[Tensor, "*N D"]:
    """max(0, x W_1 + b_1) W_2 + b_2."""
    inputs = as_computed(x, first.weight, first.bias, second.weight, second.bias)
    output: Tensor = _ReLUNetwork.apply(*inputs)  # type: ignore[no-untyped-call]
    return output


class _ReLUNetwork(torch.autograd.Function):
    """∂/∂hidden passes where hidden > 0."""

    @staticmethod
    @override
    def forward(ctx: Any, x: Tensor, weight_1: Tensor, bias_1: Tensor, weight_2: Tensor, bias_2: Tensor) -> Tensor:
        rows = x.flatten(0, -2)
        hidden = (rows @ weight_1.t()).add_(bias_1).relu_()
        ctx.save_for_backward(rows, hidden, weight_1, weight_2)
        return torch.addmm(bias_2, hidden, weight_2.t()).view(*x.shape[:-1], len(bias_2))

    @staticmethod
    @override
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, ...]:
        rows, hidden, weight_1, weight_2 = ctx.saved_tensors
        gradient = upstream[0].flatten(0, -2)
        of_hidden = gradient @ weight_2
        torch.ops.aten.threshold_backward.grad_input(of_hidden, hidden, 0, grad_input=of_hidden)
        of_x = (of_hidden @ weight_1).view(*upstream[0].shape[:-1], rows.shape[1])
        # The larger side of the product last is faster.
        return of_x, (rows.t() @ of_hidden).t(), of_hidden.sum(dim=0), gradient.t() @ hidden, gradient.sum(dim=0)
