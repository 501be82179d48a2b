"""xPos and T5's positions, as plugins."""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from models import test_seq2seq as contract
from support.plugins import FOLDER, loaded
from support.small_training import assert_resumed, opened
from support.tiny import tiny_model
from support.variants import Variant
from torch import Tensor

from transformer_mt.attention.build_attention import build_position, build_score
from transformer_mt.attention.positions import Place, Position, rotated
from transformer_mt.config.sections import AttentionConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.runs.weights import weights_of

pytestmark = pytest.mark.usefixtures("float64")

HEADS, D = 3, 4
TOLERANCE = {"rtol": 0.0, "atol": 1e-10}
VARIANTS: list[Variant] = [
    ("model.attention.position=xpos", "model.width=12"),
    ("model.attention.position=xpos", "model.width=12", "model.attention.qk_projection=collaborative(4)"),
    ("model.attention.position=t5(4, 3)",),
    ("model.attention.position=t5(4, 3)", "model.attention.score=additive", "model.attention.graph=band(2)"),
]


@pytest.fixture(autouse=True)
def plugins() -> Iterator[None]:
    with loaded(FOLDER / "xpos.py", FOLDER / "t5.py"):
        yield


def position_of(text: str, score: str = "scaled_dot", *, causal: bool = False) -> Position:
    _, built = build_score(AttentionConfig(heads=HEADS, score=score), width=HEADS * D)
    return build_position(text, Place(built, "decoder" if causal else "encoder", causal))


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
@pytest.mark.parametrize(
    "check",
    [
        contract.test_decoding_token_by_token_equals_decoding_at_once,
        contract.test_padding_changes_neither_outputs_nor_gradients,
        contract.test_no_gradient_flows_from_the_future,
    ],
)
def test_models_with_these_positions_keep_the_contract(check: Callable[..., Any], variant: Variant) -> None:
    check(variant)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("queries", [7, 3])
def test_xpos_is_rotary_with_decay_to_the_left(causal: bool, queries: int) -> None:
    q, k = torch.randn(2, HEADS, queries, D), torch.randn(2, HEADS, 7, D)
    found_q, found_k = position_of("xpos", causal=causal).rotate(q, k)
    turned_q, turned_k = rotated(q, start=7 - queries), rotated(k, start=0)
    between = torch.arange(7 - queries, 7)[:, None, None] - torch.arange(7)[:, None]  # i − j
    pairs = torch.tensor([0.0, 0.0, 0.5, 0.5])
    decay = ((pairs + 0.4) / 1.4) ** (between / 512) if causal else torch.ones(())
    expected = (decay * turned_q[:, :, :, None] * turned_k[:, :, None]).sum(dim=-1)
    torch.testing.assert_close(found_q @ found_k.mT, expected, **TOLERANCE)


def bucket(right: int, buckets: int, largest: int, *, causal: bool) -> int:
    """The bucket of a key this far to the right, in integer arithmetic (Raffel et al. 2020, §2.1).

    A direction has 2m buckets, e = m of them exact. Bucket e + k begins where (n/e)^m is at least (largest/e)^k.
    """
    each = buckets if causal else buckets // 2
    offset = each if right > 0 and not causal else 0
    n, exact = (max(0, -right) if causal else abs(right)), each // 2
    ranges = each - exact
    begun = [k for k in range(ranges) if n**ranges * exact**k >= largest**k * exact**ranges]
    return offset + (n if n < exact else exact + begun[-1])


@pytest.mark.parametrize(("buckets", "largest"), [(4, 3), (8, 5), (32, 128), (36, 32), (12, 101)])
@pytest.mark.parametrize("causal", [True, False])
def test_t5_adds_a_number_per_bucket_and_head(buckets: int, largest: int, causal: bool) -> None:
    position: Any = position_of(f"t5({buckets}, {largest})", "euclidean", causal=causal)
    n, k = 2 * largest, largest + 3  # n keys, with the last k positions as queries
    added: Tensor = position.add_to_scores(torch.zeros(1, HEADS, k, n), torch.empty(1, HEADS, k, D))
    for i, j in product((0, k - 1), range(n)):
        numbers = position.terms.weight[bucket(j - (n - k + i), buckets, largest, causal=causal)]
        torch.testing.assert_close(added[0, :, i, j], numbers, **TOLERANCE)


def test_only_t5_shares_a_table_between_layers() -> None:
    for text, tables in (("t5(4, 3)", 2), ("relative(2)", 8)):
        model = tiny_model(f"model.attention.position={text}")
        positions = [layer.self_attention.position for layer in (*model.encoder, *model.decoder)]
        assert len({*map(id, positions)}) == (2 if tables == 2 else 4)
        assert sum(".position." in name for name in weights_of(model)) == tables


BUCKETS = "the buckets must be even, at least 4, and fewer than twice the maximum distance"
WRONG = {
    ("xpos", "cosine"): "it scales keys of a dot product, and this score is not one; choose another, or rotary",
    ("xpos", "additive"): "it turns queries against keys, which this score does not multiply; choose another score, or "
    "sinusoidal",
    **{(text, "dot"): BUCKETS for text in ("t5(2, 9)", "t5(5, 9)", "t5(8, 4)")},
}


@pytest.mark.parametrize(("position", "score"), WRONG)
def test_an_invalid_position_is_an_error_with_a_remedy(position: str, score: str) -> None:
    with pytest.raises(InputError) as raised:
        position_of(position, score)
    assert str(raised.value) == f"model.attention.position: {position!r}: {WRONG[position, score]}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["xpos", "t5(32, 128)"])
def test_resumes_bit_for_bit(name: str, tmp_path: Path) -> None:
    torch.set_default_dtype(torch.float32)
    assert_resumed(lambda path: opened(path, f"model.attention.position={name}"), tmp_path)
