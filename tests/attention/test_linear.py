import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.shown import weights_of
from support.tiny import padding
from torch import Tensor

from transformer_mt.attention import linear
from transformer_mt.attention.build_attention import build_attention
from transformer_mt.attention.linear import LinearAttention
from transformer_mt.config.sections import AttentionConfig

pytestmark = pytest.mark.usefixtures("float64")

WIDTH, HEADS, D = 6, 3, 2
TOLERANCE = {"rtol": 0.0, "atol": 1e-10}

either_form = pytest.mark.parametrize("causal", [True, False])
any_chunk = pytest.mark.parametrize("chunk", [1, 2, 3, 100])


def build(*, causal: bool) -> LinearAttention:
    attention = build_attention(AttentionConfig(kind="linear", heads=HEADS), width=WIDTH)(
        "decoder" if causal else "encoder"
    )
    assert isinstance(attention, LinearAttention)
    return attention


def phi(x: Tensor) -> Tensor:
    """elu(x) + 1, by its cases."""
    return torch.where(x > 0.0, x + 1.0, x.exp())


def attended(attention: LinearAttention, x: Tensor, real: Tensor) -> Tensor:
    """Self-attention of one sentence from its weights, head by head."""
    projections, heads = attention.projections, []
    seen = real.expand(len(x), -1).tril() if attention.causal else real.expand(len(x), -1)
    for head in range(HEADS):
        part = slice(head * D, head * D + D)
        queries = phi(x @ projections.query_projection.weight[part].T)
        keys = phi(x @ projections.key_projection.weight[part].T)
        products = torch.where(seen, queries @ keys.T, 0.0)
        weights = products / products.sum(dim=-1, keepdim=True)
        heads.append(weights @ x @ attention.value_projection.weight[part].T)
    output: Tensor = attention.output_projection(torch.cat(heads, dim=-1))
    return output


@either_form
@any_chunk
@torch.no_grad()
def test_linear_attention_follows_the_formula(causal: bool, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_CHUNK", chunk)
    attention, states, real = build(causal=causal), torch.randn(2, 7, WIDTH), padding(7, 4)
    output = attention(states, attention.key_values(states, real))
    for b in range(2):
        torch.testing.assert_close(output[b], attended(attention, states[b], real[b]), **TOLERANCE)
    key_values = attention.key_values(states, real)
    shown = weights_of(attention, states, key_values)
    torch.testing.assert_close(attention.output(shown @ key_values.values), output, **TOLERANCE)


# Cached keys and values


@any_chunk
@given(parts=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_reading_in_parts_equals_reading_at_once(chunk: int, parts: list[int]) -> None:
    attention, states = build(causal=True), torch.randn(2, sum(parts), WIDTH)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(linear, "_CHUNK", chunk)
        whole, key_values, outputs = attention(states, attention.key_values(states)), None, []
        for part in states.split(parts, dim=1):
            new = attention.key_values(part)
            key_values = new if key_values is None else key_values.append(new)
            outputs.append(attention(part, key_values))
        assert key_values is not None
    torch.testing.assert_close(torch.cat(outputs, dim=1), whole, **TOLERANCE)


def test_the_past_has_constant_size() -> None:
    attention = build(causal=True)
    key_values = attention.key_values(torch.randn(2, 50, WIDTH)).append(attention.key_values(torch.randn(2, 1, WIDTH)))
    assert key_values.sums is not None
    assert key_values.sums.shape == (2, HEADS, D, D + 1)
    assert key_values.keys.shape == (2, HEADS, 1, D)


def test_the_weights_of_a_summed_past_cannot_be_watched() -> None:
    attention, states = build(causal=True), torch.randn(2, 5, WIDTH)
    key_values = attention.key_values(states).append(attention.key_values(states))
    with pytest.raises(AssertionError, match="watch a pass that reads all tokens at once"):
        weights_of(attention, states, key_values)


# Masks and gradients


@either_form
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_padding_only_yields_zeros_and_finite_gradients(causal: bool, dtype: torch.dtype) -> None:
    attention = build(causal=causal).to(dtype)
    states = torch.randn(2, 5, WIDTH, dtype=dtype, requires_grad=True)
    key_values = attention.key_values(states, padding(5, 0, columns=5))
    output = attention(states, key_values)
    assert torch.equal(output[1], attention.output_projection.bias.expand(5, WIDTH))
    assert (weights_of(attention, states, key_values)[1] == 0.0).all()
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
        output.square().sum().backward()
    for gradient in (states.grad, *(p.grad for p in attention.parameters())):
        assert gradient is not None
        assert gradient.isfinite().all()
