"""Any two choices of an attention mechanism work together or are refused with a reason."""

from collections.abc import Callable
from itertools import combinations, product

import pytest
import torch
from support.tiny import padding
from support.variants import GRAPH_EXAMPLES, POSITION_EXAMPLES, QK_PROJECTION_EXAMPLES
from torch import Tensor

from transformer_mt.attention.build_attention import ATTENTION, build_attention
from transformer_mt.attention.multihead import Attention
from transformer_mt.attention.normalisers import NORMALISERS
from transformer_mt.attention.positions import POSITIONS, AttentionPosition
from transformer_mt.attention.scores import SCORES
from transformer_mt.config.sections import AttentionConfig
from transformer_mt.ground.errors import InputError

WIDTH, HEADS = 6, 3
CHOICES = {
    "kind": ATTENTION,
    "score": SCORES,
    "normaliser": NORMALISERS,
    "qk_projection": QK_PROJECTION_EXAMPLES.values(),
    "position": POSITION_EXAMPLES.values(),
    "graph": GRAPH_EXAMPLES.values(),
}
# The fixed choices of linear attention.
LINEAR = {"score": "scaled_dot", "normaliser": "softmax", "qk_projection": "independent", "graph": "complete"}


def refusal(config: AttentionConfig) -> str | None:
    """The key and the remedy of a refusal, or None if the choices are compatible."""
    position, score = config.position.partition("(")[0], config.score
    if config.kind == "linear":
        for key, only in LINEAR.items():
            if getattr(config, key) != only:
                return f"model.attention.{key}: … set it to {only}, or model.attention.kind to softmax"
        if issubclass(POSITIONS[position], AttentionPosition):
            return "model.attention.position: … set it to sinusoidal or none, or model.attention.kind to softmax"
        return None
    if config.qk_projection != "independent" and score in {"bilinear", "additive"}:
        return "model.attention.qk_projection: … set model.attention.score to scaled_dot, dot or cosine"
    if position == "relative" and score in {"additive", "cosine", "euclidean"}:
        return "model.attention.position: … choose another score, or rotary"
    if position == "rotary" and score == "additive":
        return "model.attention.position: … choose another score, or sinusoidal"
    return None


def layers(make: Callable[[str], Attention]) -> list[Attention]:
    return [make("decoder"), make("encoder"), make("cross")]


def run(config: AttentionConfig) -> list[Tensor]:
    states, mask = torch.randn(2, 5, WIDTH), padding(5, 3, columns=5)
    return [layer(states, layer.key_values(states, mask)) for layer in layers(build_attention(config, width=WIDTH))]


@pytest.mark.parametrize(("one", "other"), [*combinations(CHOICES, 2)])
def test_any_two_choices_work_or_are_refused_with_a_remedy(one: str, other: str) -> None:
    for chosen in product(CHOICES[one], CHOICES[other]):
        config = AttentionConfig(heads=HEADS, **dict(zip((one, other), chosen, strict=True)))
        expected = refusal(config)
        if expected is None:
            for output in run(config):
                assert output.shape == (2, 5, WIDTH)
                assert output.isfinite().all()
            continue
        with pytest.raises(InputError) as raised:
            run(config)
        key, remedy = expected.split(" … ")
        assert str(raised.value).startswith(key)
        assert str(raised.value).endswith(f"; {remedy}")
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", ATTENTION)
def test_every_layer_has_its_own_weights(kind: str) -> None:
    factory = build_attention(AttentionConfig(kind=kind, heads=HEADS), width=WIDTH)
    parameters = [parameter for _ in range(2) for layer in layers(factory) for parameter in layer.parameters()]
    assert len({id(parameter) for parameter in parameters}) == len(parameters)
    assert len({parameter.data_ptr() for parameter in parameters}) == len(parameters)
