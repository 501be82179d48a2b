import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from transformer_mt.attention.scores import SCORES, ScaledDot, Score, build_score, merge_heads, split_heads
from transformer_mt.errors import InputError

pytestmark = pytest.mark.usefixtures("float64")

WIDTH, HEADS, D = 6, 3, 2


def dot(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([x * y for x, y in zip(a, b, strict=True)]).sum()


def rows_of_head(weight: Tensor, head: int) -> Tensor:
    """W of one head, d × D: q = W x."""
    return torch.stack([weight[head * D + row] for row in range(D)])


def scaled_dot(score: ScaledDot, x: Tensor, y: Tensor, head: int) -> Tensor:
    q = rows_of_head(score.query_projection.weight, head) @ x
    k = rows_of_head(score.key_projection.weight, head) @ y
    return dot(q, k) / math.sqrt(D)


# e(x, y) of one head for the states x and y of a query and a key, by the formula of each entry of SCORES.
FORMULAS: dict[str, Callable[..., Tensor]] = {"scaled_dot": scaled_dot}


def scores_of(score: Score, queries: Tensor, keys: Tensor) -> Tensor:
    scores: Tensor = score(score.queries(queries), score.keys(keys))
    return scores


@pytest.mark.parametrize("name", SCORES)
def test_scores_follow_the_formula(name: str) -> None:
    assert name in FORMULAS, "write the score's formula into FORMULAS"
    score = build_score(name, width=WIDTH, heads=HEADS)
    x, y = torch.randn(2, 7, WIDTH), torch.randn(2, 5, WIDTH)
    found = scores_of(score, x, y)
    assert found.shape == (2, HEADS, 7, 5)
    for b in range(2):
        for head in range(HEADS):
            for i in range(7):
                for j in range(5):
                    expected = FORMULAS[name](score, x[b, i], y[b, j], head)
                    torch.testing.assert_close(found[b, head, i, j], expected, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("name", SCORES)
def test_scores_have_the_gradients_of_their_formula(name: str) -> None:
    score = build_score(name, width=WIDTH, heads=HEADS)
    x, y = torch.randn(1, 3, WIDTH, requires_grad=True), torch.randn(1, 2, WIDTH, requires_grad=True)
    direction = torch.randn(1, HEADS, 3, 2)
    formula = sum(
        direction[0, head, i, j] * FORMULAS[name](score, x[0, i], y[0, j], head)
        for head in range(HEADS)
        for i in range(3)
        for j in range(2)
    )
    assert isinstance(formula, Tensor)
    inputs = [x, y, *score.parameters()]
    expected = torch.autograd.grad(formula, inputs)
    found = torch.autograd.grad((direction * scores_of(score, x, y)).sum(), inputs)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("name", SCORES)
def test_the_scale_is_the_factor_in_front_of_the_dot_product(name: str) -> None:
    score = build_score(name, width=WIDTH, heads=HEADS)
    if score.scale is None:
        pytest.skip("no scaled dot product")
    queries, keys = score.queries(torch.randn(2, 7, WIDTH)), score.keys(torch.randn(2, 5, WIDTH))
    expected = score.scale * torch.einsum("bhqd,bhkd->bhqk", queries, keys)
    torch.testing.assert_close(score(queries, keys), expected, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("name", SCORES)
def test_every_sentence_is_scored_alone(name: str) -> None:
    score = build_score(name, width=WIDTH, heads=HEADS)
    x, y = torch.randn(3, 7, WIDTH), torch.randn(3, 5, WIDTH)
    alone = torch.cat([scores_of(score, x[b : b + 1], y[b : b + 1]) for b in range(3)])
    torch.testing.assert_close(scores_of(score, x, y), alone, rtol=0.0, atol=1e-10)


def test_scaled_dot_scores_of_random_vectors_have_variance_one() -> None:
    score = build_score("scaled_dot", width=512, heads=1)
    scores = score(torch.randn(1, 1, 101, 512), torch.randn(1, 1, 101, 512))
    assert 0.9 < scores.var().item() < 1.1


def test_heads_are_split_and_merged_side_by_side() -> None:
    x = torch.randn(2, 7, 6)
    heads = split_heads(x, 3)
    assert heads.shape == (2, 3, 7, 2)
    for head in range(3):
        assert torch.equal(heads[:, head], x[:, :, 2 * head : 2 * head + 2])
    assert torch.equal(merge_heads(heads), x)


def test_an_unknown_score_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InputError) as raised:
        build_score("scaled-dot", width=WIDTH, heads=HEADS)
    assert str(raised.value) == "model.attention.score: there is no 'scaled-dot'; did you mean scaled_dot?"
