"""Lengths of what is added, and rollout."""

import pytest
import torch
from support.pairs import pair_tokens
from support.tiny import tiny_model
from torch import Tensor

from transformer_mt.attention.linear import LinearAttention
from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.inspection.contributions import roll_out, value_norms
from transformer_mt.models.recurrent import SourceAttention
from transformer_mt.views.recording import record_attention

pytestmark = pytest.mark.usefixtures("float64")

INPUTS = pair_tokens([5, 7, 11, 6, 9], [8, 4]).inputs(torch.device("cpu"))
HEADS = 3


@pytest.mark.parametrize(
    "variant",
    [
        "model.attention.position=relative(2)",
        "model.attention.kind=linear",
        "model.attention.qk_projection=collaborative(4)",
    ],
)
@pytest.mark.parametrize("stack", ["encoder", "cross"])
def test_a_value_norm_is_what_the_output_changes_by_without_one_weight(variant: str, stack: str) -> None:
    model = tiny_model(variant)
    with torch.no_grad(), record_attention(model) as recording:
        model(*INPUTS)
    module, before, values = (
        each[1] for each in (model.attention_stacks()[stack], recording[stack], recording.values_of(stack))
    )
    assert isinstance(module, MultiHeadAttention | LinearAttention)

    def output(weights: Tensor) -> Tensor:
        heads = weights @ values
        if isinstance(module, MultiHeadAttention):
            heads = module.position.add_to_heads(heads, weights)
        with torch.no_grad():
            return module.output(heads)

    norms = value_norms(module, before, values)
    assert norms.shape == before.shape
    for head in range(HEADS):
        for query, key in ((0, 0), (1, 4), (2, 3)):
            switched = before.clone()
            switched[0, head, query, key] = 0.0
            change = output(before) - output(switched)
            torch.testing.assert_close(norms[0, head, query, key], change[0, query].norm())
            assert not change[0, :query].any()


def test_the_recurrent_decoder_s_are_weights_times_the_lengths_of_states() -> None:
    model = tiny_model("model.kind=recurrent", "model.score=additive")
    with torch.no_grad(), record_attention(model) as recording:
        model(*INPUTS)
    module = model.attention_stacks()["cross"][0]
    weights, values = torch.cat(recording["cross"]), recording.values_of("cross")[0]
    assert isinstance(module, SourceAttention)
    expected = weights[0, 0] * values[0, 0].norm(dim=-1)
    torch.testing.assert_close(value_norms(module, weights, values)[0, 0], expected)


def weights(layers: int, queries: int, keys: int) -> list[Tensor]:
    return [torch.rand(1, HEADS, queries, keys).softmax(dim=-1) for _ in range(layers)]


def test_rollout_is_the_product_of_two_layers_by_hand() -> None:
    stacks = {"encoder": weights(2, 5, 5), "decoder": weights(2, 7, 7), "cross": weights(2, 7, 5)}
    first, second = (0.5 * torch.eye(5) + 0.5 * layer[0].mean(dim=0) for layer in stacks["encoder"])
    below, above = (0.5 * torch.eye(7) + 0.5 * layer[0].mean(dim=0) for layer in stacks["decoder"])
    early, late = (layer[0].mean(dim=0) for layer in stacks["cross"])
    found = roll_out(stacks)
    torch.testing.assert_close(found["encoder"], second @ first)
    torch.testing.assert_close(found["decoder"], above @ below)
    # A half of each state after the first cross-attention, of which another half is left after the second.
    source = 0.25 * above @ early @ second @ first + 0.5 * late @ second @ first
    torch.testing.assert_close(found["cross"], source / 0.75)


def test_rows_of_rollout_sum_to_one() -> None:
    stacks = {"encoder": weights(3, 5, 5), "decoder": weights(2, 7, 7), "cross": weights(2, 7, 5)}
    stacks["encoder"][1][:, :, 2] = 0.0  # a token without neighbours
    for matrix in roll_out(stacks).values():
        torch.testing.assert_close(matrix.sum(dim=-1), torch.ones(len(matrix)))


def test_a_layer_without_heads_passes_everything_on() -> None:
    stacks = {"encoder": weights(2, 5, 5), "decoder": weights(2, 7, 7), "cross": weights(2, 7, 5)}
    found = roll_out(stacks)
    stacks["encoder"].append(torch.zeros(1, 0, 5, 5))
    torch.testing.assert_close(roll_out(stacks), found)
