import pytest
import torch
from support.tiny import padding
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.models.blocks import NORMS, RESIDUALS, BatchNorm, LayerNorm, NoNorm, Norm, RMSNorm
from transformer_mt.models.positionwise import FEED_FORWARDS

pytestmark = pytest.mark.usefixtures("float64")

D = 5
TOLERANCE = {"rtol": 0.0, "atol": 1e-10}

every_norm = pytest.mark.parametrize("name", NORMS)
every_residual = pytest.mark.parametrize("name", RESIDUALS)


def states(*lengths: int) -> tuple[Tensor, Tensor]:
    """Random states and a mask of real ones."""
    return 3.0 * torch.randn(len(lengths), 7, D) + 1.0, padding(*lengths)


def randomised(norm: Norm) -> Norm:
    """Randomise the parameters, since ones and zeros would hide mistakes."""
    for parameter in norm.parameters():
        nn.init.normal_(parameter, mean=1.0)
    return norm


# Norms


@every_norm
@pytest.mark.parametrize("training", [True, False])
def test_padding_does_not_affect_norms(name: str, training: bool) -> None:
    x, mask = states(7, 4)
    changed = torch.where(mask[..., None], x, 100.0)
    first, second = NORMS[name](D).train(training), NORMS[name](D).train(training)
    torch.testing.assert_close(first(changed, mask)[mask], second(x, mask)[mask], rtol=0.0, atol=0.0)
    for ours, others in zip(first.buffers(), second.buffers(), strict=True):
        assert torch.equal(ours, others)


@pytest.mark.parametrize(("ours", "theirs"), [(LayerNorm(D), nn.LayerNorm(D)), (RMSNorm(D), nn.RMSNorm(D, eps=1e-6))])
def test_norms_match_torch(ours: Norm, theirs: nn.Module) -> None:
    x, mask = states(7, 4)
    theirs.load_state_dict(randomised(ours).double().state_dict())
    torch.testing.assert_close(ours(x, mask), theirs.double()(x), **TOLERANCE)


def test_batch_norm_measures_only_real_tokens() -> None:
    x, mask = states(7, 4)
    norm = randomised(BatchNorm(D)).train()
    mean, variance = x[mask].mean(dim=0), x[mask].var(dim=0)
    expected = (x - mean) / (variance + 1e-5).sqrt() * norm.weight + norm.bias
    torch.testing.assert_close(norm(x, mask), expected, **TOLERANCE)
    torch.testing.assert_close((norm.mean, norm.variance), (0.1 * mean, 0.9 + 0.1 * variance), **TOLERANCE)


def test_batch_norm_evaluates_with_the_running_means_of_torch() -> None:
    ours, theirs = BatchNorm(D).train(), nn.BatchNorm1d(D).train()
    for _ in range(5):
        x, mask = states(7, 4)
        ours(x, mask)
        theirs(x[mask])
    x, mask = states(6, 2)
    torch.testing.assert_close(ours.eval()(x, mask)[mask], theirs.eval()(x[mask]), **TOLERANCE)


@pytest.mark.parametrize("lengths", [(0,), (1,)])
def test_batch_norm_of_too_few_tokens_uses_running_means(lengths: tuple[int, ...]) -> None:
    x, mask = states(*lengths)
    norm = BatchNorm(D).train()
    torch.testing.assert_close(norm(x, mask), BatchNorm(D).eval()(x, mask), rtol=0.0, atol=0.0)


# Residuals


@every_residual
def test_dropout_acts_on_the_layer_and_not_on_the_residual_path(name: str) -> None:
    x, mask = states(7, 4)
    residual = RESIDUALS[name](NoNorm(D), dropout=0.5).train()
    added = residual.after(x, torch.ones_like(x), mask) - x
    torch.testing.assert_close(added * (added - 2.0), torch.zeros_like(x), **TOLERANCE)
    assert 0.0 < (added.abs() < 1.0).double().mean() < 1.0


@every_residual
def test_a_residual_says_whether_it_ends_in_a_norm(name: str) -> None:
    x, mask = states(7, 4)
    residual = RESIDUALS[name](LayerNorm(D), dropout=0.0)
    normalised = torch.allclose(residual.after(x, x, mask).mean(dim=-1), torch.zeros(2, 7), atol=1e-9)
    assert residual.ends_in_norm == normalised


# Feed-forward networks


@pytest.mark.parametrize("name", ["relu", "gelu", "silu"])
def test_feed_forward_is_two_affine_maps_with_an_activation(name: str) -> None:
    network = FEED_FORWARDS[name](D, 3)
    x, mask = states(7, 4)
    expected = network.output(getattr(F, name)(network.hidden(x)))
    torch.testing.assert_close(network(x, mask), expected, **TOLERANCE)


@torch.no_grad()
def test_swiglu_gates_the_values() -> None:
    network = FEED_FORWARDS["swiglu"](D, 3)
    x, mask = states(7)
    gates = x @ network.gate.weight.T
    inner = gates * gates.sigmoid() * (x @ network.value.weight.T)
    torch.testing.assert_close(network(x, mask), inner @ network.output.weight.T, **TOLERANCE)
