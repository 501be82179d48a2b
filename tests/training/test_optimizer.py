import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from transformer_mt.config import OptimizerConfig
from transformer_mt.errors import InputError
from transformer_mt.training.optimizer import OPTIMIZERS, ScheduledAdam, build_optimizer, constant_rate, noam_rate


def parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(3)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((3, 5), (7,))]


def set_gradients(of: list[nn.Parameter], *, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in of:
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def walk(optimizer: ScheduledAdam, of: list[nn.Parameter], steps: range) -> list[float]:
    rates = []
    for step in steps:
        set_gradients(of, step=step)
        rates.append(optimizer.step())
    return rates


@given(step=st.integers(1, 10**6), width=st.integers(1, 2048), factor=st.floats(0.01, 10), warmup=st.integers(1, 10**5))
def test_noam_rate_is_the_formula(step: int, width: int, factor: float, warmup: int) -> None:
    rising, falling = step / warmup**1.5, 1 / step**0.5
    expected = factor / width**0.5 * min(rising, falling)
    assert noam_rate(step, width=width, factor=factor, warmup=warmup) == pytest.approx(expected)


@given(warmup=st.integers(2, 50))
def test_noam_rate_rises_to_the_end_of_warmup_and_falls_from_there(warmup: int) -> None:
    rates = [noam_rate(step, width=17, factor=1.0, warmup=warmup) for step in range(1, 3 * warmup)]
    assert rates.index(max(rates)) == warmup - 1
    assert rates[:warmup] == sorted(rates[:warmup])
    assert rates[warmup - 1 :] == sorted(rates[warmup - 1 :], reverse=True)


@given(step=st.integers(1, 10**6), width=st.integers(1, 2048), factor=st.floats(0.01, 10), warmup=st.integers(1, 10**5))
def test_constant_rate_follows_that_of_noam_up_to_its_top_and_stays_there(
    step: int, width: int, factor: float, warmup: int
) -> None:
    top = noam_rate(min(step, warmup), width=width, factor=factor, warmup=warmup)
    assert constant_rate(step, width=width, factor=factor, warmup=warmup) == pytest.approx(top)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_step_is_one_of_adam_at_the_rate_of_the_schedule(name: str) -> None:
    config = OptimizerConfig(name=name, factor=2.0, warmup=3, betas=(0.7, 0.9), epsilon=1e-3)
    ours, plain = parameters(), parameters()
    optimizer = build_optimizer(config, ours, width=17)
    adam = torch.optim.Adam(plain, lr=0.0, betas=(0.7, 0.9), eps=1e-3)
    for step in range(1, 6):
        rate = OPTIMIZERS[name](step, width=17, factor=2.0, warmup=3)
        adam.param_groups[0]["lr"] = rate
        set_gradients(plain, step=step)
        adam.step()
        assert walk(optimizer, ours, range(step, step + 1)) == [rate]
    for our, their in zip(ours, plain, strict=True):
        torch.testing.assert_close(our, their)


def test_step_clears_the_gradients() -> None:
    ours = parameters()
    walk(build_optimizer(OptimizerConfig(), ours, width=17), ours, range(1, 2))
    assert all(parameter.grad is None for parameter in ours)


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_loaded_state_continues_bit_for_bit(stop: int) -> None:
    config = OptimizerConfig(warmup=3)
    whole, first, second = parameters(), parameters(), parameters()
    all_rates = walk(build_optimizer(config, whole, width=17), whole, range(1, 8))
    before = build_optimizer(config, first, width=17)
    rates = walk(before, first, range(1, stop + 1))
    after = build_optimizer(config, second, width=17)
    with torch.no_grad():
        for there, here in zip(second, first, strict=True):
            there.copy_(here)
    state: dict[str, Tensor] = {name: tensor.clone() for name, tensor in before.state().items()}
    after.load(state)
    assert rates + walk(after, second, range(stop + 1, 8)) == all_rates
    assert all(torch.equal(there, here) for there, here in zip(second, whole, strict=True))


def test_unknown_optimizer_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"optimizer\.name: there is no 'noman'; did you mean noam\?"):
        build_optimizer(OptimizerConfig(name="noman"), parameters(), width=17)
