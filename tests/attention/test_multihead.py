import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.nn import functional as F

from transformer_mt.attention.graphs import GRAPHS, build_graph
from transformer_mt.attention.multihead import Context, MultiHeadAttention, masked_softmax
from transformer_mt.attention.observing import observing
from transformer_mt.attention.scores import SCORES, build_score

pytestmark = pytest.mark.usefixtures("float64")

WIDTH, HEADS, D = 6, 3, 2
TOLERANCE = {"rtol": 0.0, "atol": 1e-10}


def build(score: str = "scaled_dot", graph: str = "complete", *, dropout: float = 0.0) -> MultiHeadAttention:
    return MultiHeadAttention(
        build_score(score, width=WIDTH, heads=HEADS), build_graph(graph), width=WIDTH, heads=HEADS, dropout=dropout
    )


FUSED = [name for name in SCORES if build(name).score.scale is not None]

every_score = pytest.mark.parametrize("score", SCORES)
every_graph = pytest.mark.parametrize("graph", GRAPHS)
either_way = pytest.mark.parametrize("way", ["attend", "attend_fused"])
sizes = st.integers(1, 7)


def padding(*lengths: int, columns: int) -> Tensor:
    """True at the first `lengths` of the columns."""
    return torch.arange(columns) < torch.tensor(lengths)[:, None]


def weights_of(attention: MultiHeadAttention, states: Tensor, context: Context) -> Tensor:
    seen: list[Tensor] = []
    with observing(lambda _, weights: seen.append(weights)):
        attention(states, context)
    (weights,) = seen
    return weights


def with_gradients(function: Callable[..., Tensor], *inputs: Tensor) -> tuple[Tensor, ...]:
    """The output, then the gradient of one random combination of its elements by every input."""
    inputs = tuple(x.detach().requires_grad_() for x in inputs)
    output = function(*inputs)
    direction = torch.randn(output.shape, generator=torch.Generator().manual_seed(3))
    return output, *torch.autograd.grad((output * direction).sum(), inputs)


# The readable attention against torch


@either_way
@given(batch=sizes, queries=sizes, keys=sizes, masked=st.booleans(), seed=st.integers(0, 999))
def test_attention_equals_that_of_torch(way: str, batch: int, queries: int, keys: int, masked: bool, seed: int) -> None:
    torch.manual_seed(seed)
    attention = build()
    mask = torch.rand(batch, 1, queries, keys) < 0.5 if masked else torch.ones(1, 1, queries, keys, dtype=torch.bool)
    mask[..., 0] = True
    inputs = [torch.randn(batch, HEADS, n, D) for n in (queries, keys, keys)]
    found = with_gradients(lambda q, k, v: getattr(attention, way)(q, Context(k, v), mask), *inputs)
    expected = with_gradients(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask if masked else None), *inputs
    )
    torch.testing.assert_close(found, expected, **TOLERANCE)


@pytest.mark.parametrize("score", FUSED)
@every_graph
@pytest.mark.parametrize("training", [True, False])
def test_the_fused_kernel_equals_the_readable_attention(score: str, graph: str, training: bool) -> None:
    attention = build(score, graph).train(training)
    mask = build_graph(graph).mask(5, 7, device=torch.device("cpu")) & padding(7, 4, columns=7)[:, None, None]
    inputs = [attention.score.queries(torch.randn(2, 5, WIDTH)), attention.score.keys(torch.randn(2, 7, WIDTH))]
    inputs.append(torch.randn(2, HEADS, 7, D))
    readable = with_gradients(lambda q, k, v: attention.attend(q, Context(k, v), mask), *inputs)
    fused = with_gradients(lambda q, k, v: attention.attend_fused(q, Context(k, v), mask), *inputs)
    torch.testing.assert_close(fused, readable, **TOLERANCE)


def copied_to_torch(attention: MultiHeadAttention) -> nn.MultiheadAttention:
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    with torch.no_grad():
        for theirs_parameter, ours in pairs(attention, theirs):
            theirs_parameter.copy_(torch.cat(ours))
    return theirs


def pairs(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> list[tuple[Tensor, list[Tensor]]]:
    score, output = ours.score, ours.output_projection
    stacked = [score.query_projection.weight, score.key_projection.weight, ours.value_projection.weight]
    return [
        (theirs.in_proj_weight, stacked),
        (theirs.out_proj.weight, [output.weight]),
        (theirs.out_proj.bias, [output.bias]),
    ]


@pytest.mark.parametrize("graph", ["complete", "causal"])
@pytest.mark.parametrize("training", [True, False])
def test_multi_head_attention_equals_that_of_torch(graph: str, training: bool) -> None:
    ours = build(graph=graph).train(training)
    theirs = copied_to_torch(ours).train(training)
    mask = padding(7, 4, columns=7)
    states = torch.randn(2, 7, WIDTH)
    far = None if graph == "complete" else torch.ones(7, 7, dtype=torch.bool).triu(1)

    def attend_ours(x: Tensor, y: Tensor) -> Tensor:
        return ours(x, ours.context(y, mask))

    def attend_theirs(x: Tensor, y: Tensor) -> Tensor:
        return theirs(x, y, y, key_padding_mask=~mask, attn_mask=far, average_attn_weights=False)[0]

    inputs = states, torch.randn(2, 7, WIDTH)
    torch.testing.assert_close(
        with_gradients(attend_ours, *inputs), with_gradients(attend_theirs, *inputs), **TOLERANCE
    )
    with torch.no_grad():
        expected = theirs(*inputs, inputs[1], key_padding_mask=~mask, attn_mask=far, average_attn_weights=False)[1]
    torch.testing.assert_close(weights_of(ours, inputs[0], ours.context(inputs[1], mask)), expected, **TOLERANCE)
    attend_ours(*inputs).square().sum().backward()
    attend_theirs(*inputs).square().sum().backward()
    for theirs_parameter, parameters in pairs(ours, theirs):
        torch.testing.assert_close(torch.cat([p.grad for p in parameters]), theirs_parameter.grad, **TOLERANCE)


# What attention is, whatever the score and the graph


@every_score
@every_graph
@torch.no_grad()
def test_attention_is_message_passing_along_the_edges_of_the_graph(score: str, graph: str) -> None:
    attention = build(score, graph)
    x, y, real = torch.randn(2, 5, WIDTH), torch.randn(2, 7, WIDTH), padding(7, 4, columns=7)
    related = build_graph(graph).mask(5, 7, device=torch.device("cpu"))
    scores = attention.score(attention.score.queries(x), attention.score.keys(y))
    values = (y @ attention.value_projection.weight.T).reshape(2, 7, HEADS, D)
    output = attention(x, attention.context(y, real))
    for b in range(2):
        for i in range(5):
            neighbours = [j for j in range(7) if related[i, j] and real[b, j]]
            received = torch.zeros(HEADS, D)
            for head in range(HEADS):
                total = sum(math.exp(scores[b, head, i, j]) for j in neighbours)
                for j in neighbours:
                    received[head] += math.exp(scores[b, head, i, j]) / total * values[b, j, head]
            expected = attention.output_projection(received.flatten())
            torch.testing.assert_close(output[b, i], expected, **TOLERANCE)


@every_score
@every_graph
def test_weights_are_a_distribution_over_the_neighbours(score: str, graph: str) -> None:
    attention = build(score, graph)
    states, real = torch.randn(2, 7, WIDTH), padding(7, 4, columns=7)
    weights = weights_of(attention, states, attention.context(states, real))
    mask = (build_graph(graph).mask(7, 7, device=torch.device("cpu")) & real[:, None]).unsqueeze(1).expand_as(weights)
    assert weights.shape == (2, HEADS, 7, 7)
    assert (weights[mask] > 0.0).all()
    assert (weights[~mask] == 0.0).all()
    torch.testing.assert_close(weights.sum(dim=-1), mask.any(dim=-1).double(), **TOLERANCE)


@every_score
@given(scale=st.floats(0.1, 100.0), seed=st.integers(0, 999))
def test_outputs_lie_in_the_convex_hull_of_the_values(score: str, scale: float, seed: int) -> None:
    torch.manual_seed(seed)
    attention = build(score)
    queries, context = (
        attention.score.queries(scale * torch.randn(2, 5, WIDTH)),
        attention.context(torch.randn(2, 7, WIDTH)),
    )
    heads = attention.attend(queries, context, attention.mask(5, context))
    # A point is in the hull when no direction separates it from all values.
    directions = torch.randn(D, 101)
    reach = context.values @ directions  # B H K 101
    projected = heads @ directions  # B H Q 101
    assert (projected <= reach.amax(dim=2, keepdim=True) + 1e-10).all()
    assert (projected >= reach.amin(dim=2, keepdim=True) - 1e-10).all()


@every_score
@every_graph
def test_concatenated_heads_through_one_projection_are_the_sum_of_projected_heads(score: str, graph: str) -> None:
    attention = build(score, graph)
    x = torch.randn(2, 7, WIDTH)
    context = attention.context(x)
    heads = attention.attend(attention.score.queries(x), context, attention.mask(7, context))
    output = attention.output_projection
    slices = output.weight.split(D, dim=1)
    expected = output.bias + sum(heads[:, head] @ slices[head].T for head in range(HEADS))
    torch.testing.assert_close(attention(x, context), expected, **TOLERANCE)


@every_score
def test_self_attention_alone_does_not_see_the_order(score: str) -> None:
    attention, states, order = build(score), torch.randn(2, 7, WIDTH), torch.randperm(7)
    shuffled = states[:, order]
    expected = attention(states, attention.context(states))[:, order]
    torch.testing.assert_close(attention(shuffled, attention.context(shuffled)), expected, **TOLERANCE)


# Masks


@every_score
@every_graph
def test_masked_positions_have_no_influence_and_get_no_gradient(score: str, graph: str) -> None:
    attention, mask = build(score, graph), padding(7, 4, columns=7)
    x, y = torch.randn(2, 7, WIDTH), torch.randn(2, 7, WIDTH, requires_grad=True)
    output = attention(x, attention.context(y, mask))
    changed = torch.where(mask[..., None], y, 100.0)
    torch.testing.assert_close(attention(x, attention.context(changed, mask)), output, rtol=0.0, atol=0.0)
    (gradient,) = torch.autograd.grad(output.square().sum(), y)
    assert (gradient[~mask] == 0.0).all()
    assert (gradient[mask] != 0.0).any()


@every_score
@every_graph
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_sentence_of_padding_alone_gives_zeros_and_finite_gradients(
    score: str, graph: str, dtype: torch.dtype
) -> None:
    attention = build(score, graph).to(dtype)
    states = torch.randn(2, 5, WIDTH, dtype=dtype, requires_grad=True)
    output = attention(states, attention.context(states, padding(5, 0, columns=5)))
    assert torch.equal(output[1], attention.output_projection.bias.expand(5, WIDTH))
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
        output.square().sum().backward()
    assert states.grad is not None
    assert (states.grad[1] == 0.0).all()
    for gradient in (states.grad, *(p.grad for p in attention.parameters())):
        assert gradient is not None
        assert gradient.isfinite().all()


@either_way
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_query_without_neighbours_gets_zeros_and_finite_gradients(way: str, dtype: torch.dtype) -> None:
    attention = build().to(dtype)
    q, k, v = (torch.randn(2, HEADS, n, D, dtype=dtype, requires_grad=True) for n in (5, 7, 7))
    mask = torch.ones(1, 1, 5, 7, dtype=torch.bool)
    mask[..., 3, :] = False
    heads = getattr(attention, way)(q, Context(k, v), mask)
    assert (heads[:, :, 3] == 0.0).all()
    heads.square().sum().backward()
    assert q.grad is not None
    assert (q.grad[:, :, 3] == 0.0).all()
    for x in (q, k, v):
        assert x.grad is not None
        assert x.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_masked_softmax_holds_at_the_ends_of_every_number_format(dtype: torch.dtype) -> None:
    largest = torch.finfo(dtype).max
    scores = torch.tensor([[largest, -largest, 0.0, largest], [-largest / 2, -largest, 0.0, 1.0]], dtype=dtype)
    mask = torch.tensor([[True, True, True, False], [True, True, False, False]])
    weights = masked_softmax(scores[None, None], mask[None, None])
    assert weights.tolist() == [[[[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]]]


@given(batch=sizes, queries=sizes, keys=sizes, seed=st.integers(0, 999))
def test_masked_softmax_equals_the_softmax_over_what_is_left(batch: int, queries: int, keys: int, seed: int) -> None:
    torch.manual_seed(seed)
    scores, mask = torch.randn(batch, HEADS, queries, keys), torch.rand(batch, 1, queries, keys) < 0.5
    weights = masked_softmax(scores, mask)
    for b in range(batch):
        for i in range(queries):
            kept = mask[b, 0, i]
            torch.testing.assert_close(weights[b, :, i, kept], scores[b, :, i, kept].softmax(-1), **TOLERANCE)
            assert (weights[b, :, i, ~kept] == 0.0).all()


def test_the_gradients_of_masked_softmax_are_its_derivatives() -> None:
    mask = torch.rand(2, 1, 5, 7) < 0.5
    mask[0, 0, 3] = False
    assert gradcheck(masked_softmax, (torch.randn(2, 1, 5, 7, requires_grad=True), mask))


@every_score
@every_graph
def test_the_gradients_of_attention_are_its_derivatives(score: str, graph: str) -> None:
    attention, mask = build(score, graph), padding(3, 2, 0, columns=3)
    x, y = (torch.randn(3, 3, WIDTH, requires_grad=True) for _ in range(2))

    def attend(x: Tensor, y: Tensor, *_: Tensor) -> Tensor:
        output: Tensor = attention(x, attention.context(y, mask))
        return output

    # gradcheck varies its inputs in place, so the module sees its parameters change.
    assert gradcheck(attend, (x, y, *attention.parameters()))


def test_shapes_are_checked_while_tests_run() -> None:
    with pytest.raises(TypeCheckError, match="mask"):
        masked_softmax(torch.randn(2, HEADS, 5, 7), torch.ones(2, 1, 7, 5, dtype=torch.bool))


# Contexts


@every_score
@every_graph
@given(cut=st.integers(1, 6))
def test_a_context_in_two_parts_equals_the_whole(score: str, graph: str, cut: int) -> None:
    attention = build(score, graph)
    states = torch.randn(2, 7, WIDTH)
    whole = attention(states, attention.context(states))
    context = attention.context(states[:, :cut]).append(attention.context(states[:, cut:]))
    assert context.length == 7
    torch.testing.assert_close(attention(states[:, cut:], context), whole[:, cut:], **TOLERANCE)


@every_score
@every_graph
@pytest.mark.parametrize("masked", [True, False])
def test_selected_rows_of_a_context_are_those_sentences_alone(score: str, graph: str, masked: bool) -> None:
    attention = build(score, graph)
    states, rows = torch.randn(3, 5, WIDTH), torch.tensor([2, 0, 2, 1])
    mask = padding(5, 4, 2, columns=5) if masked else None
    selected = attention.context(states, mask).select(rows)
    expected = attention(states, attention.context(states, mask))[rows]
    torch.testing.assert_close(attention(states[rows], selected), expected, **TOLERANCE)


# Dropout and devices


def test_dropout_acts_on_the_weights_in_training_and_not_in_evaluation() -> None:
    attention, states = build(dropout=0.5), torch.randn(2, 7, WIDTH)
    context = attention.context(states)
    assert not torch.equal(attention(states, context), attention(states, context))
    expected = build()
    expected.load_state_dict(attention.state_dict())
    torch.testing.assert_close(attention.eval()(states, context), expected(states, context), rtol=0.0, atol=0.0)


@either_way
def test_dropped_weights_are_zero_and_the_others_are_scaled(way: str) -> None:
    attention = build(dropout=0.3)
    # Values that are the unit vectors show the weights themselves.
    queries, keys = torch.randn(2, HEADS, 101, D), torch.randn(2, HEADS, 103, D)
    context = Context(keys, torch.eye(103).expand(2, HEADS, 103, 103))
    mask = torch.ones(1, 1, 101, 103, dtype=torch.bool)
    kept = getattr(attention, way)(queries, context, mask)
    weights = getattr(attention.eval(), way)(queries, context, mask)
    dropped = kept == 0.0
    torch.testing.assert_close(kept[~dropped], weights[~dropped] / 0.7, **TOLERANCE)
    deviation = math.sqrt(0.3 * 0.7 / dropped.numel())
    assert abs(dropped.double().mean().item() - 0.3) < 4.0 * deviation


def test_the_observer_sees_the_weights_before_dropout() -> None:
    attention, states = build(dropout=0.9), torch.randn(2, 7, WIDTH)
    weights = weights_of(attention, states, attention.context(states))
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, HEADS, 7), **TOLERANCE)


@every_score
def test_an_accelerator_takes_the_fused_kernel_unless_someone_watches(
    score: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attention = build(score).to("meta")
    states = torch.randn(2, 7, WIDTH, device="meta")
    taken = []
    for way in ("attend", "attend_fused"):
        original = getattr(attention, way)
        monkeypatch.setattr(attention, way, lambda *inputs, w=way, f=original: (taken.append(w), f(*inputs))[1])
    attention(states, attention.context(states))
    with observing(lambda module, weights: None):
        attention(states, attention.context(states))
    assert taken == ["attend_fused" if score in FUSED else "attend", "attend"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@every_score
@every_graph
@pytest.mark.parametrize("training", [True, False])
def test_an_accelerator_computes_what_the_processor_does(score: str, graph: str, training: bool) -> None:
    attention = build(score, graph).train(training)
    inputs = torch.randn(3, 7, WIDTH), torch.randn(3, 7, WIDTH)
    mask = padding(7, 4, 0, columns=7)
    expected = with_gradients(lambda x, y: attention(x, attention.context(y, mask)), *inputs)
    attention.to("cuda")

    def attend(x: Tensor, y: Tensor) -> Tensor:
        output: Tensor = attention(x.cuda(), attention.context(y.cuda(), mask.cuda())).cpu()
        return output

    torch.testing.assert_close(with_gradients(attend, *inputs), expected, **TOLERANCE)
