from dataclasses import replace

import pytest
import torch
from support.small_training import TRAIN, small_config
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.batching import Batch
from transformer_mt.config.sections import CHOSEN, TokenizerConfig
from transformer_mt.config.toml import load_config
from transformer_mt.encoded_pairs import encode_pairs
from transformer_mt.models.build import build_model
from transformer_mt.models.seq2seq import Seq2Seq, State
from transformer_mt.tokenizer import PAD, Tokenizer
from transformer_mt.training.objective import (
    OBJECTIVES,
    Objective,
    RDrop,
    build_objective,
    cross_entropy,
    cross_entropy_in_place,
)

SMOOTHING = 0.1
# Chunks of 2**18 logits are then 13 rows, and the 15 rows end with a short one.
LARGE = 20_011


def logits_and_labels(vocabulary: int, *, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    logits = (3 * torch.randn(3, 5, vocabulary)).to(dtype)
    labels = torch.randint(1, vocabulary, (3, 5))
    labels[1, 3:] = PAD
    labels[2, 1:] = PAD
    return logits, labels


def value_and_gradient(
    objective: object, logits: Tensor, labels: Tensor, *, scale: float = 1.0
) -> tuple[float, Tensor]:
    leaf = logits.clone().requires_grad_()
    # The product makes the logits no leaf, as in training: an objective may then overwrite them.
    loss = objective(leaf * 1, labels, label_smoothing=SMOOTHING)  # type: ignore[operator]
    (gradient,) = torch.autograd.grad(loss * scale, leaf)
    return float(loss.detach()), gradient


def test_loss_is_the_formula() -> None:
    logits, labels = logits_and_labels(7)
    expected = 0.0
    for row, row_labels in zip(logits.double(), labels, strict=True):
        for z, label in zip(row, row_labels.tolist(), strict=True):
            if label == PAD:
                continue
            log_p = z - z.exp().sum().log()
            q = [SMOOTHING / 7 + (1 - SMOOTHING) * (k == label) for k in range(7)]
            expected -= sum(q[k] * float(log_p[k]) for k in range(7))
    for objective in (cross_entropy, cross_entropy_in_place):
        assert float(objective(logits.clone(), labels, label_smoothing=SMOOTHING)) == pytest.approx(expected)


def test_loss_is_that_of_torch() -> None:
    logits, labels = logits_and_labels(11)
    real = labels != PAD
    expected = F.cross_entropy(logits[real], labels[real], label_smoothing=SMOOTHING, reduction="sum")
    for objective in (cross_entropy, cross_entropy_in_place):
        assert float(objective(logits.clone(), labels, label_smoothing=SMOOTHING)) == pytest.approx(float(expected))


@pytest.mark.parametrize("vocabulary", [7, LARGE])
@pytest.mark.parametrize("smoothing", [0.0, SMOOTHING])
def test_fast_form_equals_the_readable_one(vocabulary: int, smoothing: float) -> None:
    logits, labels = logits_and_labels(vocabulary)
    found = []
    for objective in (cross_entropy, cross_entropy_in_place):
        leaf = logits.clone().requires_grad_()
        loss = objective(leaf * 1, labels, label_smoothing=smoothing)
        loss.backward()  # type: ignore[no-untyped-call]
        found.append((loss.detach(), leaf.grad))
    (value, gradient), (fast_value, fast_gradient) = found
    torch.testing.assert_close(fast_value, value, rtol=1e-5, atol=0)
    torch.testing.assert_close(fast_gradient, gradient, rtol=1e-4, atol=1e-5)


def test_fast_form_equals_the_readable_one_in_bfloat16() -> None:
    logits, labels = logits_and_labels(1009, dtype=torch.bfloat16)
    value, gradient = value_and_gradient(cross_entropy, logits, labels)
    fast_value, fast_gradient = value_and_gradient(cross_entropy_in_place, logits, labels)
    assert fast_value == pytest.approx(value, rel=1e-5)
    assert fast_gradient.dtype == torch.bfloat16
    torch.testing.assert_close(fast_gradient, gradient, rtol=2**-7, atol=1e-6)


@pytest.mark.parametrize("objective", [cross_entropy, cross_entropy_in_place])
def test_padding_has_no_gradient(objective: object) -> None:
    logits, labels = logits_and_labels(13)
    _, gradient = value_and_gradient(objective, logits, labels)
    assert torch.count_nonzero(gradient[labels == PAD]) == 0
    assert (gradient[labels != PAD] != 0).all()


@pytest.mark.parametrize("objective", [cross_entropy, cross_entropy_in_place])
def test_gradient_grows_with_what_the_loss_is_multiplied_by(objective: object) -> None:
    logits, labels = logits_and_labels(13)
    _, gradient = value_and_gradient(objective, logits, labels)
    _, scaled = value_and_gradient(objective, logits, labels, scale=0.125)
    torch.testing.assert_close(scaled, gradient / 8)


def test_huge_logits_give_a_finite_loss() -> None:
    logits, labels = logits_and_labels(7)
    value, gradient = value_and_gradient(cross_entropy_in_place, logits * 1e4, labels)
    assert torch.isfinite(torch.tensor(value))
    assert torch.isfinite(gradient).all()


# Objectives: from a model and a batch to the summed loss


def objective(*overrides: str) -> Objective:
    return build_objective(load_config(None, overrides).objective)


def small_batch() -> Batch:
    texts = [text for pair in TRAIN for text in (pair.source, pair.target)]
    tokenizer = Tokenizer.train(texts, TokenizerConfig(vocabulary_size=300))
    return encode_pairs(TRAIN[:5], tokenizer, max_length=31).batch(range(5))


def small_model(*overrides: str) -> Seq2Seq:
    config = small_config("model.dropout=0", "model.attention.dropout=0", *overrides)
    return build_model(config.model, vocabulary_size=300)


NAMES = [f"objective.name={name}" for name in OBJECTIVES]


def test_every_name_has_its_section_and_its_objective() -> None:
    assert set(OBJECTIVES) == set(CHOSEN["objective"][1])


@pytest.mark.parametrize("name", NAMES)
def test_without_dropout_every_objective_is_the_cross_entropy(name: str) -> None:
    model, batch = small_model(), small_batch()
    expected = cross_entropy(model(batch.source, batch.target_in), batch.target_out, label_smoothing=0.3)
    found = objective(name, "objective.label_smoothing=0.3")(model, batch)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_an_objective_counts_real_target_tokens(name: str) -> None:
    batch = small_batch()
    assert objective(name).tokens(batch) == int((batch.target_out != PAD).sum())


@pytest.mark.parametrize("name", NAMES)
def test_padding_does_not_change_the_loss(name: str) -> None:
    model, batch = small_model(), small_batch()
    wider = {part: F.pad(getattr(batch, part), (0, 3), value=PAD) for part in ("source", "target_in", "target_out")}
    found = objective(name)(model, replace(batch, **wider))
    torch.testing.assert_close(found, objective(name)(model, batch))


class TwoPasses(Seq2Seq):
    """Gives one prepared tensor of logits after another."""

    def __init__(self, *passes: Tensor) -> None:
        super().__init__()
        self.passes = iter(passes)

    def attention_stacks(self) -> dict[str, list[torch.nn.Module]]:
        return {}

    def start(self, source: Tensor) -> State:
        raise AssertionError

    def decode(self, target: Tensor, state: State) -> tuple[Tensor, State]:
        raise AssertionError

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return next(self.passes) * 1


def test_r_drop_is_half_of_the_formula_of_the_paper() -> None:
    one, labels = logits_and_labels(7)
    other, _ = logits_and_labels(7)
    batch = Batch(labels, labels, labels, [0, 1, 2], 0, 0)
    expected = 0.0
    for p, q, label in zip(one.flatten(0, 1), other.flatten(0, 1), labels.flatten().tolist(), strict=True):
        if label == PAD:
            continue
        log_p, log_q = p.double().log_softmax(-1), q.double().log_softmax(-1)
        divergences = (log_p.exp() * (log_p - log_q)).sum() + (log_q.exp() * (log_q - log_p)).sum()
        expected += float(-log_p[label] - log_q[label] + 3.0 * divergences / 2)
    found = RDrop(label_smoothing=0.0, weight=3.0)(TwoPasses(one, other), batch)
    assert float(found) == pytest.approx(expected / 2)


def test_the_two_passes_of_r_drop_have_their_own_dropout() -> None:
    model, batch = build_model(small_config("model.dropout=0.3").model, vocabulary_size=300).train(), small_batch()
    torch.manual_seed(3)
    drawn_together = float(RDrop(label_smoothing=0.0, weight=100.0)(model, batch).detach())
    torch.manual_seed(3)
    alone = float(RDrop(label_smoothing=0.0, weight=0.0)(model, batch).detach())
    assert drawn_together > alone + 1
