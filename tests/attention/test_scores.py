import math
from collections.abc import Callable
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.variants import SHARING_EXAMPLES
from torch import Tensor

from transformer_mt.attention.projections import SHARING, Unprojected, merge_heads, split_heads
from transformer_mt.attention.scores import SCORES, Bilinear, Cosine, Dot, ScaledDot, Score, build_score
from transformer_mt.config import AttentionConfig
from transformer_mt.errors import InputError

pytestmark = pytest.mark.usefixtures("float64")

WIDTH, HEADS, D = 6, 3, 2
TOLERANCE = {"rtol": 0.0, "atol": 1e-10}


def build(score: str = "scaled_dot", sharing: str = "independent", *, width: int = WIDTH, heads: int = HEADS) -> Score:
    return build_score(AttentionConfig(heads=heads, score=score, sharing=sharing), width=width)


# An independent reading of every formula, one number at a time


def times(matrix: Tensor, vector: Tensor) -> list[Tensor]:
    """The components of W x."""
    return [sum((w * x for w, x in zip(row, vector, strict=True)), torch.tensor(0.0)) for row in matrix]


def dot(a: list[Tensor], b: list[Tensor]) -> Tensor:
    return sum((x * y for x, y in zip(a, b, strict=True)), torch.tensor(0.0))


def independent(score: Score, x: Tensor, y: Tensor, head: int) -> tuple[list[Tensor], list[Tensor]]:
    rows = slice(head * D, head * D + D)
    projections = score.projections
    return times(projections.query_projection.weight[rows], x), times(projections.key_projection.weight[rows], y)


def collaborative(score: Score, x: Tensor, y: Tensor, head: int) -> tuple[list[Tensor], list[Tensor]]:
    projections = score.projections
    q, k = times(projections.query_projection.weight, x), times(projections.key_projection.weight, y)
    return [component * mixed for component, mixed in zip(q, projections.mixing[head], strict=True)], k


# q and k of one head for the states x and y, by the formula of each entry of SHARING.
PROJECTED = {"independent": independent, "collaborative": collaborative}


def bilinear(score: Score, x: Tensor, y: Tensor, q: list[Tensor], k: list[Tensor], head: int) -> Tensor:
    matrix = score.projections.query_projection.weight[head * WIDTH : head * WIDTH + WIDTH]  # the transpose of W
    terms = [x[a] * matrix[b, a] * y[b] for a in range(WIDTH) for b in range(WIDTH)]
    return sum(terms, torch.tensor(0.0)) / math.sqrt(WIDTH)


def additive(score: Score, x: Tensor, y: Tensor, q: list[Tensor], k: list[Tensor], head: int) -> Tensor:
    terms = [score.direction[head, c] * torch.tanh(q[c] + k[c] + score.bias[head, c]) for c in range(D)]
    return sum(terms, torch.tensor(0.0))


def cosine(score: Score, x: Tensor, y: Tensor, q: list[Tensor], k: list[Tensor], head: int) -> Tensor:
    return score.temperature[head] * dot(q, k) / (dot(q, q).sqrt() * dot(k, k).sqrt())


# e(x, y) of one head, by the formula of each entry of SCORES.
FORMULAS: dict[str, Callable[..., Tensor]] = {
    "dot": lambda score, x, y, q, k, head: dot(q, k),
    "scaled_dot": lambda score, x, y, q, k, head: dot(q, k) / math.sqrt(WIDTH / HEADS),
    "bilinear": bilinear,
    "additive": additive,
    "cosine": cosine,
}

REFUSED = {("bilinear", "collaborative"), ("additive", "collaborative")}
VARIANTS = [pair for pair in product(SCORES, SHARING) if pair not in REFUSED]
every_variant = pytest.mark.parametrize(("name", "sharing"), VARIANTS)


def formula(name: str, sharing: str, score: Score, x: Tensor, y: Tensor, head: int) -> Tensor:
    q, k = ([], []) if name == "bilinear" else PROJECTED[sharing](score, x, y, head)
    return FORMULAS[name](score, x, y, q, k, head)


def scores_of(score: Score, queries: Tensor, keys: Tensor) -> Tensor:
    scores: Tensor = score(score.projections.queries(queries), score.projections.keys(keys))
    return scores


def randomised(score: Score) -> Score:
    """With no parameter at a start that hides it, such as a bias of zero."""
    with torch.no_grad():
        for parameter in score.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return score


def test_every_score_and_sharing_has_a_formula() -> None:
    assert set(FORMULAS) == set(SCORES), "write the score's formula into FORMULAS"
    assert set(PROJECTED) == set(SHARING), "write the sharing's formula into PROJECTED"
    assert set(SHARING_EXAMPLES) == set(SHARING), "give the sharing an example in tests/variants.py"


@every_variant
def test_scores_follow_the_formula(name: str, sharing: str) -> None:
    score = randomised(build(name, SHARING_EXAMPLES[sharing]))
    x, y = torch.randn(2, 5, WIDTH), torch.randn(2, 3, WIDTH)
    found = scores_of(score, x, y)
    assert found.shape == (2, HEADS, 5, 3)
    for b, head, i, j in product(range(2), range(HEADS), range(5), range(3)):
        expected = formula(name, sharing, score, x[b, i], y[b, j], head)
        torch.testing.assert_close(found[b, head, i, j], expected, **TOLERANCE)


@every_variant
def test_scores_have_the_gradients_of_their_formula(name: str, sharing: str) -> None:
    score = randomised(build(name, SHARING_EXAMPLES[sharing]))
    x, y = torch.randn(1, 3, WIDTH, requires_grad=True), torch.randn(1, 2, WIDTH, requires_grad=True)
    direction = torch.randn(1, HEADS, 3, 2)
    total = sum(
        direction[0, head, i, j] * formula(name, sharing, score, x[0, i], y[0, j], head)
        for head, i, j in product(range(HEADS), range(3), range(2))
    )
    assert isinstance(total, Tensor)
    inputs = [x, y, *score.parameters()]
    expected = torch.autograd.grad(total, inputs)
    found = torch.autograd.grad((direction * scores_of(score, x, y)).sum(), inputs)
    torch.testing.assert_close(found, expected, **TOLERANCE)


@every_variant
def test_the_scale_is_the_factor_in_front_of_the_dot_product(name: str, sharing: str) -> None:
    score = build(name, SHARING_EXAMPLES[sharing])
    assert (score.scale is None) == (name in {"additive", "cosine"})
    if score.scale is not None:
        queries, keys = (
            score.projections.queries(torch.randn(2, 7, WIDTH)),
            score.projections.keys(torch.randn(2, 5, 6)),
        )
        expected = score.scale * torch.einsum("bhqd,bhkd->bhqk", queries, keys.expand(2, HEADS, -1, -1))
        torch.testing.assert_close(score(queries, keys), expected, **TOLERANCE)


@every_variant
def test_every_sentence_is_scored_alone(name: str, sharing: str) -> None:
    score = build(name, SHARING_EXAMPLES[sharing])
    x, y = torch.randn(3, 7, WIDTH), torch.randn(3, 5, WIDTH)
    alone = torch.cat([scores_of(score, x[b : b + 1], y[b : b + 1]) for b in range(3)])
    torch.testing.assert_close(scores_of(score, x, y), alone, **TOLERANCE)


@pytest.mark.parametrize(("name", "sharing"), [pair for pair in VARIANTS if pair[0] not in {"dot", "additive"}])
def test_scores_of_random_vectors_have_variance_one(name: str, sharing: str) -> None:
    score = build(
        name, {"independent": "independent", "collaborative": "collaborative(64)"}[sharing], width=128, heads=2
    )
    with torch.no_grad():
        for parameter in score.projections.parameters():
            if parameter.ndim == 2 and parameter.shape[1] == 128:
                parameter.normal_(std=128**-0.5)  # so that queries and keys have variance one
    spread = scores_of(score, torch.randn(2, 101, 128), torch.randn(2, 101, 128)).var().item()
    assert 0.7 < spread < 1.4


# How heads share


def test_heads_that_mix_alike_are_one_head_over_shared_projections() -> None:
    score = build("dot", "collaborative(5)")
    with torch.no_grad():
        score.projections.mixing.fill_(1.0)
    x, y = torch.randn(2, 7, WIDTH), torch.randn(2, 5, WIDTH)
    shared = score.projections.query_projection(x) @ score.projections.key_projection(y).transpose(1, 2)
    torch.testing.assert_close(scores_of(score, x, y), shared[:, None].expand(-1, HEADS, -1, -1), **TOLERANCE)


@pytest.mark.parametrize("name", ["dot", "scaled_dot"])
def test_heads_that_each_mix_their_own_block_are_independent(name: str) -> None:
    separate, mixed = build(name), build(name, f"collaborative({WIDTH})")
    blocks = torch.eye(HEADS).repeat_interleave(D, dim=1)
    mixed.load_state_dict({**separate.state_dict(), "projections.mixing": blocks})
    x, y = torch.randn(2, 7, WIDTH), torch.randn(2, 5, WIDTH)
    torch.testing.assert_close(scores_of(mixed, x, y), scores_of(separate, x, y), rtol=0.0, atol=1e-14)


def test_shared_keys_are_kept_once_for_all_heads() -> None:
    states = torch.randn(2, 7, WIDTH)
    assert build().projections.keys(states).shape == (2, HEADS, 7, D)
    assert build(sharing="collaborative(5)").projections.keys(states).shape == (2, 1, 7, 5)
    assert build("bilinear").projections.keys(states).shape == (2, 1, 7, WIDTH)


def test_shared_projections_need_fewer_weights() -> None:
    def size(score: Score) -> int:
        return sum(parameter.numel() for parameter in score.parameters())

    assert size(build()) == 2 * WIDTH * WIDTH
    assert size(build(sharing="collaborative(3)")) == 2 * WIDTH * 3 + HEADS * 3


@pytest.mark.parametrize("name", ["bilinear", "additive"])
def test_scores_without_a_product_of_projections_cannot_mix_them(name: str) -> None:
    with pytest.raises(InputError) as raised:
        build(name, "collaborative(4)")
    assert str(raised.value) == (
        "model.attention.sharing: collaborative(4) mixes the features of a product of queries and keys, which the "
        f"score {name} does not have; set model.attention.score to scaled_dot, dot or cosine"
    )


def test_every_head_needs_a_shared_feature() -> None:
    with pytest.raises(InputError) as raised:
        build(sharing="collaborative(2)")
    assert str(raised.value) == (
        "model.attention.sharing: 'collaborative(2)': the shared width must be at least the number of heads, 3"
    )


# What sets the scores apart


@given(seed=st.integers(0, 999))
def test_scaling_is_a_temperature_and_dot_alone_is_sharper(seed: int) -> None:
    torch.manual_seed(seed)
    plain, scaled = build("dot", width=128, heads=2), build("scaled_dot", width=128, heads=2)
    scaled.load_state_dict(plain.state_dict())
    x = 2.0 * torch.randn(1, 11, 128)
    sharp, soft = scores_of(plain, x, x), scores_of(scaled, x, x)
    torch.testing.assert_close((sharp / math.sqrt(64)).softmax(-1), soft.softmax(-1))  # temperature √d

    def entropy(scores: Tensor) -> Tensor:
        return -(scores.softmax(-1) * scores.log_softmax(-1)).sum(-1)

    assert (entropy(sharp) < entropy(soft)).all()


def test_the_bilinear_form_is_a_dot_product_whose_keys_are_the_states() -> None:
    score, x, y = build("bilinear"), torch.randn(2, 7, WIDTH), torch.randn(2, 5, WIDTH)
    queries, keys = score.projections.queries(x), score.projections.keys(y)
    assert torch.equal(keys[:, 0], y)
    torch.testing.assert_close(score(queries, keys), Dot(score.projections)(queries, keys) / math.sqrt(WIDTH))
    assert isinstance(score, Bilinear)


@given(stretch=st.floats(0.01, 100.0), seed=st.integers(0, 999))
def test_cosine_does_not_see_how_long_the_states_are(stretch: float, seed: int) -> None:
    torch.manual_seed(seed)
    score, x, y = build("cosine"), torch.randn(2, 7, WIDTH), torch.randn(2, 5, WIDTH)
    torch.testing.assert_close(scores_of(score, stretch * x, y / stretch), scores_of(score, x, y), **TOLERANCE)
    assert isinstance(score, Cosine)
    assert (scores_of(score, x, y).abs() <= score.temperature[:, None, None] + 1e-10).all()


def test_cosine_of_a_vector_without_direction_is_zero() -> None:
    score, x = build("cosine"), torch.zeros(1, 2, WIDTH, requires_grad=True)
    scores = scores_of(score, x, torch.randn(1, 3, WIDTH))
    assert (scores == 0.0).all()
    scores.sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_states_can_speak_for_themselves() -> None:
    x, y = torch.randn(2, 7, WIDTH), torch.randn(2, 5, WIDTH)
    torch.testing.assert_close(scores_of(Dot(Unprojected(WIDTH)), x, y)[:, 0], x @ y.transpose(1, 2), **TOLERANCE)
    scaled = scores_of(ScaledDot(Unprojected(WIDTH)), x, y)[:, 0]
    torch.testing.assert_close(scaled, x @ y.transpose(1, 2) / math.sqrt(WIDTH), **TOLERANCE)


def test_heads_are_split_and_merged_side_by_side() -> None:
    x = torch.randn(2, 7, 6)
    heads = split_heads(x, 3)
    assert heads.shape == (2, 3, 7, 2)
    for head in range(3):
        assert torch.equal(heads[:, head], x[:, :, 2 * head : 2 * head + 2])
    assert torch.equal(merge_heads(heads), x)


def test_an_unknown_score_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InputError) as raised:
        build("scaled-dot")
    assert str(raised.value) == "model.attention.score: there is no 'scaled-dot'; did you mean scaled_dot?"
