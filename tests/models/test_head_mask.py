"""Heads turned off or scaled by a factor."""

import pytest
import torch
from support.shown import values_of
from support.tiny import tiny_config, tiny_model
from support.variants import RECURRENT
from torch import Tensor

from transformer_mt.attention.multihead import Attention
from transformer_mt.config.toml import load_config
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.models.build_model import build_model
from transformer_mt.models.head_mask import gated, head_names, mask_heads, without_heads
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.runs.weights import specs_of, weights_of


@pytest.fixture
def model() -> Seq2Seq:
    torch.manual_seed(3)
    return tiny_model("model.width=10", "model.attention.heads=5", vocabulary=31)


SOURCE, TARGET = torch.tensor([[5, 7, 3], [11, 13, 3]]), torch.tensor([[2, 17, 19], [2, 23, 29]])


def logits(model: Seq2Seq) -> Tensor:
    with evaluating(model):
        return model(SOURCE, TARGET).clone()


def test_names_heads_by_stack_layer_and_number(model: Seq2Seq) -> None:
    names = list(map(str, head_names(model)))
    assert len(names) == len(set(names)) == sum(len(stack) for stack in model.attention_stacks().values()) * 5
    assert {"encoder.1.1", "decoder.2.5", "cross.1.3"} <= set(names)
    assert HeadName.parse("cross.2.1", key="x") == HeadName("cross", 2, 1)


@pytest.mark.parametrize("text", ["cross.2", "cross.0.1", "crossing.1.1", "cross.1.1 ", "cross.1.00001", ""])
def test_an_invalid_head_name_is_an_error(text: str) -> None:
    with pytest.raises(
        InputError, match=r"^--without: '.*' is not a head; write stack, layer and head, as in cross.2.1$"
    ):
        HeadName.parse(text, key="--without")


def test_turning_a_head_off_zeroes_its_part_of_the_output(model: Seq2Seq) -> None:
    before = logits(model)
    with without_heads(model, [HeadName("cross", 2, 3)]):
        off = logits(model)
    assert torch.equal(before, logits(model))
    module = model.attention_stacks()["cross"][1]
    assert isinstance(module, Attention)
    width = module.output_projection.in_features // 5
    with torch.no_grad():
        module.output_projection.weight[:, 2 * width : 3 * width] = 0.0
    torch.testing.assert_close(off, logits(model))
    assert not torch.allclose(off, before)


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
def test_search_respects_turned_off_heads(stack: str, model: Seq2Seq) -> None:
    off = [name for name in head_names(model) if name.stack == stack and name.head != 2]
    before = logits(model)
    with evaluating(model), without_heads(model, off):
        read, state = model.decode(TARGET[:, :1], model.start(SOURCE))
        found, state = [read], state.select(torch.arange(2))  # from here on, hypotheses share a sentence
        for place in (1, 2):
            read, state = model.decode(TARGET[:, place : place + 1], state)
            found.append(read)
        expected = model(SOURCE, TARGET)
    torch.testing.assert_close(torch.cat(found, dim=1), expected)
    assert not torch.allclose(expected, before)


def test_the_gradient_of_a_gate_covers_only_its_sentence(model: Seq2Seq) -> None:
    module = model.attention_stacks()["encoder"][0]
    gates = torch.ones(2, 5, requires_grad=True)
    with evaluating(model, gradients=True), gated({module: gates}):
        model(SOURCE, TARGET)[1].sum().backward()
    assert gates.grad is not None
    assert not gates.grad[0].any()
    assert gates.grad[1].all()


MASKED = ["cross.1.2", "decoder.2.1", "decoder.2.2", "encoder.1.5"]


def test_the_configuration_turns_heads_off_like_the_options(model: Seq2Seq) -> None:
    config = tiny_config("model.width=10", "model.attention.heads=5", f"model.attention.head_mask={MASKED}")
    masked = build_model(config, vocabulary_size=31).eval()
    assert specs_of(weights_of(masked)) == specs_of(weights_of(model))
    masked.load_state_dict(model.state_dict())
    names = [HeadName.parse(text, key="test") for text in MASKED]
    with without_heads(model, names):
        torch.testing.assert_close(logits(masked), logits(model), rtol=0.0, atol=0.0)
    assert not torch.allclose(logits(masked), logits(model))
    assert head_names(masked) == [name for name in head_names(model) if name not in names]
    with without_heads(masked, [HeadName("cross", 1, 1)]), without_heads(model, [*names, HeadName("cross", 1, 1)]):
        torch.testing.assert_close(logits(masked), logits(model), rtol=0.0, atol=0.0)


def test_refuses_a_masked_or_unknown_head(model: Seq2Seq) -> None:
    mask_heads(model, [HeadName("cross", 2, 3)], key="test")
    for name in (HeadName("cross", 2, 3), HeadName("cross", 2, 6), HeadName("cross", 9, 1)):
        message = rf"^key: the model has no head {name}; it has encoder.1.1 to .*, cross.1.1 to cross.\d.5$"
        with pytest.raises(InputError, match=message):
            mask_heads(model, [name], key="key")


def test_a_recurrent_model_without_its_head_reads_no_context() -> None:
    model = tiny_model(RECURRENT, vocabulary=31)
    with without_heads(model, head_names(model)), values_of("y") as contexts:
        logits(model)
    assert len(contexts) == 3
    assert not any(context.any() for _, context in contexts)


def test_the_configuration_refuses_an_invalid_head_name() -> None:
    with pytest.raises(InputError, match=r"model.attention.head_mask.1: string should match pattern"):
        load_config(None, ["model.attention.head_mask=['cross.1.1', 'cross.0.1']"])
