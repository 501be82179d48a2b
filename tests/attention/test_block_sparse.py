"""The block-sparse kernel, uncompiled: the same function that runs compiled where there is a GPU."""

import pytest
import torch
from support.variants import GRAPH_EXAMPLES

from transformer_mt.attention.build import build_score
from transformer_mt.attention.graphs import build_graph
from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.attention.positions import NoAttentionPosition
from transformer_mt.config.sections import AttentionConfig

WIDTH, HEADS = 6, 3
# Of a complete graph no block can be left out.
SPARSE = [
    *(spelling for name, spelling in GRAPH_EXAMPLES.items() if name != "complete"),
    "band(2) & causal | edges(0, 5, 6, 1)",
]


def build(graph: str, score: str = "scaled_dot", sharing: str = "independent") -> MultiHeadAttention:
    config = AttentionConfig(heads=HEADS, score=score, sharing=sharing)
    projections, built = build_score(config, width=WIDTH)
    return MultiHeadAttention(projections, built, NoAttentionPosition(built), build_graph(graph), dropout=0.0).eval()


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("graph", SPARSE)
@pytest.mark.parametrize(
    ("score", "sharing"), [("scaled_dot", "independent"), ("bilinear", "independent"), ("dot", "collaborative(5)")]
)
@pytest.mark.parametrize("padded", [True, False])
@torch.inference_mode()
def test_skipping_empty_blocks_changes_nothing(graph: str, score: str, sharing: str, padded: bool) -> None:
    attention = build(graph, score, sharing)
    real = torch.arange(7) < torch.tensor([7, 4, 0])[:, None] if padded else None
    states = torch.randn(3, 7, WIDTH)
    key_values, queries = attention.key_values(states, real), attention.projections.queries(states[:, 2:])
    inputs = queries, key_values.keys, key_values.values, attention.mask(5, key_values)
    torch.testing.assert_close(attention.attend_blocks(*inputs), attention.attend(*inputs))


def test_a_graph_is_dense_when_it_leaves_out_no_more_than_the_future() -> None:
    dense = {name for name, spelling in GRAPH_EXAMPLES.items() if build_graph(spelling).dense}
    assert dense == {"complete", "causal"}
    assert not build_graph("band(2) & causal").dense
    assert build_graph("band(2) | causal").dense
