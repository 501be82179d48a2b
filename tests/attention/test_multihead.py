import math
from collections.abc import Callable

import pytest
import torch
from support.shown import values_of, weights_of
from support.tiny import padding
from support.variants import GRAPH_EXAMPLES, POSITION_EXAMPLES, QK_PROJECTION_EXAMPLES
from torch import Tensor

from transformer_mt.attention.build_attention import build_attention
from transformer_mt.attention.graphs import build_graph
from transformer_mt.attention.multihead import KeyValues, MultiHeadAttention
from transformer_mt.attention.positions import POSITIONS
from transformer_mt.attention.projections import split_heads
from transformer_mt.attention.scores import SCORES
from transformer_mt.config.sections import AttentionConfig

pytestmark = pytest.mark.usefixtures("float64")

WIDTH, HEADS, D = 6, 3, 2
TOLERANCE = {"rtol": 0.0, "atol": 1e-10}


def build(
    score: str = "scaled_dot",
    graph: str = "complete",
    position: str = "none",
    qk_projection: str = "independent",
    *,
    dropout: float = 0.0,
    causal: bool = False,
) -> MultiHeadAttention:
    config = AttentionConfig(
        heads=HEADS, score=score, graph=graph, position=position, qk_projection=qk_projection, dropout=dropout
    )
    attention = build_attention(config, width=WIDTH)("decoder" if causal else "encoder")
    assert isinstance(attention, MultiHeadAttention)
    return attention


# Score, graph, position and sharing: every graph, and every score with every position and sharing, where compatible
# (see test_combinations.py).
Variant = tuple[str, str, str, str]

GRAPH = "band(2)"
OTHER_SCORES = ("additive", "cosine", "euclidean")
REFUSED = {("rotary", "additive"), *(("relative", score) for score in OTHER_SCORES)}
VARIANTS: list[Variant] = [
    *(("scaled_dot", graph, "none", "independent") for graph in GRAPH_EXAMPLES.values()),
    *(
        (score, GRAPH, POSITION_EXAMPLES[position], "independent")
        for score in SCORES
        for position in POSITIONS
        if (position, score) not in REFUSED
    ),
    *(
        (score, GRAPH, position, QK_PROJECTION_EXAMPLES["collaborative"])
        for score in ("dot", "scaled_dot", "cosine", "euclidean")
        for position in ("none", "rotary")
    ),
    ("scaled_dot", "causal", "relative(2)", "collaborative(4)"),
]

ADDING = [variant for variant in VARIANTS if build(*variant).position.adds_terms]
FUSED = [variant for variant in VARIANTS if build(*variant).score.scale is not None and variant not in ADDING]

every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
every_variant_that_mixes_values_alone = pytest.mark.parametrize(
    "variant", [variant for variant in VARIANTS if variant not in ADDING], ids=" ".join
)
either_way = pytest.mark.parametrize("way", ["attend", "attend_fused"])


def inner(
    attention: MultiHeadAttention, states: Tensor, key_values: KeyValues
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The queries, keys, values and mask computed from the states."""
    queries, keys = attention.position.rotate(attention.projections.queries(states), key_values.keys)
    return queries, keys, key_values.values, attention.mask(states.shape[1], key_values)


def with_gradients(function: Callable[..., Tensor], *inputs: Tensor) -> tuple[Tensor, ...]:
    """The output, then the gradient of one random combination of its elements by every input."""
    inputs = tuple(x.detach().requires_grad_() for x in inputs)
    output = function(*inputs)
    direction = torch.randn(output.shape, generator=torch.Generator().manual_seed(3))
    return output, *torch.autograd.grad((output * direction).sum(), inputs)


# The fused kernel (test_transformer.py compares a whole model with torch's)


@pytest.mark.parametrize("variant", FUSED, ids=" ".join)
def test_the_fused_kernel_equals_step_by_step_attention(variant: Variant) -> None:
    attention = build(*variant)
    states, others = torch.randn(2, 5, WIDTH), torch.randn(2, 7, WIDTH)

    def attend(way: str) -> tuple[Tensor, ...]:
        def heads(x: Tensor, y: Tensor) -> Tensor:
            output: Tensor = getattr(attention, way)(*inner(attention, x, attention.key_values(y, padding(7, 4))))
            return output

        return with_gradients(heads, states, others)

    torch.testing.assert_close(attend("attend_fused"), attend("attend"), **TOLERANCE)


# Properties of attention with every score, graph and position


@every_variant_that_mixes_values_alone
@torch.no_grad()
def test_attention_is_message_passing_along_the_edges_of_the_graph(variant: Variant) -> None:
    attention = build(*variant)
    x, y, real = torch.randn(2, 5, WIDTH), torch.randn(2, 7, WIDTH), padding(7, 4)
    related = build_graph(variant[1]).mask(5, 7, device=torch.device("cpu"))
    queries, keys, _, _ = inner(attention, x, attention.key_values(y, real))
    scores = attention.score(queries, keys)
    values = (y @ attention.value_projection.weight.T).reshape(2, 7, HEADS, D)
    output = attention(x, attention.key_values(y, real))
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


@pytest.mark.parametrize("position", POSITION_EXAMPLES.values())
def test_cross_attention_is_bipartite_without_positions(position: str) -> None:
    config = AttentionConfig(heads=HEADS, graph="band(1)", position=position, dropout=0.0)
    attention = build_attention(config, width=WIDTH)("cross")
    states, memory, order = torch.randn(2, 5, WIDTH), torch.randn(2, 7, WIDTH), torch.randperm(7)
    expected = attention(states, attention.key_values(memory))
    torch.testing.assert_close(attention(states, attention.key_values(memory[:, order])), expected, **TOLERANCE)
    assert (weights_of(attention, states, attention.key_values(memory)) > 0.0).all()


# Masks


@either_way
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_query_without_neighbours_gets_zeros_and_finite_gradients(way: str, dtype: torch.dtype) -> None:
    attention = build().to(dtype)
    q, k, v = (torch.randn(2, HEADS, n, D, dtype=dtype, requires_grad=True) for n in (5, 7, 7))
    mask = torch.ones(1, 1, 5, 7, dtype=torch.bool)
    mask[..., 3, :] = False
    heads = getattr(attention, way)(q, k, v, mask)
    assert (heads[:, :, 3] == 0.0).all()
    heads.square().sum().backward()
    assert q.grad is not None
    assert (q.grad[:, :, 3] == 0.0).all()
    for x in (q, k, v):
        assert x.grad is not None
        assert x.grad.isfinite().all()


# Dropout


@either_way
def test_dropout_zeroes_some_weights_and_scales_the_others(way: str) -> None:
    attention = build(dropout=0.25)
    # With unit vectors as values, the output is the weights.
    inputs = torch.randn(2, HEADS, 101, D), torch.randn(2, HEADS, 103, D), torch.eye(103).expand(2, HEADS, 103, 103)
    kept = getattr(attention, way)(*inputs, None)
    weights = getattr(attention.eval(), way)(*inputs, None)
    dropped = kept == 0.0
    torch.testing.assert_close(kept[~dropped], weights[~dropped] / 0.75, **TOLERANCE)
    assert dropped.double().mean().item() == pytest.approx(0.25, abs=0.01)


def test_shows_the_weights_before_dropout() -> None:
    attention, states = build(dropout=0.9), torch.randn(2, 7, WIDTH)
    weights = weights_of(attention, states, attention.key_values(states))
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, HEADS, 7), **TOLERANCE)


@every_variant
def test_uses_the_fused_kernel_unless_slower_or_watched(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    attention, states = build(*variant), torch.randn(2, 7, WIDTH)
    taken: list[str] = []
    for way in ("attend", "attend_fused"):
        original = getattr(attention, way)
        monkeypatch.setattr(attention, way, lambda *inputs, w=way, f=original: (taken.append(w), f(*inputs))[1])
    attention(states, attention.key_values(states))
    with values_of("α_j"):
        attention(states, attention.key_values(states))
    attention, states = attention.bfloat16(), states.bfloat16()
    attention(states, attention.key_values(states))  # with a gradient, on a CPU
    with torch.no_grad():
        attention(states, attention.key_values(states))
    fused = "attend_fused" if variant in FUSED else "attend"
    assert {score for score, *_ in FUSED} == {"dot", "scaled_dot", "bilinear"}
    assert taken == [fused, "attend", "attend", fused]


# Heads turned off


@every_variant
@torch.no_grad()
def test_a_masked_head_adds_nothing(variant: Variant) -> None:
    attention, states = build(*variant), torch.randn(2, 7, WIDTH)
    key_values = attention.key_values(states)
    with values_of("head") as shown:
        attention(states, key_values)
    parts = attention.parts(shown[-1][1])
    bias = attention.output_projection.bias
    torch.testing.assert_close(attention(states, key_values), parts.sum(dim=1) + bias, **TOLERANCE)
    attention.head_mask = torch.tensor([[1.0, 0.0, 1.0], [1.0, 0.5, 1.0]])
    expected = parts[:, [0, 2]].sum(dim=1) + torch.tensor([0.0, 0.5])[:, None, None] * parts[:, 1] + bias
    torch.testing.assert_close(attention(states, key_values), expected, **TOLERANCE)
    assert "head_mask" not in attention.state_dict()


# Devices


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@every_variant
def test_gpu_and_cpu_agree(variant: Variant) -> None:
    attention = build(*variant)
    inputs = torch.randn(3, 7, WIDTH), torch.randn(3, 7, WIDTH)
    mask = padding(7, 4, 0)
    expected = with_gradients(lambda x, y: attention(x, attention.key_values(y, mask)), *inputs)
    attention.to("cuda")

    def attend(x: Tensor, y: Tensor) -> Tensor:
        output: Tensor = attention(x.cuda(), attention.key_values(y.cuda(), mask.cuda())).cpu()
        return output

    torch.testing.assert_close(with_gradients(attend, *inputs), expected, **TOLERANCE)


def test_biases_are_added_to_queries_keys_and_values() -> None:
    for kind in ("softmax", "linear"):
        config = AttentionConfig(kind=kind, heads=3, bias=True)
        plain = build_attention(config.model_copy(update={"bias": False}), width=6)("encoder")
        biased = build_attention(config, width=6)("encoder")
        added = dict(biased.named_parameters()).keys() - dict(plain.named_parameters()).keys()
        names = ("projections.query_projection", "projections.key_projection", "value_projection")
        assert added == {f"{name}.bias" for name in names}
        assert not any(biased.get_parameter(name).any() for name in added)
        with torch.no_grad():
            biased.value_projection.bias.fill_(1.0)
        x = torch.randn(2, 5, 6)
        values = biased.key_values(x).values
        torch.testing.assert_close(values, split_heads(x @ biased.value_projection.weight.T + 1.0, 3))
        assert biased.projections.formulas["q"] == "h W_q + b_q"
        assert biased.formulas["v_j"] == "h_j W_v + b_v"
        assert biased.formulas["y"] == plain.formulas["y"]
        assert plain.formulas["v_j"] == "h_j W_v"
