import pytest
import torch
from support.small_training import small_batch, small_config
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.config.toml import load_config
from transformer_mt.models.build_model import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.training.objective import (
    OBJECTIVES,
    Objective,
    build_objective,
    cross_entropy,
    entropy_of_targets,
)

SMOOTHING = 0.1


def logits_and_labels(vocabulary: int) -> tuple[Tensor, Tensor]:
    logits = 3 * torch.randn(3, 5, vocabulary)
    labels = torch.randint(1, vocabulary, (3, 5))
    labels[1, 3:] = PAD
    labels[2, 1:] = PAD
    return logits, labels


def test_loss_is_that_of_torch() -> None:
    logits, labels = logits_and_labels(7)
    options = {"label_smoothing": SMOOTHING, "ignore_index": PAD, "reduction": "sum"}
    expected = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), **options)
    torch.testing.assert_close(cross_entropy(logits, labels, label_smoothing=SMOOTHING), expected)


# Objectives: from a model and a batch to the summed loss


def objective(*overrides: str) -> Objective:
    return build_objective(load_config(None, overrides).objective)


def small_model(*overrides: str) -> Seq2Seq:
    config = small_config("model.dropout=0", "model.attention.dropout=0", *overrides)
    return build_model(config.model, vocabulary_size=300)


NAMES = [[f"objective.name={name}"] for name in OBJECTIVES]


@pytest.mark.parametrize("name", NAMES)
def test_every_objective_is_cross_entropy_without_dropout(name: list[str]) -> None:
    model, batch = small_model(), small_batch()
    expected = cross_entropy(model(batch.source, batch.decoder_input), batch.labels, label_smoothing=0.3)
    found = objective(*name, "objective.label_smoothing=0.3")(model, batch)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("vocabulary", [1, 2, 53])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.usefixtures("float64")
def test_entropy_of_targets_is_the_least_cross_entropy(vocabulary: int, smoothing: float) -> None:
    label = torch.tensor([[vocabulary - 1]])
    q = (1 - smoothing) * F.one_hot(label, vocabulary) + smoothing / vocabulary
    found = entropy_of_targets(smoothing, vocabulary)
    assert found == pytest.approx(torch.special.entr(q).sum().item())
    if vocabulary > 1:  # token 0 is padding
        least = cross_entropy(q.clamp_min(1e-300).log(), label, label_smoothing=smoothing).item()
        assert found == pytest.approx(least)
