import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.shown import values_of
from torch import Tensor
from torch.autograd import gradcheck

from transformer_mt.attention import linear
from transformer_mt.attention.build_attention import build_attention
from transformer_mt.attention.linear import LinearAttention, SummedKeyValues, feature_map
from transformer_mt.attention.multihead import KeyValues
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


def padding(*lengths: int, columns: int) -> Tensor:
    """True at the first `lengths` of the columns."""
    return torch.arange(columns) < torch.tensor(lengths)[:, None]


def weights_of(attention: LinearAttention, states: Tensor, key_values: KeyValues) -> Tensor:
    with values_of("α_j") as shown:
        attention(states, key_values)
    ((_, weights),) = shown
    return weights


def phi(x: Tensor) -> Tensor:
    """elu(x) + 1, by its cases."""
    return torch.where(x > 0.0, x + 1.0, x.exp())


def attended(attention: LinearAttention, x: Tensor, y: Tensor, real: Tensor) -> Tensor:
    """The attention of one sentence by its weights, one query and one head at a time."""
    projections = attention.projections
    rows = []
    for i in range(len(x)):
        heads = []
        for head in range(HEADS):
            part = slice(head * D, head * D + D)
            query = phi(projections.query_projection.weight[part] @ x[i])
            seen = [j for j in range(len(y)) if real[j] and (j <= i or not attention.causal)]
            keys = [phi(projections.key_projection.weight[part] @ y[j]) for j in seen]
            values = [attention.value_projection.weight[part] @ y[j] for j in seen]
            total = sum((query @ key for key in keys), torch.tensor(0.0))
            mixed = sum((query @ key * value for key, value in zip(keys, values, strict=True)), torch.zeros(D))
            heads.append(mixed / total if seen else mixed)
        rows.append(attention.output_projection(torch.cat(heads)))
    return torch.stack(rows)


@given(x=st.floats(-700.0, 700.0))
def test_the_feature_map_is_elu_plus_one_and_never_negative(x: float) -> None:
    mapped = feature_map(torch.full((1, 1, 1, 1), x))
    torch.testing.assert_close(mapped, phi(torch.full((1, 1, 1, 1), x)), rtol=0.0, atol=1e-12)
    assert mapped.item() >= 0.0
    assert x < -30.0 or mapped.item() > 0.0  # below, exp(x) is lost beside the one


@either_form
@any_chunk
@torch.no_grad()
def test_linear_attention_follows_the_formula(causal: bool, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_CHUNK", chunk)
    attention, states, real = build(causal=causal), torch.randn(2, 7, WIDTH), padding(7, 4, columns=7)
    output = attention(states, attention.key_values(states, real))
    for b in range(2):
        torch.testing.assert_close(output[b], attended(attention, states[b], states[b], real[b]), **TOLERANCE)


@torch.no_grad()
def test_linear_attention_to_a_memory_follows_the_formula() -> None:
    attention = build_attention(AttentionConfig(kind="linear", heads=HEADS), width=WIDTH)("cross")
    assert isinstance(attention, LinearAttention)
    states, memory, real = torch.randn(2, 5, WIDTH), torch.randn(2, 7, WIDTH), padding(7, 4, columns=7)
    output = attention(states, attention.key_values(memory, real))
    for b in range(2):
        torch.testing.assert_close(output[b], attended(attention, states[b], memory[b], real[b]), **TOLERANCE)


@either_form
@given(length=st.integers(1, 11), seed=st.integers(0, 999))
def test_weights_are_positive_sum_to_one_and_make_the_output(causal: bool, length: int, seed: int) -> None:
    torch.manual_seed(seed)
    attention, states = build(causal=causal), torch.randn(2, length, WIDTH)
    key_values = attention.key_values(states)
    weights = weights_of(attention, states, key_values)
    seen = attention.graph.mask(length, length, device=weights.device).expand_as(weights)
    assert (weights[seen] > 0.0).all()
    assert (weights[~seen] == 0.0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, HEADS, length), **TOLERANCE)
    expected = attention.output(weights @ key_values.values)
    torch.testing.assert_close(attention(states, key_values), expected, **TOLERANCE)


@pytest.mark.parametrize("length", [63, 64, 65, 131])
def test_running_sums_are_causal_weights_at_any_length(length: int) -> None:
    attention, states = build(causal=True), torch.randn(2, length, WIDTH)
    key_values = attention.key_values(states)
    expected = attention.output(weights_of(attention, states, key_values) @ key_values.values)
    torch.testing.assert_close(attention(states, key_values), expected, **TOLERANCE)


@any_chunk
def test_the_size_of_chunks_changes_no_gradient(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    attention, states = build(causal=True), torch.randn(2, 7, WIDTH, requires_grad=True)
    inputs = [states, *attention.parameters()]

    def gradients() -> tuple[Tensor, ...]:
        return torch.autograd.grad(attention(states, attention.key_values(states)).square().sum(), inputs)

    expected = gradients()
    monkeypatch.setattr(linear, "_CHUNK", chunk)
    torch.testing.assert_close(gradients(), expected, **TOLERANCE)


def test_a_causal_attention_sees_nothing_of_the_future() -> None:
    attention, states = build(causal=True), torch.randn(2, 7, WIDTH)
    output = attention(states, attention.key_values(states))
    for now in range(7):
        changed = torch.where(torch.arange(7)[:, None] <= now, states, 100.0)
        found = attention(changed, attention.key_values(changed))
        torch.testing.assert_close(found[:, : now + 1], output[:, : now + 1], **TOLERANCE)


# Keys and values that are kept


@any_chunk
@given(parts=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_a_sentence_read_in_parts_is_the_sentence_read_whole(chunk: int, parts: list[int]) -> None:
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


def test_the_past_is_of_one_size_however_long_it_is() -> None:
    attention = build(causal=True)
    key_values = attention.key_values(torch.randn(2, 50, WIDTH)).append(attention.key_values(torch.randn(2, 1, WIDTH)))
    assert key_values.sums is not None
    assert key_values.sums.shape == (2, HEADS, D, D + 1)
    assert key_values.keys.shape == (2, HEADS, 1, D)


@either_form
@pytest.mark.parametrize("masked", [True, False])
def test_selected_rows_of_keys_and_values_are_those_sentences_alone(causal: bool, masked: bool) -> None:
    attention, states, rows = build(causal=causal), torch.randn(3, 5, WIDTH), torch.tensor([2, 0, 2, 1])
    key_values = attention.key_values(states, padding(5, 4, 2, columns=5) if masked else None)
    expected = attention(states, key_values)[rows]
    torch.testing.assert_close(attention(states[rows], key_values.select(rows)), expected, **TOLERANCE)


def test_selected_rows_keep_their_past() -> None:
    attention, past, states = build(causal=True), torch.randn(3, 5, WIDTH), torch.randn(3, 2, WIDTH)
    rows = torch.tensor([2, 0, 2, 1])
    key_values = attention.key_values(past).append(attention.key_values(states))
    selected = key_values.select(rows)
    assert isinstance(selected, SummedKeyValues)
    torch.testing.assert_close(attention(states[rows], selected), attention(states, key_values)[rows], **TOLERANCE)


def test_the_weights_of_a_past_that_has_been_summed_up_cannot_be_seen() -> None:
    attention, states = build(causal=True), torch.randn(2, 5, WIDTH)
    key_values = attention.key_values(states).append(attention.key_values(states))
    with pytest.raises(AssertionError, match="watch a pass that reads all tokens at once"):
        weights_of(attention, states, key_values)


# Masks and gradients


@either_form
def test_masked_positions_have_no_influence_and_get_no_gradient(causal: bool) -> None:
    attention, mask = build(causal=causal), padding(7, 4, columns=7)
    x, y = torch.randn(2, 7, WIDTH), torch.randn(2, 7, WIDTH, requires_grad=True)
    output = attention(x, attention.key_values(y, mask))
    changed = torch.where(mask[..., None], y, 100.0)
    torch.testing.assert_close(attention(x, attention.key_values(changed, mask)), output, rtol=0.0, atol=0.0)
    (gradient,) = torch.autograd.grad(output.square().sum(), y)
    assert (gradient[~mask] == 0.0).all()
    assert (gradient[mask] != 0.0).any()


@either_form
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_sentence_of_padding_alone_gives_zeros_and_finite_gradients(causal: bool, dtype: torch.dtype) -> None:
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


@either_form
@any_chunk
def test_the_gradients_are_the_derivatives(causal: bool, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_CHUNK", chunk)
    attention, mask = build(causal=causal), padding(3, 2, 0, columns=3)
    states = torch.randn(3, 3, WIDTH, requires_grad=True)

    def attend(states: Tensor, *_: Tensor) -> Tensor:
        output: Tensor = attention(states, attention.key_values(states, mask))
        return output

    # gradcheck varies its inputs in place, so the module sees its parameters change.
    assert gradcheck(attend, (states, *attention.parameters()), fast_mode=True)


@either_form
@pytest.mark.parametrize("scale", [1e-3, 30.0, 1e3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_states_of_any_size_give_finite_outputs_and_gradients(causal: bool, scale: float, dtype: torch.dtype) -> None:
    attention = build(causal=causal).to(dtype)
    states = (scale * torch.randn(2, 7, WIDTH)).to(dtype).requires_grad_()
    output = attention(states, attention.key_values(states))
    assert output.isfinite().all()
    (gradient,) = torch.autograd.grad(output.sum(), states)
    assert gradient.isfinite().all()
