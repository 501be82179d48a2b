"""`show`: watchers record values, and the forward pass continues with patched ones."""

from collections.abc import Callable
from contextlib import ExitStack

import pytest
import torch
from support.tiny import sentences, targets, tiny_model
from support.variants import RECURRENT, REPRESENTATIVES, VARIANTS, Variant, quick_for_some
from torch import Tensor

from transformer_mt.attention.hooks import is_watched, patch, record_values

pytestmark = pytest.mark.usefixtures("float64")

TOLERANCE = {"rtol": 0.0, "atol": 1e-10}


def changed(value: Tensor) -> Tensor:
    """Other numbers of the same type; integers are reordered."""
    if value.dtype == torch.bool:
        return value & (torch.rand(value.shape) < 0.5)
    return value + torch.rand_like(value) if value.is_floating_point() else value.flip(-1)


@quick_for_some(VARIANTS, REPRESENTATIVES[:2])
@torch.no_grad()
def test_patching_any_shown_value_changes_the_logits(variant: Variant) -> None:
    model, source, target = tiny_model(*variant), sentences(5, 3), targets(7, 4)
    with record_values(model) as values:
        expected = model(source, target)
    with ExitStack() as patches:
        for name, symbol in values:
            patches.enter_context(patch(model.get_submodule(name), symbol, torch.clone))
        torch.testing.assert_close(model(source, target), expected, **TOLERANCE)
    for name, symbol in values:
        with patch(model.get_submodule(name), symbol, changed):
            assert not torch.allclose(model(source, target), expected), f"{name} shows {symbol} and does not use it"


@pytest.mark.parametrize("residual", ["pre_norm", "post_norm"])
@pytest.mark.parametrize("place", ["encoder.1.self", "decoder.1.self", "decoder.1.cross", "decoder.1.feed_forward"])
@torch.no_grad()
def test_later_layers_see_only_the_patched_state(residual: str, place: str) -> None:
    model, source, target = tiny_model(f"model.residual={residual}"), sentences(5, 5), targets(7, 7)
    others = (source.flip(0), target) if place.startswith("encoder") else (source, target.flip(0))
    with record_values(model) as values:
        expected = model(source, target)
    key = f"{place}_residual", "x"
    with patch(model.get_submodule(key[0]), "x", lambda _: values[key][0]):
        found = model(*others)
    torch.testing.assert_close(found, expected, **TOLERANCE)


@pytest.mark.parametrize("symbol", ["x", "x′"])
@torch.no_grad()
def test_a_recurrent_decoder_continues_with_a_patched_state(symbol: str) -> None:
    model, source, target = tiny_model(RECURRENT, "model.score=none"), sentences(5, 3), targets(7, 4)
    with patch(model.decoder, symbol, torch.zeros_like), record_values(model) as values:
        model(source, target)
    states = values["decoder", "x"]
    assert len(states) == 7
    assert not torch.stack(states[1:]).any()


@torch.no_grad()
def test_an_inner_patch_acts_first_and_watchers_see_the_result() -> None:
    model, key = tiny_model(), ("encoder_norm", "norm(x)")
    with record_values(model) as values, patch(model.encoder_norm, key[1], lambda x: 0.0 * x + 3.0):
        with patch(model.encoder_norm, key[1], lambda x: x * torch.nan):
            model(sentences(5), targets(4))
        model(sentences(5), targets(4))
    first, second = values[key]
    assert first.isnan().all()
    assert (second == 3.0).all()


@pytest.mark.parametrize(
    ("symbol", "function", "problem"),
    [
        ("x", torch.zeros_like, "LayerNorm showed no 'x'"),
        ("norm(x)", lambda x: x[:, :1], r"norm\(x\) is .* shape \(1, 5, 6\), .* not .* shape \(1, 1, 6\), .*"),
        ("norm(x)", lambda x: x.to(torch.bfloat16), r"norm\(x\) is .*, torch.float\d+, .* not .*, torch.bfloat16, .*"),
        ("norm(x)", lambda x: x.to("meta"), r"norm\(x\) is .*, on cpu, not .*, on meta"),
        ("norm(x)", lambda x: None, r"norm\(x\) is .*, not of type NoneType"),
    ],
)
def test_a_patch_without_effect_is_an_error(symbol: str, function: Callable[[Tensor], Tensor], problem: str) -> None:
    model = tiny_model()
    with pytest.raises(ValueError, match=f"^patch: {problem}$"), patch(model.encoder_norm, symbol, function):
        model(sentences(5), targets(4))
    assert not is_watched()
