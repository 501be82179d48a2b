import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from transformer_mt.attention.normalisers import NORMALISERS

pytestmark = pytest.mark.usefixtures("float64")

TOLERANCE = {"rtol": 0.0, "atol": 1e-10}

every_normaliser = pytest.mark.parametrize("name", NORMALISERS)
sizes = st.integers(1, 7)


def entmax(scores: list[float], alpha: float) -> list[float]:
    """[(α − 1) e_j − τ]₊^{1/(α − 1)}, τ by bisection (Peters, Niculae and Martins 2019, eq. 8 and algorithm 1)."""
    scaled = [(alpha - 1.0) * score for score in scores]
    low, high = max(scaled) - 1.0, max(scaled)

    def weights(threshold: float) -> list[float]:
        return [max(0.0, score - threshold) ** (1.0 / (alpha - 1.0)) for score in scaled]

    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if sum(weights(middle)) > 1.0 else (low, middle)
    return weights(low)


# One row of scores at a time; entmax is the softmax as α goes to 1.
FORMULAS = {
    "softmax": lambda scores: torch.tensor(scores).softmax(-1).tolist(),
    "sparsemax": lambda scores: entmax(scores, 2.0),
    "entmax15": lambda scores: entmax(scores, 1.5),
}


def scores_and_mask(seed: int = 1, *, batch: int = 2, queries: int = 5, keys: int = 7) -> tuple[Tensor, Tensor]:
    """Random scores of 3 heads, and a mask whose first row is empty and whose last row is full."""
    torch.manual_seed(seed)
    mask = torch.rand(batch, 1, queries, keys) < 0.5
    mask[0, 0, 0], mask[-1, 0, -1] = False, True
    return 3.0 * torch.randn(batch, 3, queries, keys), mask


@every_normaliser
@given(seed=st.integers(0, 999), batch=sizes, queries=st.integers(2, 7), keys=sizes)
def test_weights_follow_the_formula_over_unmasked_keys(
    name: str, seed: int, batch: int, queries: int, keys: int
) -> None:
    scores, mask = scores_and_mask(seed, batch=batch, queries=queries, keys=keys)
    weights = NORMALISERS[name]()(scores, mask)
    for place in torch.cartesian_prod(*map(torch.arange, scores.shape[:3])):
        b, head, i = place.tolist()
        kept = mask[b, 0, i]
        expected = FORMULAS[name](scores[b, head, i, kept].tolist()) if kept.any() else []
        torch.testing.assert_close(weights[b, head, i, kept], torch.tensor(expected), **TOLERANCE)
        assert not weights[b, head, i, ~kept].any()
    torch.testing.assert_close(NORMALISERS[name]()(scores, torch.ones_like(mask)), NORMALISERS[name]()(scores, None))


@every_normaliser
def test_gradients_are_correct_and_finite(name: str) -> None:
    scores, mask = scores_and_mask()
    assert gradcheck(NORMALISERS[name](), (scores.requires_grad_(), mask))
    assert gradcheck(NORMALISERS[name](), (scores, None))
    with torch.autograd.set_detect_anomaly(True):
        (gradient,) = torch.autograd.grad(NORMALISERS[name]()(scores, mask).square().sum(), scores)
    assert not gradient.masked_select(~mask).any()


@every_normaliser
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_weights_are_correct_for_extreme_scores_in_every_format(name: str, dtype: torch.dtype) -> None:
    largest = torch.finfo(dtype).max
    scores = torch.tensor([[largest, -largest, 0.0, largest], [-largest / 2, -largest, 0.0, 1.0]], dtype=dtype)
    mask = torch.tensor([[True, True, True, False], [True, True, False, False]])
    weights = NORMALISERS[name]()(scores[None, None], mask[None, None])
    assert weights.dtype == dtype
    assert weights.tolist() == [[[[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]]]


@pytest.mark.parametrize(("name", "zeros"), [("softmax", 0), ("entmax15", 1), ("sparsemax", 2)])
def test_sparse_weights_are_exactly_zero(name: str, zeros: int) -> None:
    weights = NORMALISERS[name]()(torch.tensor([[[[1.0, 0.9, -0.1, -2.0]]]]), None)
    assert int((weights == 0.0).sum()) == zeros
