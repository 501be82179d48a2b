"""Our attention gives the numbers of the layers that a reader of a textbook has written.

The layers are in the style of chapter 3 of Raschka, *Build a Large Language Model (From Scratch)*, written afresh.
"""

import pytest
import torch
from torch import Tensor, nn

from transformer_mt.attention.build_attention import build_attention
from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.config.sections import AttentionConfig

pytestmark = pytest.mark.usefixtures("float64")

WIDTH, LENGTH = 6, 7
TOLERANCE = {"rtol": 0.0, "atol": 1e-10}


class CourseSelfAttention(nn.Module):
    """One head that sees everything."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        weights: Tensor = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


class CourseCausalAttention(CourseSelfAttention):
    """One head that does not see the future, with dropout on its weights."""

    def __init__(self, d_in: int, d_out: int, longest: int, dropout: float) -> None:
        super().__init__(d_in, d_out)
        self.dropout = nn.Dropout(dropout)
        self.mask: Tensor
        self.register_buffer("mask", torch.ones(longest, longest).triu(diagonal=1))

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(self.mask.bool()[:length, :length], -torch.inf)
        weights: Tensor = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return weights @ values


class CourseMultiHeadAttention(nn.Module):
    """Several causal heads in one pass: the width is cut with `view`, and the heads come before the tokens."""

    def __init__(self, d_in: int, d_out: int, longest: int, dropout: float, heads: int) -> None:
        super().__init__()
        self.heads, self.head_width = heads, d_out // heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.mask: Tensor
        self.register_buffer("mask", torch.ones(longest, longest).triu(diagonal=1))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape

        def split(projected: Tensor) -> Tensor:
            return projected.view(batch, length, self.heads, self.head_width).transpose(1, 2)

        queries, keys, values = split(self.W_query(x)), split(self.W_key(x)), split(self.W_value(x))
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(self.mask.bool()[:length, :length], -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        contexts = (weights @ values).transpose(1, 2).contiguous().view(batch, length, self.heads * self.head_width)
        output: Tensor = self.out_proj(contexts)
        return output


Pairs = list[tuple[nn.Parameter, nn.Parameter]]


def ours_like(theirs: nn.Module, *, heads: int, causal: bool) -> tuple[MultiHeadAttention, Pairs]:
    """Our attention with the weights of theirs, and which parameter is which."""
    config = AttentionConfig(heads=heads, position="none", dropout=0.0)
    ours = build_attention(config, width=WIDTH)("decoder" if causal else "encoder")
    assert isinstance(ours, MultiHeadAttention)
    projections = ours.projections
    pairs = [
        (projections.query_projection.weight, theirs.W_query.weight),
        (projections.key_projection.weight, theirs.W_key.weight),
        (ours.value_projection.weight, theirs.W_value.weight),
    ]
    with torch.no_grad():
        if isinstance(theirs, CourseMultiHeadAttention):
            pairs += [
                (ours.output_projection.weight, theirs.out_proj.weight),
                (ours.output_projection.bias, theirs.out_proj.bias),
            ]
        else:  # a single head needs no projection
            ours.output_projection.weight.copy_(torch.eye(WIDTH))
            ours.output_projection.bias.zero_()
        for our_parameter, their_parameter in pairs:
            our_parameter.copy_(their_parameter)
    return ours, pairs


def layer(name: str) -> tuple[nn.Module, MultiHeadAttention, Pairs]:
    heads, causal, theirs = {
        "self-attention": (1, False, CourseSelfAttention(WIDTH, WIDTH)),
        "causal attention": (1, True, CourseCausalAttention(WIDTH, WIDTH, 11, 0.0)),
        "multi-head attention": (3, True, CourseMultiHeadAttention(WIDTH, WIDTH, 11, 0.0, 3)),
    }[name]
    return theirs, *ours_like(theirs, heads=heads, causal=causal)


@pytest.mark.parametrize("name", ["self-attention", "causal attention", "multi-head attention"])
@pytest.mark.parametrize("training", [True, False])
def test_our_attention_gives_the_numbers_and_gradients_of_the_textbook(name: str, training: bool) -> None:
    theirs, ours, pairs = layer(name)
    theirs.train(training)
    ours.train(training)
    x = torch.randn(2, LENGTH, WIDTH, requires_grad=True)
    direction = torch.randn(2, LENGTH, WIDTH)
    expected, found = theirs(x), ours(x, ours.key_values(x))
    torch.testing.assert_close(found, expected, **TOLERANCE)
    expected_gradients = torch.autograd.grad((expected * direction).sum(), [x, *(pair[1] for pair in pairs)])
    found_gradients = torch.autograd.grad((found * direction).sum(), [x, *(pair[0] for pair in pairs)])
    torch.testing.assert_close(found_gradients, expected_gradients, **TOLERANCE)
