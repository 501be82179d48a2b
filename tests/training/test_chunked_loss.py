import pytest
import torch
from torch import Tensor, nn

from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.training import chunked_loss
from transformer_mt.training.chunked_loss import chunked_linear_cross_entropy
from transformer_mt.training.objective import cross_entropy

WIDTH, VOCABULARY = 5, 13
SMOOTHING = 0.1


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Splits the eleven tokens into blocks of three, three, three and two."""
    monkeypatch.setattr(chunked_loss, "CPU_ROWS", 3)


def problem(scale: float = 1.0, *, dtype: torch.dtype = torch.float64) -> tuple[Tensor, nn.Linear, Tensor]:
    """States, an output layer, and labels of three sentences with 5, 2 and 4 tokens."""
    labels = torch.randint(1, VOCABULARY, (3, 5))
    labels[1, 2:] = PAD
    labels[2, 4:] = PAD
    output = nn.Linear(WIDTH, VOCABULARY, dtype=dtype)
    return (scale * torch.randn(3, 5, WIDTH, dtype=dtype)).requires_grad_(), output, labels


def fast(states: Tensor, output: nn.Linear, labels: Tensor, *, smoothing: float = SMOOTHING) -> Tensor:
    tokens = int((labels != PAD).sum())
    return chunked_linear_cross_entropy(states, output, labels, tokens=tokens, label_smoothing=smoothing)


def readable(states: Tensor, output: nn.Linear, labels: Tensor, *, smoothing: float = SMOOTHING) -> Tensor:
    return cross_entropy(output(states), labels, label_smoothing=smoothing)


def with_gradients(loss: Tensor, states: Tensor, output: nn.Linear) -> tuple[Tensor, ...]:
    return loss.detach(), *torch.autograd.grad(loss, (states, *output.parameters()))


@pytest.mark.parametrize("smoothing", [0.0, SMOOTHING])
@pytest.mark.parametrize("scale", [1.0, 100.0, 1e4])  # up to logits whose exponential overflows
def test_value_and_gradients_match_the_readable_form(smoothing: float, scale: float) -> None:
    states, output, labels = problem(scale)
    found, expected = (
        with_gradients(loss(states, output, labels, smoothing=smoothing) / 8, states, output)
        for loss in (fast, readable)
    )
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_logits_far_from_zero_match_the_readable_form_in_float32(sign: float) -> None:
    states, output, labels = problem(dtype=torch.float32)
    with torch.no_grad():
        output.bias += sign * 200.0
    found, expected = (with_gradients(loss(states, output, labels), states, output) for loss in (fast, readable))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_batch_of_only_padding_has_zero_loss() -> None:
    states, output, labels = problem()
    loss, *gradients = with_gradients(fast(states, output, labels.fill_(PAD)), states, output)
    assert loss == 0.0
    assert not any(gradient.any() for gradient in gradients)


def test_products_use_the_chosen_precision_and_sums_float32() -> None:
    states, output, labels = problem(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = with_gradients(fast(states, output, labels), states, output)
    expected = with_gradients(readable(states, output, labels), states, output)
    for ours, exact in zip(found, expected, strict=True):
        assert ours.dtype == torch.float32
        assert not torch.equal(ours, exact)
        torch.testing.assert_close(ours, exact, rtol=2**-6, atol=2**-6)
