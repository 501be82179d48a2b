import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from transformer_mt.models.dropout import Dropout, drawn_bits, scaled_mask


def dropped(count: int, probability: float) -> Tensor:
    """Which of so many elements are dropped."""
    return scaled_mask(torch.Size([count]), probability, dtype=torch.float32) == 0.0


@given(probability=st.floats(1e-3, 0.999))
def test_the_probability_that_is_drawn_is_within_two_percent_of_the_one_that_was_set(probability: float) -> None:
    bits, threshold = drawn_bits(probability)
    assert bits in (8, 16)
    assert threshold / 2**bits == pytest.approx(probability, rel=0.02)


@pytest.mark.parametrize("probability", [0.003, 0.1, 0.3, 0.5, 0.9])
def test_the_share_of_zeros_is_the_probability_that_is_drawn(probability: float) -> None:
    draws, (bits, threshold) = 1_000_003, drawn_bits(probability)
    share = threshold / 2**bits
    deviation = math.sqrt(draws * share * (1.0 - share))
    assert abs(dropped(draws, probability).sum().item() - draws * share) < 4.0 * deviation


@pytest.mark.parametrize("probability", [0.9981, 0.999999, math.nextafter(1.0, 0.0)])
def test_however_high_the_probability_something_is_kept(probability: float) -> None:
    bits, threshold = drawn_bits(probability)
    assert threshold < 2**bits
    assert Dropout(probability)(torch.randn(2, 3)).isfinite().all()


def test_what_is_kept_and_its_gradient_are_divided_by_the_probability_of_keeping() -> None:
    x = torch.randn(1_009, dtype=torch.float64, requires_grad=True)
    output = Dropout(0.2)(x)
    (gradient,) = torch.autograd.grad(output.sum(), x)
    torch.testing.assert_close(gradient, (output != 0.0).double() / (1.0 - 51 / 256))
    torch.testing.assert_close(output, x * gradient)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("probability", [0.0, 0.4])
def test_what_is_left_can_be_added_to_something(training: bool, probability: float) -> None:
    dropout = Dropout(probability).train(training)
    x, onto, direction = (torch.randn(7, 11, dtype=torch.float64, requires_grad=True) for _ in range(3))
    found = []
    for add in (lambda: dropout(x, onto=onto), lambda: onto + dropout(x)):
        torch.manual_seed(3)
        output = add()
        found.append((output, *torch.autograd.grad((output * direction).sum(), (x, onto))))
    torch.testing.assert_close(found[0], found[1])


@pytest.mark.parametrize("distance", range(1, 9))
@pytest.mark.parametrize("share", [0.5, 0.503])
def test_elements_are_dropped_independently_of_their_neighbours(distance: int, share: float) -> None:
    # Up to eight elements share one random integer; a shared bit would show in the correlation at a distance below it.
    zeros = dropped(200_003, share).double() - 0.5
    correlation = (zeros[distance:] * zeros[:-distance]).mean().item() / 0.25
    assert abs(correlation) < 4.0 / math.sqrt(len(zeros))


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
    output = Dropout(0.3)(x)
    assert output.shape == x.shape
    assert output.dtype == dtype


def test_in_evaluation_and_without_a_probability_nothing_is_drawn() -> None:
    x, before = torch.ones(5), torch.get_rng_state()
    assert Dropout(0.0).train()(x) is x
    assert Dropout(0.5).eval()(x) is x
    assert torch.get_rng_state().equal(before)


def test_on_other_devices_too_what_is_left_is_added() -> None:
    x, onto = torch.ones(3, device="meta"), torch.ones(2, 3, device="meta")
    assert Dropout(0.3).train()(x, onto).shape == (2, 3)


def test_low_precision_is_divided_in_single_precision() -> None:
    x = torch.arange(1, 200).bfloat16()
    left = Dropout(0.1).train()(x)
    bits, threshold = drawn_bits(0.1)
    kept = (x.float() / (1 - threshold / 2**bits)).bfloat16()
    assert left.equal(torch.where(left == 0, 0, kept))
