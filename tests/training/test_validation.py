import pytest
import torch
from support.small_training import TRAIN, VALIDATION, small_config
from torch.nn import functional as F

from transformer_mt.config.sections import Config
from transformer_mt.models.build import build_model
from transformer_mt.tokenizer import BOS, EOS, Tokenizer
from transformer_mt.training.validation import SAMPLES, Validator

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([text for pair in TRAIN for text in (pair.source, pair.target)], small_config().tokenizer)


def validator(tokenizer: Tokenizer, config: Config) -> Validator:
    return Validator(VALIDATION, tokenizer, config, device=CPU)


def test_loss_is_the_mean_over_all_target_tokens(tokenizer: Tokenizer) -> None:
    config = small_config()
    model = build_model(config.model, vocabulary_size=tokenizer.size).eval()
    total, tokens = 0.0, 0
    for pair in VALIDATION:
        target = tokenizer.encode(pair.target)
        with torch.no_grad():
            logits = model(torch.tensor([[*tokenizer.encode(pair.source), EOS]]), torch.tensor([[BOS, *target]]))
        total += float(F.cross_entropy(logits[0], torch.tensor([*target, EOS]), reduction="sum"))
        tokens += len(target) + 1
    assert validator(tokenizer, config).loss(model) == pytest.approx(total / tokens, rel=1e-5)


def test_validation_draws_no_random_number_and_leaves_the_weights(tokenizer: Tokenizer) -> None:
    config = small_config()
    model = build_model(config.model, vocabulary_size=tokenizer.size).eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    random = torch.get_rng_state()
    validate = validator(tokenizer, config)
    first, second = validate(model), validate(model)
    assert first == second
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert [sample[:2] for sample in first.samples] == [(pair.source, pair.target) for pair in VALIDATION[:SAMPLES]]


def test_a_pair_larger_than_a_training_batch_is_validated_alone(tokenizer: Tokenizer) -> None:
    large, small = small_config(), small_config("training.batch_tokens=7")
    model = build_model(large.model, vocabulary_size=tokenizer.size).eval()
    expected = validator(tokenizer, large).loss(model)
    assert validator(tokenizer, small).loss(model) == pytest.approx(expected, rel=1e-5)
