"""How much heads matter to the loss and to BLEU."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from sacrebleu.metrics.bleu import BLEU
from support.engines import translator_of
from support.tiny import tiny_model
from support.variants import RECURRENT
from typing_extensions import override

from transformer_mt.batching.encoded_pairs import EncodedPairs, encode_pairs
from transformer_mt.config.sections import Config, DataConfig, SearchConfig, TokenizerConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.export.pruning import _scores
from transformer_mt.head_names import HeadName, LayerName
from transformer_mt.intervals import Estimate, Resampling
from transformer_mt.models.head_mask import attention_layers, gated, head_names
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.translator import Translation, Translator
from transformer_mt.views.head_importance import (
    IMPORTANCE,
    bleu,
    bleu_change,
    bleu_statistics,
    bleu_without_each,
    sentence_losses,
)

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
def test_the_loss_of_a_pair_is_that_of_its_tokens_alone(name: str, tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
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
def test_gradients_are_those_of_the_mask(name: str, tokenizer: Tokenizer, encoded: EncodedPairs) -> None:
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
    """Says one thing while its model is whole, and another while anything is switched off."""

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
    model = tiny_model(vocabulary=tokenizer.size)
    known = Known(translator_of(model, tokenizer).model, search=SearchConfig())
    known.translate(())
    return known


def corpus_bleu(hypotheses: Sequence[str]) -> float:
    longest = max(map(len, REFERENCES))
    streams = [[(*references, *[None] * longest)[n] for references in REFERENCES] for n in range(longest)]
    return BLEU().corpus_score(hypotheses, streams).score


def test_summed_statistics_have_the_bleu_of_the_corpus(translator: Known) -> None:
    found = bleu_statistics(translator, TEXTS)
    assert found.shape == (3, 10)
    assert bleu(found.sum(axis=0)) == pytest.approx(corpus_bleu(USUAL))
    assert bleu(found[1]) == pytest.approx(BLEU().corpus_score([USUAL[1]], [[REFERENCES[1][0]]]).score)
    assert bleu(np.zeros(10)) == 0.0


def test_bleu_counts_the_tokens_of_the_target_language(translator: Known) -> None:
    pairs = [SentencePair(source, USUAL[row]) for row, source in enumerate(SOURCES)]
    thai = Config(data=DataConfig(target_language="th"))
    found = bleu_statistics(Known(replace(translator.model, config=thai), search=SearchConfig()), pairs)
    assert found[:, -1].tolist() == [len(text.replace(" ", "")) for text in USUAL]
    chinese = [SentencePair(source, "学生看见大海。") for source in SOURCES]
    assert bleu_statistics(translator, chinese)[:, -1].tolist() == [7, 7, 7]


def test_what_stays_the_same_changes_by_nothing(translator: Known) -> None:
    found = bleu_statistics(translator, TEXTS)
    assert bleu_change(found, found, Resampling(3)) == Estimate(0.0, 0.0, 0.0)
    gone = bleu_change(found, np.zeros_like(found), Resampling(3))
    assert gone.low <= gone.value == -bleu(found.sum(axis=0)) <= gone.high <= 0.0


def test_bleu_changes_by_what_each_head_takes_along(translator: Known) -> None:
    whole, changes = bleu_without_each(translator, TEXTS)
    assert whole.value == pytest.approx(corpus_bleu(USUAL))
    assert list(changes) == head_names(translator.model.network)
    for change in changes.values():
        assert change.value == pytest.approx(corpus_bleu(WITHOUT) - corpus_bleu(USUAL))
        assert change.low < change.value < change.high


def test_scores_are_those_with_all_heads_then_without_the_pruned_then_their_change(translator: Known) -> None:
    encoded = encode_pairs(TEXTS, translator.model.tokenizer, max_length=256)
    before, after, change = _scores(translator, TEXTS, encoded, head_names(translator.model.network)[:1])
    found = [scores.bleu.value for scores in (before, after, change)]
    assert found == pytest.approx([corpus_bleu(USUAL), corpus_bleu(WITHOUT), corpus_bleu(WITHOUT) - corpus_bleu(USUAL)])
    assert change.loss.value == pytest.approx(after.loss.value - before.loss.value)
