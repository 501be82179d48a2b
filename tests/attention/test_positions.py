import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.attention.positions import POSITIONS, build_position, sinusoids
from transformer_mt.errors import InputError

pytestmark = pytest.mark.usefixtures("float64")

CPU = torch.device("cpu")


def sinusoid(i: int, c: int, width: int) -> float:
    """Component c of the encoding of position i (Vaswani et al. 2017, §3.5)."""
    angle = i / 10_000 ** (c // 2 * 2 / width)
    return math.sin(angle) if c % 2 == 0 else math.cos(angle)


# What each entry of POSITIONS adds to component c of the embedding at position i.
ADDED: dict[str, Callable[[int, int, int], float]] = {
    "none": lambda i, c, width: 0.0,
    "sinusoidal": sinusoid,
}


@pytest.mark.parametrize("width", [6, 7])
@pytest.mark.parametrize("start", [0, 3, 1_009])
def test_sinusoids_follow_the_formula(width: int, start: int) -> None:
    encoding = sinusoids(start, 5, width=width, device=CPU)
    expected = [[sinusoid(start + n, c, width) for c in range(width)] for n in range(5)]
    torch.testing.assert_close(encoding, torch.tensor(expected), rtol=0.0, atol=1e-10)


def test_sinusoids_of_a_shift_are_a_rotation_that_does_not_depend_on_the_position() -> None:
    pairs = sinusoids(0, 29, width=6, device=CPU).unflatten(-1, (3, 2))  # N D/2 2: sine, cosine
    products = torch.einsum("itc,jtc->ijt", pairs, pairs)
    for shift in range(-28, 29):
        diagonal = products.diagonal(shift)  # D/2 N
        torch.testing.assert_close(diagonal, diagonal[:, :1].expand_as(diagonal), rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("start", [0, 3])
def test_embedding_adds_what_the_formula_says(name: str, start: int) -> None:
    assert name in ADDED, "write what the encoding adds into ADDED"
    embeddings = torch.randn(2, 5, 6)
    added = build_position(name).embed(embeddings, start=start) - embeddings
    expected = torch.tensor([[ADDED[name](start + n, c, 6) for c in range(6)] for n in range(5)])
    torch.testing.assert_close(added, expected.expand(2, 5, 6), rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("name", POSITIONS)
@given(start=st.integers(0, 11), length=st.integers(1, 7))
def test_embedding_a_part_equals_that_part_of_the_whole(name: str, start: int, length: int) -> None:
    position = build_position(name)
    embeddings = torch.randn(2, 18, 6)
    part = slice(start, start + length)
    torch.testing.assert_close(
        position.embed(embeddings[:, part], start=start), position.embed(embeddings, start=0)[:, part]
    )


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_embeddings_keep_their_precision(name: str, dtype: torch.dtype) -> None:
    assert build_position(name).embed(torch.randn(2, 5, 6, dtype=dtype), start=1).dtype == dtype


def test_distant_positions_are_exact_in_single_precision() -> None:
    # float32 angles would be off by far more than float32 values at the millionth position.
    encoded = build_position("sinusoidal").embed(torch.zeros(1, 1, 6, dtype=torch.float32), start=1_000_003)
    expected = torch.tensor([[[sinusoid(1_000_003, c, 6) for c in range(6)]]])
    torch.testing.assert_close(encoded, expected.float(), rtol=0.0, atol=1e-6)


def test_an_unknown_position_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InputError) as raised:
        build_position("sinusoid")
    assert str(raised.value) == "model.attention.position: there is no 'sinusoid'; did you mean sinusoidal?"
