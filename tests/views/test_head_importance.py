"""The importance of heads for the loss."""

import numpy as np
import pytest
import torch
from support.tiny import tiny_model
from support.variants import RECURRENT

from transformer_mt.batching.encoded_pairs import EncodedPairs, encode_pairs
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.head_names import HeadName
from transformer_mt.models.head_mask import attention_layers, gated, head_names
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.scoring import score_pairs
from transformer_mt.views.head_importance import mean_gradients, normalised_gradients, sentence_losses

PAIRS = [
    SentencePair("Ich glaube, dass die Kinder im Garten spielen.", "I think that the children are playing."),
    SentencePair("Kannst du mir helfen?", "Can you help me translate this sentence?"),
    SentencePair("Der alte Mann liest ein gutes Buch.", "The old man is reading."),
]
MODELS = {
    "whole": (),
    "linear": ("model.attention.kind=linear",),
    "masked": ("model.attention.head_mask=['cross.1.2', 'encoder.1.1', 'encoder.1.2', 'encoder.1.3']",),
    "recurrent": (RECURRENT,),
}
TOLERANCE = {"rtol": 1e-4, "atol": 1e-7}


@pytest.fixture
def encoded(tokenizer: Tokenizer) -> EncodedPairs:
    return encode_pairs(PAIRS, tokenizer, max_length=256)


def model_of(name: str, tokenizer: Tokenizer) -> Seq2Seq:
    return tiny_model(*MODELS[name], vocabulary=tokenizer.size)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", ["whole", "linear"])
def test_loss_of_a_pair_ignores_padding(name: str, tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
    model = model_of(name, tokenizer)
    expected = [-score.log_probability for pair in PAIRS for score in score_pairs(model, tokenizer, [pair])]
    assert sentence_losses(model, encoded) == pytest.approx(expected)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", ["masked", "recurrent"])
def test_gradients_match_those_of_the_mask(name: str, tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
    model, step = model_of(name, tokenizer), 1e-5
    slopes, tokens = mean_gradients(model, encoded), int(encoded.target_lengths.sum())
    assert list(slopes) == head_names(model)
    for head in (min(slopes), max(slopes)):
        module = attention_layers(model)[head.of_layer]
        mask = torch.ones(1, module.heads)
        around = []
        for sign in (1, -1):
            mask[0, head.head - 1] = 1.0 + sign * step
            with gated({module: mask}):
                around.append(sentence_losses(model, encoded))
        by_pair = np.abs(around[0] - around[1]) / (2 * step)
        np.testing.assert_allclose(slopes[head], by_pair.sum() / tokens, **TOLERANCE)


@pytest.mark.usefixtures("float64")
def test_normalised_gradients_have_norm_one_in_every_layer(tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
    model = model_of("whole", tokenizer)
    means, normalised = mean_gradients(model, encoded), normalised_gradients(model, encoded)
    for stack in ("encoder", "decoder", "cross"):
        for layer in (1, 2):
            names = [HeadName(stack, layer, head) for head in (1, 2, 3)]
            of_layer = np.array([means[name] for name in names])
            np.testing.assert_allclose([normalised[name] for name in names], of_layer / np.linalg.norm(of_layer))
