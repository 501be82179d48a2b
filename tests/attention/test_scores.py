import math
import re
from collections.abc import Callable
from itertools import product

import pytest
import torch
from support.variants import QK_PROJECTION_EXAMPLES
from torch import Tensor, nn

from transformer_mt.attention.build_attention import build_score, with_projections
from transformer_mt.attention.projections import (
    QK_PROJECTIONS,
    Independent,
    Projections,
    Unprojected,
)
from transformer_mt.attention.scores import SCORES, Score
from transformer_mt.config.sections import AttentionConfig
from transformer_mt.ground.errors import InputError

pytestmark = pytest.mark.usefixtures("float64")

WIDTH, HEADS, D = 6, 3, 2
TOLERANCE = {"rtol": 0.0, "atol": 1e-10}


class Scored(nn.Module):
    """A score with its projections: from states to scores."""

    def __init__(self, projections: Projections, score: Score) -> None:
        super().__init__()
        self.projections, self.score = projections, score

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        scores: Tensor = self.score(self.projections.queries(x), self.projections.keys(y))
        return scores


def build(name: str = "scaled_dot", sharing: str = "independent", *, width: int = WIDTH, heads: int = HEADS) -> Scored:
    return Scored(*build_score(AttentionConfig(heads=heads, score=name, qk_projection=sharing), width=width))


# An independent reading of every formula, one pair of states and one head at a time


def independent(scored: Scored, x: Tensor, y: Tensor, head: int) -> tuple[Tensor, Tensor]:
    rows = slice(head * D, head * D + D)
    projections = scored.projections
    return projections.query_projection.weight[rows] @ x, projections.key_projection.weight[rows] @ y


def collaborative(scored: Scored, x: Tensor, y: Tensor, head: int) -> tuple[Tensor, Tensor]:
    projections = scored.projections
    return projections.mixing[head] * (projections.query_projection.weight @ x), projections.key_projection.weight @ y


# q and k of one head for the states x and y, by the formula of each entry of QK_PROJECTIONS.
PROJECTED = {"independent": independent, "collaborative": collaborative}


def additive(scored: Scored, q: Tensor, k: Tensor, head: int) -> Tensor:
    score = scored.score
    return score.direction[head] @ (q + k + score.bias[head]).tanh()


def bilinear(scored: Scored, x: Tensor, y: Tensor, head: int) -> Tensor:
    matrix = scored.projections.query_projection.weight[head * WIDTH : head * WIDTH + WIDTH]  # the transpose of W
    return y @ matrix @ x / math.sqrt(WIDTH)


# e(x, y) of one head, by the formula of each entry of SCORES.
FORMULAS: dict[str, Callable[..., Tensor]] = {
    "dot": lambda scored, q, k, head: q @ k,
    "scaled_dot": lambda scored, q, k, head: q @ k / math.sqrt(WIDTH / HEADS),
    "bilinear": bilinear,
    "additive": additive,
    "cosine": lambda scored, q, k, head: scored.score.temperature[head] * (q @ k) / (q.norm() * k.norm()),
    "euclidean": lambda scored, q, k, head: -(q - k).square().sum() / (2 * math.sqrt(WIDTH / HEADS)),
}

REFUSED = {("bilinear", "collaborative"), ("additive", "collaborative")}
VARIANTS = [pair for pair in product(SCORES, QK_PROJECTIONS) if pair not in REFUSED]
every_variant = pytest.mark.parametrize(("name", "sharing"), VARIANTS)


def randomised(scored: Scored) -> Scored:
    """Randomise the parameters, since initial values such as a bias of zero can hide errors."""
    with torch.no_grad():
        for parameter in scored.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return scored


@every_variant
def test_scores_follow_the_formula(name: str, sharing: str) -> None:
    scored = randomised(build(name, QK_PROJECTION_EXAMPLES[sharing]))
    x, y = torch.randn(2, 5, WIDTH), torch.randn(2, 3, WIDTH)
    found = scored(x, y)
    assert found.shape == (2, HEADS, 5, 3)
    for b, head, i, j in product(range(2), range(HEADS), range(5), range(3)):
        states = x[b, i], y[b, j]
        q, k = states if name == "bilinear" else PROJECTED[sharing](scored, *states, head)
        expected = FORMULAS[name](scored, q, k, head)
        torch.testing.assert_close(found[b, head, i, j], expected, **TOLERANCE)


UNSCALED = {"dot", "additive", "euclidean"}


@pytest.mark.parametrize(("name", "sharing"), [pair for pair in VARIANTS if pair[0] not in UNSCALED])
def test_scores_of_random_vectors_have_variance_one(name: str, sharing: str) -> None:
    scored = build(name, sharing.replace("collaborative", "collaborative(64)"), width=128, heads=2)
    with torch.no_grad():
        for parameter in scored.projections.parameters():
            if parameter.ndim == 2 and parameter.shape[1] == 128:
                parameter.normal_(std=128**-0.5)  # so that queries and keys have variance one
    spread = scored(torch.randn(2, 101, 128), torch.randn(2, 101, 128)).var().item()
    assert 0.7 < spread < 1.4


# How heads share


def test_heads_share_one_copy_of_shared_keys() -> None:
    states = torch.randn(2, 7, WIDTH)
    assert build().projections.keys(states).shape == (2, HEADS, 7, D)
    assert build(sharing="collaborative(5)").projections.keys(states).shape == (2, 1, 7, 5)
    assert build("bilinear").projections.keys(states).shape == (2, 1, 7, WIDTH)


@pytest.mark.parametrize(
    ("name", "width", "problem"),
    [
        (
            "bilinear",
            4,
            "collaborative(4) needs a score of products q·k, unlike bilinear; set ",
        ),
        (
            "additive",
            4,
            "collaborative(4) needs a score of products q·k, unlike additive; set ",
        ),
        ("dot", 2, "'collaborative(2)': the shared width must be at least the number of heads, 3"),
    ],
)
def test_refused_sharing_is_an_error_with_a_remedy(name: str, width: int, problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"model.attention.qk_projection: {problem}")):
        build(name, f"collaborative({width})")


@pytest.mark.parametrize("name", SCORES)
def test_a_score_uses_prescribed_or_chosen_projections(name: str) -> None:
    chosen = Unprojected(WIDTH)
    projections, score = with_projections(SCORES[name], chosen)
    assert (projections is chosen) == (name not in {"bilinear", "additive"})
    assert (projections.sizes.width, projections.sizes.heads) == (WIDTH, 1)
    assert score.sizes is projections.sizes
    made = Independent(WIDTH, HEADS)  # as additive has them: not made twice
    assert (with_projections(SCORES[name], made)[0] is made) == (name != "bilinear")


# Differences between the scores


def test_the_cosine_of_a_zero_vector_is_zero() -> None:
    scored, x = build("cosine"), torch.zeros(1, 2, WIDTH, requires_grad=True)
    scores = scored(x, torch.randn(1, 3, WIDTH))
    assert (scores == 0.0).all()
    scores.sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("name", SCORES)
def test_only_the_additive_score_needs_a_vector_per_pair(name: str) -> None:
    score, sizes = build(name).score, []
    queries, keys = (torch.randn(1, HEADS, n, score.sizes.key_width, requires_grad=True) for n in (31, 29))
    with torch.autograd.graph.saved_tensors_hooks(lambda x: (sizes.append(x.numel()), x)[1], lambda x: x):
        score(queries, keys)
    assert (max(sizes) > HEADS * 31 * 29) == (not score.multiplies)
