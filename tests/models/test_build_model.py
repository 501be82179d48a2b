import math

import pytest
import torch
from support.tiny import VOCABULARY, tiny_config, tiny_model
from support.variants import REPRESENTATIVES, VARIANTS, Variant, quick_for_some

from transformer_mt.ground.errors import InputError
from transformer_mt.models.build_model import build_model, build_transformer

pytestmark = pytest.mark.usefixtures("float64")

D, FEEDFORWARD = 6, 11


def message(*overrides: str) -> str:
    with pytest.raises(InputError) as raised:
        tiny_model(*overrides)
    return str(raised.value)


@pytest.mark.parametrize(
    ("tied", "source_is_target", "output_is_target"),
    [("all", True, True), ("target", False, True), ("none", False, False)],
)
def test_shares_vocabulary_matrices_as_configured(tied: str, source_is_target: bool, output_is_target: bool) -> None:
    model = build_transformer(tiny_config(f"model.tied={tied}"), VOCABULARY)
    source, target = model.source_embedding.table.weight, model.target_embedding.table.weight
    assert (source is target) == source_is_target
    assert (model.output.weight is target) == output_is_target


@pytest.mark.parametrize(
    ("width", "heads", "remedy"),
    [
        (256, 6, "set model.width to 258 or model.attention.heads to 4"),
        (7, 3, "set model.width to 9 or model.attention.heads to 1"),
        (3, 4, "set model.width to 4 or model.attention.heads to 3"),
    ],
)
def test_an_indivisible_width_suggests_sizes_that_fit(width: int, heads: int, remedy: str) -> None:
    expected = f"model.width: {width} is not divisible by {heads} heads; {remedy}"
    assert message(f"model.width={width}", f"model.attention.heads={heads}") == expected
    numbers = [int(word) for word in remedy.split() if word.isdigit()]
    assert math.remainder(numbers[0], heads) == math.remainder(width, numbers[1]) == 0


@quick_for_some(VARIANTS, REPRESENTATIVES)
def test_builds_a_model_without_memory_for_its_weights(variant: Variant) -> None:
    before = torch.get_rng_state()
    with torch.device("meta"):
        model = build_model(tiny_config(*variant), vocabulary_size=VOCABULARY)
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    assert torch.equal(torch.get_rng_state(), before)
    layout = {name: (tensor.dtype, tensor.shape) for name, tensor in model.state_dict().items()}
    built = tiny_model(*variant).state_dict()
    assert layout == {name: (tensor.dtype, tensor.shape) for name, tensor in built.items()}
