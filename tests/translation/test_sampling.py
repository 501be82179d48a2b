import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.translation.sampling import draw, keep_top_k, keep_top_p, temper

# All different, so that the largest ones are well-defined.
rows = st.lists(st.integers(-50, 50), min_size=1, max_size=11, unique=True).map(
    lambda row: torch.tensor([[value / 7 for value in row], [-value / 7 for value in row]], dtype=torch.float64)
)


@given(logits=rows, k=st.integers(0, 13))
def test_top_k_keeps_the_k_largest(logits: torch.Tensor, k: int) -> None:
    for row, kept in zip(logits.tolist(), keep_top_k(logits, k).tolist(), strict=True):
        largest = sorted(row, reverse=True)[: k or None]
        assert kept == [value if value in largest else -math.inf for value in row]


@given(logits=rows, p=st.sampled_from([1e-9, 0.123, 0.5, 0.9, 0.999, 1.0]))
def test_top_p_keeps_the_smallest_set_that_reaches_p(logits: torch.Tensor, p: float) -> None:
    for row, kept in zip(logits.tolist(), keep_top_p(logits, p).tolist(), strict=True):
        total = math.fsum(map(math.exp, row))
        nucleus: set[float] = set()
        for value in sorted(row, reverse=True):
            if math.fsum(map(math.exp, nucleus)) / total < p:
                nucleus.add(value)
        assert kept == [value if value in nucleus else -math.inf for value in row]


def test_top_p_keeps_one_of_two_equal_tokens() -> None:
    assert keep_top_p(torch.zeros(3, 2, dtype=torch.float64), 0.5).isfinite().sum(dim=1).tolist() == [1, 1, 1]


def test_top_k_keeps_exactly_k_of_equal_logits() -> None:
    assert keep_top_k(torch.zeros(2, 5), 3).isfinite().sum(dim=1).tolist() == [3, 3]


@given(logits=rows, temperature=st.sampled_from([1e-320, 0.1, 1.0, 7.0, 1e300]))
def test_temper_divides_differences_by_the_temperature(logits: torch.Tensor, temperature: float) -> None:
    expected = (logits - logits.max(dim=1, keepdim=True).values) / temperature
    torch.testing.assert_close(temper(logits, temperature), expected)
    assert not temper(logits, temperature).isnan().any()


def test_draw_inverts_the_cumulative_distribution() -> None:
    logits = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0], dtype=torch.float64).log()
    uniform = torch.tensor([0.0, 0.24, 0.25, 0.74, 0.75, 1 - 2**-24])
    assert draw(logits.repeat(6, 1), uniform).tolist() == [1, 1, 3, 3, 4, 4]


def test_draw_never_returns_tokens_of_probability_zero() -> None:
    logits = torch.randn(500, 13, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    logits[:, -5:] = -torch.inf
    assert int(draw(logits, torch.full((500,), 1 - 2**-24)).max()) == 7
