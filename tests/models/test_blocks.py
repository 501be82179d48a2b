import math

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.nn import functional as F

from transformer_mt.models.blocks import (
    ACTIVATIONS,
    NORMS,
    RESIDUALS,
    BatchNorm,
    LayerNorm,
    NoNorm,
    Norm,
    PreNorm,
    ReLU,
    RMSNorm,
)

pytestmark = pytest.mark.usefixtures("float64")

D = 5
TOLERANCE = {"rtol": 0.0, "atol": 1e-10}

every_norm = pytest.mark.parametrize("name", NORMS)
every_residual = pytest.mark.parametrize("name", RESIDUALS)


def states(*lengths: int, columns: int = 7) -> tuple[Tensor, Tensor]:
    """Random states, and which of them are real."""
    mask = torch.arange(columns) < torch.tensor(lengths)[:, None]
    return 3.0 * torch.randn(len(lengths), columns, D) + 1.0, mask


def randomised(norm: Norm) -> Norm:
    """Ones and zeros would hide where the parameters stand."""
    for parameter in norm.parameters():
        nn.init.normal_(parameter, mean=1.0)
    return norm


# Norms


@every_norm
@pytest.mark.parametrize("training", [True, False])
def test_padding_has_no_influence_on_the_scale_of_real_tokens(name: str, training: bool) -> None:
    x, mask = states(7, 4)
    changed = torch.where(mask[..., None], x, 100.0)
    first, second = NORMS[name](D).train(training), NORMS[name](D).train(training)
    torch.testing.assert_close(first(changed, mask)[mask], second(x, mask)[mask], rtol=0.0, atol=0.0)
    for ours, others in zip(first.buffers(), second.buffers(), strict=True):
        assert torch.equal(ours, others)


@every_norm
@pytest.mark.parametrize("training", [True, False])
def test_the_gradients_of_norms_are_their_derivatives(name: str, training: bool) -> None:
    norm, (x, mask) = randomised(NORMS[name](D)).train(training), states(3, 2, columns=3)
    assert gradcheck(lambda x, *_: norm(x, mask)[mask], (x.requires_grad_(), *norm.parameters()))


def test_layer_norm_is_that_of_torch() -> None:
    x, mask = states(7, 4)
    ours = randomised(LayerNorm(D))
    theirs = nn.LayerNorm(D)
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(x, mask), theirs(x), **TOLERANCE)


def test_rms_norm_divides_by_the_root_of_the_mean_square() -> None:
    x, mask = states(7, 4)
    norm = randomised(RMSNorm(D))
    for row, found in zip(x.flatten(0, 1).tolist(), norm(x, mask).flatten(0, 1), strict=True):
        root = math.sqrt(sum(value * value for value in row) / D + 1e-6)
        expected = torch.tensor([value / root for value in row]) * norm.weight
        torch.testing.assert_close(found, expected, **TOLERANCE)


def test_batch_norm_takes_mean_and_unbiased_variance_over_the_real_tokens() -> None:
    x, mask = states(7, 4)
    norm = randomised(BatchNorm(D)).train()
    y = norm(x, mask)
    for feature in range(D):
        real = [x[b, n, feature].item() for b in range(2) for n in range(7) if mask[b, n]]
        mean = sum(real) / 11
        variance = sum((value - mean) ** 2 for value in real) / 10
        expected = (x[..., feature] - mean) / math.sqrt(variance + 1e-5) * norm.weight[feature] + norm.bias[feature]
        torch.testing.assert_close(y[..., feature], expected, **TOLERANCE)
        assert norm.mean[feature].item() == pytest.approx(0.1 * mean)
        assert norm.variance[feature].item() == pytest.approx(0.9 + 0.1 * variance)


def test_batch_norm_evaluates_with_what_torch_has_seen_in_training() -> None:
    ours, theirs = BatchNorm(D).train(), nn.BatchNorm1d(D).train()
    for _ in range(5):
        x, mask = states(7, 4)
        ours(x, mask)
        theirs(x[mask])
    x, mask = states(6, 2)
    torch.testing.assert_close(ours.eval()(x, mask)[mask], theirs.eval()(x[mask]), **TOLERANCE)


@pytest.mark.parametrize("lengths", [(0,), (1,)])
def test_batch_norm_of_too_few_tokens_uses_what_it_knows(lengths: tuple[int, ...]) -> None:
    x, mask = states(*lengths)
    norm = BatchNorm(D).train()
    torch.testing.assert_close(norm(x, mask), BatchNorm(D).eval()(x, mask), rtol=0.0, atol=0.0)


# Residuals


@every_residual
def test_a_residual_drops_what_the_layer_gives_and_never_its_input(name: str) -> None:
    x, mask = states(7, 4)
    residual = RESIDUALS[name](NoNorm(D), dropout=0.5).train()
    added = residual.after(x, torch.ones_like(x), mask) - x
    torch.testing.assert_close(added * (added - 2.0), torch.zeros_like(x), **TOLERANCE)
    assert 0.0 < (added.abs() < 1.0).double().mean() < 1.0


@every_residual
@pytest.mark.parametrize("training", [True, False])
def test_the_gradients_of_residuals_are_their_derivatives(name: str, training: bool) -> None:
    (x, mask), y = states(3, 2, columns=3), torch.randn(2, 3, D, requires_grad=True)
    residual = RESIDUALS[name](randomised(LayerNorm(D)), dropout=0.5).train(training)

    def after(x: Tensor, y: Tensor, *_: Tensor) -> Tensor:
        torch.manual_seed(5)
        output: Tensor = residual.after(x, y, mask)
        return output

    assert gradcheck(after, (x.requires_grad_(), y, *residual.parameters()))


def test_pre_norm_passes_on_its_input_when_the_layer_gives_nothing() -> None:
    x, mask = states(7, 4)
    residual = PreNorm(LayerNorm(D), dropout=0.0)
    assert torch.equal(residual.after(x, torch.zeros_like(x), mask), x)
    torch.testing.assert_close(residual.before(x, mask), F.layer_norm(x, (D,)), **TOLERANCE)


def test_post_norm_gives_the_layer_its_input_and_normalises_the_sum() -> None:
    (x, mask), y = states(7, 4), torch.randn(2, 7, D)
    residual = RESIDUALS["post_norm"](LayerNorm(D), dropout=0.0)
    assert residual.before(x, mask) is x
    torch.testing.assert_close(residual.after(x, y, mask), F.layer_norm(x + y, (D,)), **TOLERANCE)


@every_residual
def test_a_residual_says_whether_it_ends_in_a_norm(name: str) -> None:
    x, mask = states(7, 4)
    residual = RESIDUALS[name](LayerNorm(D), dropout=0.0)
    normalised = torch.allclose(residual.after(x, x, mask).mean(dim=-1), torch.zeros(2, 7), atol=1e-9)
    assert residual.ends_in_norm == normalised


# Feed-forward networks


def swish(x: float) -> float:
    return x / (1.0 + math.exp(-x))


BENT = {
    "relu": lambda x: max(0.0, x),
    "gelu": lambda x: x * 0.5 * (1.0 + math.erf(x / math.sqrt(2.0))),
}


@pytest.mark.parametrize("name", BENT)
def test_feed_forward_bends_between_two_affine_maps(name: str) -> None:
    network = ACTIVATIONS[name](width=D, hidden=3)
    first, second = network[0], network[2]
    x = torch.randn(2, 7, D)
    inner = [[BENT[name](value) for value in row] for row in first(x).flatten(0, 1).tolist()]
    expected = second(torch.tensor(inner)).unflatten(0, (2, 7))
    torch.testing.assert_close(network(x), expected, **TOLERANCE)


def test_relu_in_training_equals_the_readable_form_in_values_and_gradients() -> None:
    network, x, direction = ReLU(width=D, hidden=11), torch.randn(2, 7, D, requires_grad=True), torch.randn(2, 7, D)
    found = []
    for training in (True, False):
        y = network.train(training)(x)
        found.append((y.detach(), *torch.autograd.grad((y * direction).sum(), (x, *network.parameters()))))
    torch.testing.assert_close(found[0], found[1], **TOLERANCE)


@torch.no_grad()
def test_relu_without_gradients_writes_into_its_hidden_layer_and_leaves_its_input() -> None:
    network, x = ReLU(width=D, hidden=11).eval(), torch.randn(2, 7, D)
    first, _, second = network
    before, hidden = x.clone(), []
    first.forward = lambda h: (hidden.append(nn.functional.linear(h, first.weight, first.bias)), hidden[-1])[1]
    torch.testing.assert_close(network(x), second(first(x).clamp(min=0.0)), **TOLERANCE)
    assert torch.all(hidden[0] >= 0.0)
    assert torch.equal(x, before)


@torch.no_grad()
@pytest.mark.parametrize("part", range(3))
def test_hooks_on_the_parts_of_relu_are_called_without_gradients(part: int) -> None:
    network, called = ReLU(width=D, hidden=11).eval(), []
    network[part].register_forward_hook(lambda *_: called.append(part))
    network(torch.randn(2, 7, D))
    assert called == [part]


@pytest.mark.parametrize("training", [True, False])
def test_relu_writes_its_gradient_out_in_training_alone(training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    network, taken = ReLU(width=D, hidden=11).train(training), []
    monkeypatch.setattr("transformer_mt.models.blocks.relu_network", lambda x, *_: (taken.append("in place"), x)[1])
    network(torch.randn(2, 7, D))
    assert taken == ["in place"] * training


@pytest.mark.parametrize("kind", ["forward", "forward_pre", "full_backward", "full_backward_pre"])
@pytest.mark.parametrize("part", range(3))
def test_hooks_on_the_parts_of_relu_are_called_in_training(kind: str, part: int) -> None:
    network, called = ReLU(width=D, hidden=11), []
    hook = getattr(network[part], f"register_{kind}_hook")(lambda *_: called.append(kind))
    for _ in range(2):
        network(torch.randn(2, 7, D, requires_grad=True)).sum().backward()
        hook.remove()
    assert called == [kind]


def test_relu_in_training_computes_in_the_chosen_number_format() -> None:
    network, x, direction = ReLU(width=D, hidden=11).float(), torch.randn(2, 7, D).float(), torch.randn(2, 7, D)
    found = []
    for training in (True, False):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = network.train(training)(x)
        assert y.dtype == torch.bfloat16
        found.append((y.detach(), *torch.autograd.grad((y * direction).sum(), network.parameters())))
    torch.testing.assert_close(found[0], found[1], rtol=2**-6, atol=2**-6)


@torch.no_grad()
def test_swiglu_gates_the_values() -> None:
    network = ACTIVATIONS["swiglu"](width=D, hidden=3)
    x = torch.randn(7, D)
    for row, found in zip(x, network(x[None])[0], strict=True):
        gates = [swish(float(weights @ row)) for weights in network.gate.weight]
        values = [float(weights @ row) for weights in network.value.weight]
        inner = torch.tensor([gate * value for gate, value in zip(gates, values, strict=True)])
        torch.testing.assert_close(found, network.output.weight @ inner, **TOLERANCE)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_gradients_of_feed_forward_networks_are_their_derivatives(name: str) -> None:
    network = ACTIVATIONS[name](width=D, hidden=3)
    assert gradcheck(lambda x, *_: network(x), (torch.randn(1, 3, D, requires_grad=True), *network.parameters()))
