import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from support.small_training import TEXTS, VALIDATION, small_config
from torch import nn

from transformer_mt.config.sections import Config
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.distributed import Distributed
from transformer_mt.models.build_model import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.validation import SAMPLES, SPARE_LENGTH, Validator
from transformer_mt.translation.scoring import score_pairs
from transformer_mt.translation.translator import Translation, Translator

CPU = torch.device("cpu")


TOKENIZER = Tokenizer.train(TEXTS, small_config().tokenizer)


def model_of(config: Config) -> Seq2Seq:
    return build_model(config.model, vocabulary_size=TOKENIZER.size).eval()


def validator(config: Config, pairs: Sequence[SentencePair] = VALIDATION) -> Validator:
    return Validator(pairs, TOKENIZER, config, CPU, Distributed())


def translating(monkeypatch: pytest.MonkeyPatch, translate: Callable[[str], str]) -> None:
    def translated(_: Translator, sources: Sequence[str], *__: Any, **___: Any) -> list[list[Translation]]:
        return [[Translation(translate(source), 0.0, 0.0, ())] for source in sources]

    monkeypatch.setattr(Translator, "translate", translated)


def test_loss_is_the_mean_over_all_target_tokens() -> None:
    config = small_config()
    model = model_of(config)
    tokens = [token for score in score_pairs(model, TOKENIZER, VALIDATION) for token in score.log_probabilities]
    assert validator(config).loss(model) == pytest.approx(-sum(tokens) / len(tokens), rel=1e-5)


def test_validation_changes_neither_random_state_nor_weights() -> None:
    config = small_config()
    model = model_of(config)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    random = torch.get_rng_state()
    validate = validator(config)
    first, second = validate(model), validate(model)
    assert first == second
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert [sample[:2] for sample in first.samples] == [(pair.source, pair.target) for pair in VALIDATION[:SAMPLES]]


def test_pair_larger_than_a_batch_is_validated() -> None:
    large, small = small_config(), small_config("training.batch_tokens=7")
    model = model_of(large)
    expected = validator(large).loss(model)
    assert validator(small).loss(model) == pytest.approx(expected, rel=1e-5)


TOO_LONG = SentencePair("das Haus " * 40, "the house " * 40)


def test_translations_match_references_when_pairs_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    references = {pair.source: pair.target for pair in VALIDATION}

    translating(monkeypatch, references.__getitem__)
    config = small_config()
    model = model_of(config)
    pairs = [VALIDATION[0], TOO_LONG, *VALIDATION[1:]]
    found = validator(config, pairs)(model)
    assert (found.bleu, found.chrf) == (pytest.approx(100), pytest.approx(100))
    assert [sample[:2] for sample in found.samples] == [(pair.source, pair.target) for pair in VALIDATION[:SAMPLES]]
    assert all(reference == translation for _, reference, translation in found.samples)
    assert found.loss == validator(config)(model).loss


def test_bleu_uses_the_tokenizer_of_the_target_language(monkeypatch: pytest.MonkeyPatch) -> None:
    translating(monkeypatch, lambda _: "学生看见大海。")
    model = model_of(small_config())
    pairs = [replace(pair, target="学生看见大海。", links=None) for pair in VALIDATION]
    for language in ("zh", "en"):
        config = small_config(f"data.target_language={language}")
        found = validator(config, pairs)
        assert (found(model).bleu, found.notes) == (pytest.approx(100), ())
    short = [replace(pair, target="大海。", links=None) for pair in VALIDATION]
    assert "four tokens" in validator(config, short).notes[0]


def test_validation_uses_float32() -> None:
    config = small_config("training.precision=bfloat16")
    model = model_of(config)
    computed = set()
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda module, inputs, output: computed.add(output.dtype))
    validator(config)(model)
    assert computed == {torch.float32}


@pytest.mark.parametrize("extra", [1, 50])
def test_validation_limits_the_length_of_translations(monkeypatch: pytest.MonkeyPatch, extra: int) -> None:
    config = small_config("model.max_length=97", f"search.max_length_margin={extra}")
    model = model_of(config)
    decode = model.decode

    def endless(*arguments: Any, **options: Any) -> Any:
        logits, state = decode(*arguments, **options)
        return logits.index_fill(-1, torch.tensor([EOS]), -1e4), state

    monkeypatch.setattr(model, "decode", endless)
    noted: list[list[Translation]] = []
    translate = Translator.translate

    def noting(*arguments: Any, **options: Any) -> list[list[Translation]]:
        noted.extend(translate(*arguments, **options))
        return noted

    monkeypatch.setattr(Translator, "translate", noting)
    validator(config)(model)
    longest = max(len(TOKENIZER.encode(pair.target)) for pair in VALIDATION) + SPARE_LENGTH
    sources = [len(TOKENIZER.encode(pair.source)) for pair in VALIDATION]
    # The usual margin over the source applies too.
    assert sorted(len(best.tokens) for best, *_ in noted) == sorted(min(longest, own + extra) for own in sources)


def test_non_finite_model_is_not_translated() -> None:
    config = small_config()
    model = model_of(config)
    with torch.no_grad():
        next(model.parameters()).fill_(torch.inf)
    found = validator(config)(model)
    assert not math.isfinite(found.loss)
    assert (found.bleu, found.chrf, found.samples) == (0.0, 0.0, ())
