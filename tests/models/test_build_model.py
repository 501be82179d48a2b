import inspect
import math
from collections.abc import Iterable

import pytest
import torch
from support.tiny import VOCABULARY, gradients, sentences, targets, tiny_config, tiny_model
from support.variants import REPRESENTATIVES, VARIANTS, Variant, quick_for_some

from transformer_mt.attention.graphs import GRAPHS, Graph
from transformer_mt.attention.linear import LinearAttention
from transformer_mt.attention.multihead import Attention, MultiHeadAttention
from transformer_mt.attention.positions import POSITIONS, AttentionPosition
from transformer_mt.attention.scores import SCORES, Score
from transformer_mt.errors import InputError
from transformer_mt.models.blocks import NORMS, RESIDUALS, Norm, Residual
from transformer_mt.models.build_model import build_model, build_transformer
from transformer_mt.models.positionwise import FEED_FORWARDS, FeedForward
from transformer_mt.models.recurrent import FinalStates, RecurrentSeq2Seq, SourceAttention, SourceReader
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.models.transformer import Transformer

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
def test_the_matrices_of_the_vocabulary_are_shared_as_configured(
    tied: str, source_is_target: bool, output_is_target: bool
) -> None:
    model = build_transformer(tiny_config(f"model.tied={tied}"), VOCABULARY)
    source, target = model.source_embedding.table.weight, model.target_embedding.table.weight
    assert (source is target) == source_is_target
    assert (model.output.weight is target) == output_is_target


@pytest.mark.parametrize(("tied", "matrices"), [("all", 1), ("target", 2), ("none", 3)])
def test_the_number_of_parameters_is_that_of_the_paper(tied: str, matrices: int) -> None:
    norm, attention = 2 * D, 4 * D * D + D
    feed_forward = (D + 1) * FEEDFORWARD + (FEEDFORWARD + 1) * D
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    expected = matrices * VOCABULARY * D + VOCABULARY + 2 * encoder_layer + 2 * decoder_layer + 2 * norm
    assert sum(p.numel() for p in tiny_model(f"model.tied={tied}").parameters()) == expected


def test_a_shared_matrix_gets_the_sum_of_the_gradients_of_its_parts() -> None:
    tied, untied = tiny_model("model.tied=all"), tiny_model("model.tied=none")
    untied.load_state_dict(tied.state_dict())
    source, target = sentences(5, 3), targets(7, 4)
    shared = gradients(tied, tied(source, target).square().sum())
    parts = gradients(untied, untied(source, target).square().sum())
    expected = sum(parts[f"{name}.weight"] for name in ("source_embedding.table", "target_embedding.table", "output"))
    torch.testing.assert_close(shared["source_embedding.table.weight"], expected, rtol=0.0, atol=1e-10)


def test_the_model_has_the_sizes_of_its_configuration() -> None:
    config = tiny_config(
        "model.encoder_layers=1", "model.decoder_layers=3", "model.max_length=17", "model.attention.heads=2"
    )
    model = build_transformer(config, VOCABULARY)
    assert (len(model.encoder), len(model.decoder), model.max_length) == (1, 3, 17)
    assert {module.heads for stack in model.attention_stacks().values() for module in stack} == {2}


@pytest.mark.parametrize(
    ("width", "heads", "remedy"),
    [
        (256, 6, "set model.width to 258 or model.attention.heads to 4"),
        (7, 3, "set model.width to 9 or model.attention.heads to 1"),
        (3, 4, "set model.width to 4 or model.attention.heads to 3"),
    ],
)
def test_a_width_that_heads_cannot_share_is_answered_with_sizes_that_fit(width: int, heads: int, remedy: str) -> None:
    expected = f"model.width: {width} is not divisible by {heads} heads; {remedy}"
    assert message(f"model.width={width}", f"model.attention.heads={heads}") == expected
    numbers = [int(word) for word in remedy.split() if word.isdigit()]
    assert math.remainder(numbers[0], heads) == math.remainder(width, numbers[1]) == 0


@pytest.mark.parametrize(
    ("key", "name", "nearest"),
    [
        ("model.attention.kind", "lineer", "linear"),
        ("model.attention.qk_projection", "independant", "independent"),
        ("model.norm", "layers", "layer"),
        ("model.residual", "prenorm", "pre_norm"),
        ("model.feed_forward", "swiglue", "swiglu"),
        ("model.attention.score", "scaleddot", "scaled_dot"),
        ("model.attention.position", "sinusoids", "sinusoidal"),
        ("model.attention.graph", "completed", "complete"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_one(key: str, name: str, nearest: str) -> None:
    own = "(or load its plugin: tmt --plugin FILE)"
    assert message(f"{key}={name}") == f"{key}: there is no {name!r}; did you mean {nearest}? {own}"


@pytest.mark.parametrize(
    ("interface", "variants"),
    [
        (Graph, GRAPHS.values()),
        (Score, SCORES.values()),
        (AttentionPosition, [entry for entry in POSITIONS.values() if issubclass(entry, AttentionPosition)]),
        (Attention, [MultiHeadAttention, LinearAttention]),
        (Norm, NORMS.values()),
        (Residual, RESIDUALS.values()),
        (FeedForward, FEED_FORWARDS.values()),
        (SourceReader, [SourceAttention, FinalStates]),
        (Seq2Seq, [Transformer, RecurrentSeq2Seq]),
    ],
)
def test_an_interface_is_none_of_its_variants(interface: type, variants: Iterable[type]) -> None:
    assert inspect.isabstract(interface)
    for variant in variants:
        assert issubclass(variant, interface)
        assert not inspect.isabstract(variant)


@quick_for_some(VARIANTS, REPRESENTATIVES)
def test_a_model_can_be_built_without_memory_for_its_weights(variant: Variant) -> None:
    before = torch.get_rng_state()
    with torch.device("meta"):
        model = build_model(tiny_config(*variant), vocabulary_size=VOCABULARY)
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    assert torch.equal(torch.get_rng_state(), before)
    layout = {name: (tensor.dtype, tensor.shape) for name, tensor in model.state_dict().items()}
    built = tiny_model(*variant).state_dict()
    assert layout == {name: (tensor.dtype, tensor.shape) for name, tensor in built.items()}
