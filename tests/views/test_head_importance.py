"""The importance of heads for the loss and for BLEU."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from support.engines import translator_of
from support.tiny import tiny_model
from support.variants import RECURRENT
from typing_extensions import override

from transformer_mt.batching.encoded_pairs import EncodedPairs, encode_pairs
from transformer_mt.config.sections import SearchConfig, TokenizerConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.evaluation import compare_texts
from transformer_mt.extensions.heads.heads import measure_heads
from transformer_mt.extensions.heads.pruning import _scores
from transformer_mt.head_names import HeadName, LayerName
from transformer_mt.models.head_mask import attention_layers, gated, head_names, without_heads
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.translator import Translation, Translator
from transformer_mt.views.head_importance import IMPORTANCE, sentence_losses

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
    losses = sentence_losses(model, encoded)
    for row, pair in enumerate(PAIRS):
        source, target = tokenizer.encode(pair.source), tokenizer.encode(pair.target)
        with evaluating(model):
            logits = model(torch.tensor([[*source, EOS]]), torch.tensor([[2, *target]]))
        log_p = logits[0].log_softmax(dim=-1)
        assert losses[row] == pytest.approx(-sum(float(log_p[t, y]) for t, y in enumerate([*target, EOS])))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", ["masked", "recurrent"])
def test_gradients_match_those_of_the_mask(name: str, tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
    model, step = model_of(name, tokenizer), 1e-5
    slopes, tokens = IMPORTANCE["unnormalised"](model, encoded), int(encoded.target_lengths.sum())
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
def test_exact_importance_is_the_rise_of_the_loss(tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
    model = model_of("whole", tokenizer)
    before = sentence_losses(model, encoded).sum()
    with gated({attention_layers(model)[LayerName("decoder", 2)]: torch.tensor([[1.0, 1.0, 0.0]])}):
        after = sentence_losses(model, encoded).sum()
    importance = IMPORTANCE["exact"](model, encoded)
    assert importance[HeadName("decoder", 2, 3)] == pytest.approx((after - before) / int(encoded.target_lengths.sum()))


@pytest.mark.usefixtures("float64")
def test_normalised_gradients_have_norm_one_in_every_layer(tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
    model = model_of("whole", tokenizer)
    means, normalised = (IMPORTANCE[name](model, encoded) for name in ("unnormalised", "gradient"))
    for stack in ("encoder", "decoder", "cross"):
        for layer in (1, 2):
            names = [HeadName(stack, layer, head) for head in (1, 2, 3)]
            of_layer = np.array([means[name] for name in names])
            np.testing.assert_allclose([normalised[name] for name in names], of_layer / np.linalg.norm(of_layer))


SOURCES = ("Der Hund schläft.", "Ich sehe die Katze.", "Der alte Mann liest ein Buch.")
REFERENCES = (("The dog is asleep.", "The dog sleeps."), ("I see the cat.",), ("The old man is reading a book.",))
USUAL = ("The dog sleeps now.", "I can see the cat.", "The old man reads a book.")
WITHOUT = ("The dog sleeps now.", "I see.", "The old man is reading the book.")
TEXTS = [
    SentencePair(source, first, references=tuple(others))
    for source, (first, *others) in zip(SOURCES, REFERENCES, strict=True)
]
INPUTS = torch.tensor([[5, 7, 3]]), torch.tensor([[2, 11]])


class Known(Translator):
    """Returns one translation while all heads are on, and another while any is off."""

    @override
    def translate(self, sentences: Sequence[str], *_: object, **__: object) -> list[list[Translation]]:
        with torch.no_grad():
            now = self.model.network(*INPUTS)
            self.whole = getattr(self, "whole", now)
        texts = dict(zip(SOURCES, USUAL if torch.equal(now, self.whole) else WITHOUT, strict=True))
        return [[Translation(texts[sentence], 0.0, 0.0, ())] for sentence in sentences]


@pytest.fixture
def translator() -> Known:
    tokenizer = Tokenizer.train(SOURCES, TokenizerConfig(vocabulary_size=300))
    known = Known(translator_of(tiny_model(vocabulary=tokenizer.size), tokenizer).model, search=SearchConfig())
    known.translate(())
    return known


def test_bleu_is_compared_without_each_head(translator: Known) -> None:
    table = measure_heads(translator, TEXTS, bleu=True)
    whole, without = compare_texts([USUAL, WITHOUT], REFERENCES, language="en")["bleu"]
    assert table.bleu == whole
    assert [head.bleu for head in table.heads] == [without] * len(head_names(translator.model.network))
    assert whole.score != without.score


def test_pruned_model_is_compared_with_the_whole_one(translator: Known) -> None:
    model, encoded = translator.model.network, encode_pairs(TEXTS, translator.model.tokenizer, max_length=256)
    pruned, tokens = head_names(model)[:1], int(encoded.target_lengths.sum())
    before, after, loss_change = _scores(translator, TEXTS, encoded, pruned)
    assert [before.bleu, after.bleu] == compare_texts([USUAL, WITHOUT], REFERENCES, language="en")["bleu"]
    losses = [sentence_losses(model, encoded).sum() / tokens]
    with without_heads(model, pruned):
        losses.append(sentence_losses(model, encoded).sum() / tokens)
    found = before.loss.value, after.loss.value, loss_change.value
    assert found == pytest.approx((*losses, losses[1] - losses[0]))
