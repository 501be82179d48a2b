import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.variants import POSITION_EXAMPLES
from torch import Tensor

from transformer_mt.attention.build_attention import build_attention, build_position, build_score
from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.attention.positions import (
    POSITIONS,
    Place,
    Position,
    Relative,
    rotated,
)
from transformer_mt.config.sections import AttentionConfig
from transformer_mt.ground.errors import InputError

pytestmark = pytest.mark.usefixtures("float64")

WIDTH, HEADS, D = 6, 3, 2
TOLERANCE = {"rtol": 0.0, "atol": 1e-10}


def sinusoid(i: int, c: int, width: int) -> float:
    """Component c of the encoding of position i (Vaswani et al. 2017, §3.5)."""
    angle = i / 10_000 ** (c // 2 * 2 / width)
    return math.sin(angle) if c % 2 == 0 else math.cos(angle)


# Component c of the encoding that a position adds to the embedding at position i, if it adds one.
ADDED = {"sinusoidal": sinusoid}

every_position = pytest.mark.parametrize("name", POSITIONS)


def attention_with(position: str, *, score: str = "scaled_dot", graph: str = "complete") -> MultiHeadAttention:
    config = AttentionConfig(heads=HEADS, score=score, position=position, graph=graph, dropout=0.0)
    attention = build_attention(config, width=WIDTH)("encoder")
    assert isinstance(attention, MultiHeadAttention)
    return attention


def position_of(text: str, score: str = "scaled_dot", *, heads: int = HEADS, causal: bool = False) -> Position:
    _, built = build_score(AttentionConfig(heads=heads, score=score), width=WIDTH)
    return build_position(text, Place(built, "decoder" if causal else "encoder", causal))


# On the embeddings


@every_position
@pytest.mark.parametrize(("width", "start"), [(6, 0), (6, 1_009), (7, 3)])
def test_embeddings_follow_the_formula(name: str, width: int, start: int) -> None:
    embeddings = torch.randn(2, 5, width)
    added = build_position(POSITION_EXAMPLES[name], None).embed(embeddings, start=start) - embeddings
    formula = ADDED.get(name, lambda *_: 0.0)
    expected = torch.tensor([[formula(start + n, c, width) for c in range(width)] for n in range(5)])
    torch.testing.assert_close(added, expected.expand(2, 5, width), **TOLERANCE)


@every_position
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_embeddings_keep_their_precision(name: str, dtype: torch.dtype) -> None:
    position = build_position(POSITION_EXAMPLES[name], None)
    assert position.embed(torch.randn(2, 5, 6, dtype=dtype), start=1).dtype == dtype


def test_distant_positions_are_exact_in_single_precision() -> None:
    # float32 angles would be off by far more than float32 values at the millionth position.
    encoded = build_position("sinusoidal", None).embed(torch.zeros(1, 1, 6, dtype=torch.float32), start=1_000_003)
    expected = torch.tensor([[[sinusoid(1_000_003, c, 6) for c in range(6)]]])
    torch.testing.assert_close(encoded, expected.float(), rtol=0.0, atol=1e-6)


# On the embeddings or in attention


@every_position
def test_only_a_model_without_positions_sees_a_bag_of_words(name: str) -> None:
    text = POSITION_EXAMPLES[name]
    embedding, attention = build_position(text, None), attention_with(text)
    words, order = torch.randn(2, 7, WIDTH), torch.tensor([3, 0, 6, 1, 5, 2, 4])

    def read(words: Tensor) -> Tensor:
        states = embedding.embed(words, start=0)
        output: Tensor = attention(states, attention.key_values(states))
        return output

    assert torch.allclose(read(words[:, order]), read(words)[:, order], **TOLERANCE) == (name == "none")


# Rotary


def as_complex(x: Tensor) -> Tensor:
    """Features 2t and 2t + 1 as one number."""
    return torch.complex(x[..., 0::2], x[..., 1::2])


def frequencies(width: int) -> Tensor:
    """θ_t = 10000^(−2t/d)."""
    return 10_000.0 ** (-torch.arange(0, width, 2) / width)


@given(width=st.sampled_from([2, 4, 10]), start=st.integers(0, 1_000), seed=st.integers(0, 999))
def test_rotation_is_multiplication_by_a_unit_complex_number(width: int, start: int, seed: int) -> None:
    torch.manual_seed(seed)
    x = torch.randn(2, 3, 5, width)
    angles = torch.arange(start, start + 5)[:, None] * frequencies(width)
    expected = as_complex(x) * (1j * angles).exp()
    torch.testing.assert_close(as_complex(rotated(x, start=start)), expected, **TOLERANCE)


# Relative


def distances(queries: int) -> Tensor:
    """i − j for the last `queries` of 7 positions i and all positions j."""
    return torch.arange(7 - queries, 7)[:, None] - torch.arange(7)


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "bilinear"])
@pytest.mark.parametrize("clip", [1, 2, 9])
@pytest.mark.parametrize("queries", [7, 3])
@torch.no_grad()
def test_relative_positions_follow_the_formula(score: str, clip: int, queries: int) -> None:
    attention = attention_with(f"relative({clip})", score=score)
    position, states = attention.position, torch.randn(2, 7, WIDTH)
    assert isinstance(position, Relative)
    places = distances(queries).neg().clamp(-clip, clip) + clip
    q = attention.projections.queries(states[:, 7 - queries :])[:, :, :, None]
    k = attention.projections.keys(states)[:, :, None] + position.to_keys.weight[places]
    v = attention.values(states)[:, :, None] + position.to_values.weight[places]
    weights = (attention.score.scale * (q * k).sum(dim=-1)).softmax(dim=-1)
    expected = attention.output((weights[..., None] * v).sum(dim=-2))
    output = attention(states[:, 7 - queries :], attention.key_values(states))
    torch.testing.assert_close(output, expected, **TOLERANCE)


@pytest.mark.parametrize("queries", [7, 3])
def test_alibi_has_a_slope_per_head(queries: int) -> None:
    scores = torch.randn(2, HEADS, queries, 7)
    biased = position_of("alibi").add_to_scores(scores, torch.empty(2, HEADS, queries, D))
    for head in range(HEADS):
        costs = 2.0 ** (-8 * (head + 1) / HEADS) * distances(queries).abs()
        torch.testing.assert_close(biased[:, head], scores[:, head] - costs, **TOLERANCE)


# Messages

WRONG = {
    ("sinusoid", "dot"): "'sinusoid' is unknown; did you mean sinusoidal? (or load its plugin: tmt --plugin FILE)",
    ("relative(0)", "dot"): "'relative(0)': the maximum distance must be at least 1",
    ("relative(2)", "cosine"): "'relative(2)': it adds to the keys of a dot product, and this score is not one; choose "
    "another score, or rotary",
    ("rotary", "additive"): "'rotary': it turns queries against keys, which this score does not multiply; choose "
    "another score, or sinusoidal",
}


@pytest.mark.parametrize(("position", "score"), WRONG)
def test_an_invalid_position_is_an_error_with_a_remedy(position: str, score: str) -> None:
    with pytest.raises(InputError) as raised:
        _ = build_position(position, None), position_of(position, score)
    assert str(raised.value) == f"model.attention.position: {WRONG[position, score]}"


def test_rotary_positions_need_pairs_of_features() -> None:
    with pytest.raises(InputError) as raised:
        position_of("rotary", heads=2)
    assert str(raised.value) == (
        "model.attention.position: 'rotary': it turns pairs of features, and a head has 3; make that number even"
    )
