"""`record_attention` records all weights and changes nothing else."""

import pytest
import torch
from support.tiny import tiny_model

from transformer_mt.attention.hooks import is_watched
from transformer_mt.links.recording import record_attention
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import BOS, PAD

B, S, T = 3, 7, 5
LAYERS = {"encoder": 2, "decoder": 3, "cross": 3}


@pytest.fixture
def source() -> torch.Tensor:
    source = torch.randint(4, 100, (B, S))
    source[1, 4:] = PAD
    return source


@pytest.fixture
def target() -> torch.Tensor:
    target = torch.randint(4, 100, (B, T))
    target[:, 0] = BOS
    return target


def test_recording_ends_when_the_pass_fails(model: Seq2Seq, source: torch.Tensor, target: torch.Tensor) -> None:
    with pytest.raises(IndexError), record_attention(model) as maps:
        model(source, target.fill_(10**6))
    assert not is_watched()
    model(source, target.fill_(BOS))
    assert {stack: len(layers) for stack, layers in maps.items()} == {"encoder": 2, "decoder": 0, "cross": 0}


def test_nested_recordings_are_independent(model: Seq2Seq, source: torch.Tensor, target: torch.Tensor) -> None:
    with record_attention(model.eval()) as outer:
        state = model.start(source)
        with record_attention(model) as inner:
            model.decode(target, state)
    assert not inner["encoder"]
    assert len(outer["encoder"]) == LAYERS["encoder"]
    for stack in ("decoder", "cross"):
        assert len(inner[stack]) == LAYERS[stack]
        assert all(one is other for one, other in zip(inner[stack], outer[stack], strict=True))


def test_another_model_is_not_recorded(model: Seq2Seq, source: torch.Tensor, target: torch.Tensor) -> None:
    import copy

    other = copy.deepcopy(model)
    with record_attention(model) as maps:
        other(source, target)
    assert not any(maps.values())


def test_stepwise_decoding_records_the_same(model: Seq2Seq, source: torch.Tensor, target: torch.Tensor) -> None:
    with record_attention(model.eval()) as at_once:
        model(source, target)
    with record_attention(model) as in_steps:
        state = model.start(source)
        for tokens in target.split((1, 3, 1), dim=1):
            _, state = model.decode(tokens, state)
    for stack, layers in at_once.items():
        torch.testing.assert_close([*layers], [*in_steps[stack]])


def test_two_passes_in_one_recording_and_a_search_are_refused(
    model: Seq2Seq, source: torch.Tensor, target: torch.Tensor
) -> None:
    recurrent, few = tiny_model("model.kind=recurrent"), source % 9 + 4
    with record_attention(model) as twice:
        model(source, target)
        model(source, target)
    with record_attention(recurrent) as of_others:
        recurrent(few, target % 9 + 4)
        recurrent(few[:, :4], target % 9 + 4)
    with record_attention(model) as searched:
        _, state = model.decode(torch.full((B, 1), BOS), model.start(source))
        model.decode(torch.full((2, 1), 9), state.select(torch.tensor([2, 0])))
    for maps in (twice, of_others, searched):
        for stack in maps:
            with pytest.raises(ValueError, match="more than one pass, or a search; open one for each forward pass"):
                maps[stack]


def test_recorded_weights_have_gradients_if_enabled(model: Seq2Seq, source: torch.Tensor, target: torch.Tensor) -> None:
    with record_attention(model.eval()) as maps:
        logits = model(source, target)
    (gradient,) = torch.autograd.grad(logits[0, -1, 9], [maps["cross"][-1]])
    assert gradient[0, :, -1].any()
    assert not gradient[1:].any()
