"""Models without some of their heads: what is left is computed as before, in every variant."""

import re

import pytest
import torch
from support.tiny import gradients, sentences, targets, tiny_config, tiny_model
from support.variants import RECURRENT, VARIANTS, Variant

from transformer_mt.attention.multihead import Attention
from transformer_mt.config.toml import load_config
from transformer_mt.errors import InputError
from transformer_mt.inspection.gates import head_names, without_heads
from transformer_mt.inspection.recording import record_attention
from transformer_mt.models.build import build_model
from transformer_mt.models.pruning import leave_out
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import HeadName
from transformer_mt.runs.weights import layout_of, load_weights, weights_of

pytestmark = pytest.mark.usefixtures("float64")

# Of the three heads of each layer: one of the first, all of a layer, two, and of every stack some.
PRUNED = ("encoder.1.1", "decoder.1.3", "decoder.2.1", "decoder.2.2", "decoder.2.3", "cross.1.1", "cross.1.2")
NAMES = [HeadName.parse(text, key="test") for text in PRUNED]
OVERRIDE = f"model.attention.pruned={list(PRUNED)}"
# What does not act in attention cannot matter here.
TRANSFORMERS = [variant for variant in VARIANTS if RECURRENT not in variant and "model.attention" in " ".join(variant)]

every_transformer = pytest.mark.parametrize("variant", TRANSFORMERS, ids=" ".join)
a_few = pytest.mark.parametrize(
    "variant", [("model.attention.kind=linear",), ("model.attention.position=alibi",)], ids=" ".join
)


def pruned_twin(whole: Seq2Seq, *variant: str) -> Seq2Seq:
    """The model of a configuration with `PRUNED`, filled with the whole one's weights."""
    cut = tiny_model(*variant)
    load_weights(cut, weights_of(whole))
    leave_out(cut, NAMES)
    built = tiny_model(*variant, OVERRIDE)
    assert layout_of(weights_of(cut)) == layout_of(weights_of(built))
    load_weights(built, weights_of(cut))
    return built


@every_transformer
@torch.no_grad()
def test_a_pruned_model_computes_what_the_whole_one_does_with_these_heads_off(variant: Variant) -> None:
    whole = tiny_model(*variant)
    pruned = pruned_twin(whole, *variant)
    source, target = sentences(5, 3), targets(7, 4)
    with without_heads(whole, NAMES):
        expected = whole(source, target)
    torch.testing.assert_close(pruned(source, target), expected, rtol=0.0, atol=1e-10)
    assert not torch.allclose(whole(source, target), expected)


@a_few
@torch.no_grad()
def test_a_pruned_model_reads_its_target_token_by_token(variant: Variant) -> None:
    pruned, target = tiny_model(*variant, OVERRIDE), targets(5, 5)
    state = pruned.start(sentences(5, 3))
    whole, _ = pruned.decode(target, state)
    for t in range(5):
        logits, state = pruned.decode(target[:, t : t + 1], state)
        torch.testing.assert_close(logits[:, 0], whole[:, t], rtol=0.0, atol=1e-10)


@a_few
@torch.no_grad()
def test_recordings_keep_a_slot_for_every_head(variant: Variant) -> None:
    whole = tiny_model(*variant)
    pruned = pruned_twin(whole, *variant)
    source, target = sentences(5, 3), targets(7, 4)
    with without_heads(whole, NAMES), record_attention(whole) as expected:
        whole(source, target)
    with record_attention(pruned) as found:
        pruned(source, target)
    for stack in expected:
        all_heads, slots = expected.stacked(stack).clone(), found.stacked(stack)
        for _, layer, head in (name for name in NAMES if name.stack == stack):
            assert not slots[:, layer - 1, head - 1].any()
            all_heads[:, layer - 1, head - 1] = 0.0
        torch.testing.assert_close(slots, all_heads, rtol=0.0, atol=1e-10)


def test_the_heads_that_are_left_keep_their_numbers() -> None:
    assert set(head_names(tiny_model(OVERRIDE))) == set(head_names(tiny_model())) - set(NAMES)


def test_what_is_left_out_is_not_computed() -> None:
    modules = tiny_model(OVERRIDE).attention_stacks()
    rows = [[module.value_projection.out_features for module in modules["cross"] if isinstance(module, Attention)]]
    assert rows == [[2, 6]]
    assert [name for name, _ in modules["decoder"][1].named_parameters()] == ["output_projection.bias"]
    sizes = [sum(map(torch.numel, tiny_model(*overrides).parameters())) for overrides in ((), (OVERRIDE,))]
    assert sizes[0] - sizes[1] == len(PRUNED) * 4 * 6 * 2


def test_everything_that_is_left_learns() -> None:
    model = tiny_model(OVERRIDE)
    found = gradients(model, model(sentences(5, 3), targets(7, 4)).square().sum())
    still = {name for name, gradient in found.items() if not gradient.any()}
    assert still == {"decoder.1.self_residual.norm.weight", "decoder.1.self_residual.norm.bias"}  # which nothing reads


def test_heads_can_be_left_out_one_after_the_other() -> None:
    model = tiny_model()
    for name in reversed(NAMES):
        leave_out(model, [name])
    assert layout_of(weights_of(model)) == layout_of(weights_of(tiny_model(OVERRIDE)))
    assert head_names(model) == head_names(tiny_model(OVERRIDE))


@pytest.mark.parametrize(
    ("heads", "problem"),
    [
        (["cross.1.4"], "there is no head cross.1.4 to leave out; cross.1 has the heads 1, 2, 3"),
        (["cross.3.1"], "there is no head cross.3.1 to leave out; cross has 2 layers"),
        (["cross.1.1", "cross.1.1"], "cross.1.1 is named twice; name it once"),
    ],
)
def test_heads_that_cannot_be_left_out_are_named(heads: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(f'model.attention.pruned: {problem}')}$"):
        build_model(tiny_config(f"model.attention.pruned={heads}"), vocabulary_size=13)


@pytest.mark.parametrize(
    ("override", "there"),
    [(OVERRIDE, "decoder.2 has no heads that can be left out"), (RECURRENT, "decoder has 0 layers")],
)
def test_heads_that_are_gone_or_never_were_are_named(override: str, there: str) -> None:
    problem = f"model.attention.pruned: there is no head decoder.2.1 to leave out; {there}"
    with pytest.raises(InputError, match=f"^{re.escape(problem)}$"):
        leave_out(tiny_model(override), [HeadName("decoder", 2, 1)])


def test_what_names_no_head_is_refused_by_the_configuration() -> None:
    with pytest.raises(InputError) as raised:
        load_config(None, ["model.attention.pruned=['cross.1.1', 'cross.0.1']"])
    assert str(raised.value).endswith(
        "model.attention.pruned.1: input should be stack, layer and head, as in cross.2.1, not 'cross.0.1'; "
        "correct the value"
    )
