import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.dropout import Dropout, keep_mask


def test_evaluation_mode_returns_the_input_itself() -> None:
    x = torch.randn(2, 3)
    assert Dropout(0.5).eval()(x) is x


def test_probability_zero_is_the_identity_as_in_torch() -> None:
    x = torch.randn(2, 3)
    torch.testing.assert_close(Dropout(0.0)(x), torch.nn.Dropout(0.0)(x), rtol=0.0, atol=0.0)


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
def test_the_share_of_zeros_is_the_probability(probability: float) -> None:
    draws = 200_003
    dropped = (~keep_mask(torch.Size([draws]), probability)).sum().item()
    deviation = math.sqrt(draws * probability * (1.0 - probability))
    assert abs(dropped - draws * probability) < 4.0 * deviation


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_the_expectation_is_preserved(probability: float) -> None:
    x = torch.ones(200_003)
    deviation = math.sqrt(probability / (1.0 - probability) / x.numel())
    assert abs(Dropout(probability)(x).mean().item() - 1.0) < 4.0 * deviation


def test_what_is_kept_is_divided_by_the_probability_of_keeping() -> None:
    x = torch.randn(1_009, dtype=torch.float64)
    dropped = Dropout(0.2)(x)
    kept = dropped != 0.0
    torch.testing.assert_close(dropped[kept], x[kept] / 0.8)


def test_the_gradient_passes_where_elements_were_kept() -> None:
    x = torch.randn(101, dtype=torch.float64, requires_grad=True)
    dropped = Dropout(0.4)(x)
    (gradient,) = torch.autograd.grad(dropped.sum(), x)
    torch.testing.assert_close(gradient, (dropped != 0.0).double() / 0.6)


@pytest.mark.parametrize("distance", [1, 2, 3, 4])
def test_elements_are_dropped_independently_of_their_neighbours(distance: int) -> None:
    # Four elements share one random integer; a shared bit would show in the correlation at a distance below four.
    kept = keep_mask(torch.Size([200_003]), 0.5).double() - 0.5
    correlation = (kept[distance:] * kept[:-distance]).mean().item() / 0.25
    assert abs(correlation) < 4.0 / math.sqrt(len(kept))


@pytest.mark.parametrize("place", range(4))
def test_every_quarter_of_a_random_integer_is_uniform(place: int) -> None:
    quarter = keep_mask(torch.Size([400_000]), 0.1)[place::4]
    assert abs((~quarter).double().mean().item() - 0.1) < 4.0 * math.sqrt(0.1 * 0.9 / len(quarter))


def test_the_seed_of_torch_makes_it_reproducible_and_every_call_differs() -> None:
    dropout, x = Dropout(0.5), torch.ones(67)
    torch.manual_seed(5)
    first, second = dropout(x), dropout(x)
    torch.manual_seed(5)
    assert torch.equal(dropout(x), first)
    assert not torch.equal(first, second)


@given(shape=st.lists(st.integers(0, 7), max_size=4), dtype=st.sampled_from([torch.float32, torch.bfloat16]))
def test_shape_and_precision_are_kept(shape: list[int], dtype: torch.dtype) -> None:
    x = torch.ones(shape, dtype=dtype)
    dropped = Dropout(0.3)(x)
    assert dropped.shape == x.shape
    assert dropped.dtype == dtype


def test_it_prints_its_probability() -> None:
    assert repr(Dropout(0.25)) == "Dropout(p=0.25)"
