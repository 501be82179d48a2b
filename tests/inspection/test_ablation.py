"""How much heads matter to the loss."""

import numpy as np
import pytest
import torch
from support.tiny import tiny_model
from support.variants import RECURRENT

from transformer_mt.batching.encoded_pairs import EncodedPairs, encode_pairs
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.inspection.ablation import HeadImportance, head_importance, layer_normalised
from transformer_mt.models.head_mask import active_heads, gated, head_names
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.registry import HeadName
from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer

pytestmark = pytest.mark.usefixtures("float64")

PAIRS = [
    SentencePair("Ich glaube, dass die Kinder im Garten spielen.", "I think that the children are playing."),
    SentencePair("Kannst du mir helfen?", "Can you help me translate this sentence?"),
    SentencePair("Der alte Mann liest ein gutes Buch.", "The old man is reading."),
]
MODELS = {
    "whole": (),
    "linear": ("model.attention.kind=linear",),
    "pruned": ("model.attention.head_mask=['cross.1.2', 'encoder.1.1', 'encoder.1.2', 'encoder.1.3']",),
    "recurrent": (RECURRENT,),
}


@pytest.fixture
def encoded(tokenizer: Tokenizer) -> EncodedPairs:
    return encode_pairs(PAIRS, tokenizer, max_length=256)


def model_of(name: str, tokenizer: Tokenizer) -> Seq2Seq:
    return tiny_model(*MODELS[name], vocabulary=tokenizer.size)


@pytest.mark.parametrize("name", ["whole", "linear"])
def test_the_loss_of_a_pair_is_that_of_its_tokens_alone(name: str, tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
    model = model_of(name, tokenizer)
    work = HeadImportance(model, encoded)
    losses = work.losses()
    for row, pair in enumerate(PAIRS):
        source, target = tokenizer.encode(pair.source), tokenizer.encode(pair.target)
        with evaluating(model):
            logits = model(torch.tensor([[*source, EOS]]), torch.tensor([[2, *target]]))
        log_p = logits[0].log_softmax(dim=-1)
        assert losses[row] == pytest.approx(-sum(float(log_p[t, y]) for t, y in enumerate([*target, EOS])))
        assert work.tokens[row] == len(target) + 1


@pytest.mark.parametrize("name", ["pruned", "recurrent"])
def test_gradients_are_those_of_the_gates(name: str, tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
    model, step = model_of(name, tokenizer), 1e-5
    work = HeadImportance(model, encoded)
    found = work.gradients()
    assert list(found) == head_names(model)
    for head in (min(found), max(found)):
        module = model.attention_stacks()[head.stack][head.layer - 1]
        gates = torch.ones(1, len(active_heads(module)))
        around = []
        for sign in (1, -1):
            gates[0, active_heads(module).index(head.head)] = 1.0 + sign * step
            with gated({module: gates}):
                around.append(work.losses())
        slopes = np.abs(around[0] - around[1]) / (2 * step)
        np.testing.assert_allclose(found[head], slopes, rtol=1e-4, atol=1e-7)


def test_exact_importance_is_what_the_loss_rises_by(tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
    model = model_of("whole", tokenizer)
    found = head_importance(model, tokenizer, PAIRS, method="exact")
    before = HeadImportance(model, encoded).losses().sum()
    head = HeadName("decoder", 2, 3)
    module = model.attention_stacks()["decoder"][1]
    with gated({module: torch.tensor([[1.0, 1.0, 0.0]])}):
        after = HeadImportance(model, encoded).losses().sum()
    assert found[head] == pytest.approx((after - before) / int(encoded.target_lengths.sum()))


def test_importance_by_gradient_has_norm_one_in_every_layer(tokenizer: Tokenizer) -> None:
    found = head_importance(model_of("whole", tokenizer), tokenizer, PAIRS, method="gradient")
    for stack in ("encoder", "decoder", "cross"):
        for layer in (1, 2):
            assert sum(found[HeadName(stack, layer, head)] ** 2 for head in (1, 2, 3)) == pytest.approx(1.0)


def test_the_unnormalised_gradient_is_a_mean_over_tokens(tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
    model = model_of("recurrent", tokenizer)
    (mean,) = head_importance(model, tokenizer, PAIRS, method="unnormalised").values()
    (slopes,) = HeadImportance(model, encoded).gradients().values()
    assert mean == pytest.approx(slopes.sum() / int(encoded.target_lengths.sum()))


def test_a_layer_without_any_gradient_has_no_importance() -> None:
    assert layer_normalised({HeadName("cross", 1, 1): 0.0}) == {HeadName("cross", 1, 1): 0.0}
