import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.config import ObjectiveConfig
from transformer_mt.errors import InputError
from transformer_mt.tokenizer import PAD
from transformer_mt.training.objective import build_objective, cross_entropy, cross_entropy_in_place

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


def test_objective_has_the_smoothing_of_the_configuration() -> None:
    logits, labels = logits_and_labels(7)
    objective = build_objective(ObjectiveConfig(label_smoothing=0.3))
    expected = cross_entropy(logits, labels, label_smoothing=0.3)
    assert float(objective(logits.clone(), labels)) == pytest.approx(float(expected))


def test_unknown_objective_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"objective\.name: there is no 'crossentropy'; did you mean cross_entropy\?"):
        build_objective(ObjectiveConfig(name="crossentropy"))
