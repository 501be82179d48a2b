import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from transformer_mt.models.dropout import Dropout, drawn_bits, scaled_mask


def dropped(count: int, probability: float) -> Tensor:
    """Which of this many elements are dropped."""
    return scaled_mask(torch.Size([count]), probability, dtype=torch.float32) == 0.0


@given(probability=st.floats(1e-3, 0.999))
def test_the_rounded_rate_is_within_two_percent(probability: float) -> None:
    bits, threshold = drawn_bits(probability)
    assert bits in (8, 16)
    assert threshold / 2**bits == pytest.approx(probability, rel=0.02)


@pytest.mark.parametrize("probability", [0.003, 0.1, 0.3, 0.5, 0.9])
def test_the_share_of_zeros_is_the_rounded_rate(probability: float) -> None:
    draws, (bits, threshold) = 1_000_003, drawn_bits(probability)
    share = threshold / 2**bits
    deviation = math.sqrt(draws * share * (1.0 - share))
    assert abs(dropped(draws, probability).sum().item() - draws * share) < 4.0 * deviation


@pytest.mark.parametrize("probability", [0.9981, 0.999999, math.nextafter(1.0, 0.0)])
def test_never_drops_everything(probability: float) -> None:
    bits, threshold = drawn_bits(probability)
    assert threshold < 2**bits
    assert Dropout(probability)(torch.randn(2, 3)).isfinite().all()


def test_scales_kept_elements_and_their_gradient() -> None:
    x = torch.randn(1_009, dtype=torch.float64, requires_grad=True)
    output = Dropout(0.2)(x)
    (gradient,) = torch.autograd.grad(output.sum(), x)
    torch.testing.assert_close(gradient, (output != 0.0).double() / (1.0 - 51 / 256))
    torch.testing.assert_close(output, x * gradient)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("probability", [0.0, 0.4])
def test_adds_the_result_to_another_tensor(training: bool, probability: float) -> None:
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
def test_drops_neighbours_independently(distance: int, share: float) -> None:
    # Up to eight elements share one random integer; a shared bit would correlate elements less than eight apart.
    zeros = dropped(200_003, share).double() - 0.5
    correlation = (zeros[distance:] * zeros[:-distance]).mean().item() / 0.25
    assert abs(correlation) < 4.0 / math.sqrt(len(zeros))


def test_follows_the_seed_of_torch_and_differs_between_calls() -> None:
    dropout, x = Dropout(0.5), torch.ones(67)
    torch.manual_seed(5)
    first, second = dropout(x), dropout(x)
    torch.manual_seed(5)
    assert torch.equal(dropout(x), first)
    assert not torch.equal(first, second)


@given(shape=st.lists(st.integers(0, 7), max_size=4), dtype=st.sampled_from([torch.float32, torch.bfloat16]))
def test_keeps_shape_and_precision(shape: list[int], dtype: torch.dtype) -> None:
    x = torch.ones(shape, dtype=dtype)
    output = Dropout(0.3)(x)
    assert output.shape == x.shape
    assert output.dtype == dtype


def test_draws_nothing_in_evaluation_or_at_rate_zero() -> None:
    x, before = torch.ones(5), torch.get_rng_state()
    assert Dropout(0.0).train()(x) is x
    assert Dropout(0.5).eval()(x) is x
    assert torch.get_rng_state().equal(before)


def test_adds_the_result_on_other_devices_too() -> None:
    x, onto = torch.ones(3, device="meta"), torch.ones(2, 3, device="meta")
    assert Dropout(0.3).train()(x, onto).shape == (2, 3)


def test_scales_low_precision_in_single_precision() -> None:
    x = torch.arange(1, 200).bfloat16()
    left = Dropout(0.1).train()(x)
    bits, threshold = drawn_bits(0.1)
    kept = (x.float() / (1 - threshold / 2**bits)).bfloat16()
    assert left.equal(torch.where(left == 0, 0, kept))
