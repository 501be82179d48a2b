from pathlib import Path
from typing import Any

import pytest
import torch
from support.small_training import assert_resumed, opened
from torch import nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from transformer_mt.config.sections import OptimizerConfig
from transformer_mt.config.toml import load_config
from transformer_mt.ground.errors import InputError
from transformer_mt.models.build_model import build_model
from transformer_mt.training.optimizer import OPTIMIZERS, STEPS_TRIED, ScheduledOptimizer, build_optimizer

every_optimizer = pytest.mark.parametrize("name", OPTIMIZERS)


def configured(name: str, **numbers: Any) -> OptimizerConfig:
    overrides = [f"optimizer.{key}={value}" for key, value in numbers.items()]
    return load_config(None, [f"optimizer.name={name}", *overrides]).optimizer


class Small(nn.Module):
    """A model with a matrix, a bias, and an embedding that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 3)
        self.inner = nn.Linear(3, 3)
        self.output = nn.Linear(3, 5)
        self.output.weight = self.table.weight
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))


def schedule(step: int) -> float:
    return 0.1 / step


def set_gradients(of: nn.Module, *, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in of.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def walk(optimizer: ScheduledOptimizer, model: nn.Module, steps: range) -> list[float]:
    rates = []
    for step in steps:
        set_gradients(model, step=step)
        rates.append(optimizer.step(step))
    return rates


@every_optimizer
def test_steps_match_torch_at_the_scheduled_rate(name: str) -> None:
    ours, plain = Small(), Small()
    optimizer = build_optimizer(configured(name, betas="[0.7, 0.9]", epsilon=1e-3), ours, schedule)
    groups: list[dict[str, Any]] = [{"params": list(plain.parameters())}]
    if name == "adamw":
        matrix = [plain.inner.weight]
        others = [plain.table.weight, plain.inner.bias, plain.output.bias]
        groups = [{"params": matrix, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    optimizer_of_torch = {"adam": Adam, "adamw": AdamW}[name](groups, betas=(0.7, 0.9), eps=1e-3)
    for step in range(1, 6):
        set_gradients(plain, step=step)
        for group in optimizer_of_torch.param_groups:
            group["lr"] = schedule(step)
        optimizer_of_torch.step()
        assert walk(optimizer, ours, range(step, step + 1)) == [schedule(step)]
    torch.testing.assert_close([*ours.parameters()], [*plain.parameters()])
    assert all(parameter.grad is None for parameter in ours.parameters())


@pytest.mark.parametrize("tied", ["target", "none"])
def test_weight_decay_skips_norms_biases_embeddings_and_output(tied: str) -> None:
    settings = ["model.attention.position=relative(3)", f"model.tied={tied}"]
    model = build_model(load_config(None, settings).model, vocabulary_size=13)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    build_optimizer(configured("adamw", weight_decay=0.5), model, schedule).step(1)
    changed = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    matrices = {name for name, parameter in before.items() if parameter.ndim == 2}
    hidden = matrices - {"output.weight"}
    assert changed == {name for name in hidden if "table" not in name and ".to_" not in name}
    assert len(changed) == 3 * (4 + 2) + 3 * (8 + 2)  # three layers each: attention and feed-forward


class Odd(Optimizer):
    """Gradient descent with a chosen kind of state."""

    def __init__(self, parameters: Any, kind: str) -> None:
        super().__init__(parameters, {"lr": 1.0})
        self.kind, self.count = kind, 0

    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            group["count"] = group.get("count", 0) + 1
            for parameter in group["params"]:
                self.state[parameter].setdefault("of", self.first())
                parameter.data -= group["lr"] * self.scale(group) * parameter.grad

    def first(self) -> Any:
        if self.kind == "nested":
            return {"list": [torch.ones(2), None, 3, [0.5]], "number": 0.1, "is": True}
        return {3} if self.kind == "set" else None

    def scale(self, group: dict[str, Any]) -> float:
        if self.kind == "hidden":
            self.count += 1
            return 1.0 / self.count
        return 1.0 / group["count"]


def test_optimizer_with_plain_state_resumes_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPTIMIZERS, "adam", lambda model, _: Odd(model.parameters(), "nested"))
    assert_resumed(lambda path: opened(path, "optimizer.name=adam", "training.steps=6"), tmp_path)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda model: Odd(model.parameters(), "hidden"), "its steps differ after resuming"),
        (lambda model: Odd(model.parameters(), "set"), "is of type set"),
        (lambda model: torch.optim.LBFGS(model.parameters(), lr=1.0), "TypeError: "),
    ],
)
def test_optimizer_that_cannot_resume_is_refused(
    make: Any, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OPTIMIZERS, "adam", lambda model, _: make(model))
    with pytest.raises(InputError) as caught:
        opened(tmp_path / "run", "optimizer.name=adam")
    message = str(caught.value)
    assert message.startswith("optimizer.name: adam cannot be resumed exactly (")
    assert why in message
    assert "\n" not in message
    assert not (tmp_path / "run").exists()


def test_late_state_that_cannot_be_saved_is_a_one_line_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Odd):
        def step(self, closure: Any = None) -> None:
            super().step()
            if self.param_groups[0]["count"] > 2 * STEPS_TRIED:
                self.state[self.param_groups[0]["params"][0]]["late"] = {3}

    monkeypatch.setitem(OPTIMIZERS, "adam", lambda model, _: Late(model.parameters(), "plain"))
    session = opened(tmp_path / "run", "optimizer.name=adam", "training.steps=30", "training.validate_every=30")
    with pytest.raises(InputError, match=r"^optimizer\.name: its state cannot be saved \(.*late is of type set\); "):
        list(session.train())


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        *((lambda _, made=made: made, r"returns \w+, not a torch optimizer with a") for made in (None, "adam", SGD)),
        (lambda model: SGD([model.table.weight, model.output.bias]), "does not get each parameter exactly once; "),
    ],
)
def test_other_objects_than_optimizers_of_all_parameters_are_refused(
    make: Any, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OPTIMIZERS, "adam", lambda model, _: make(model))
    with pytest.raises(InputError, match=rf"^optimizer\.name: adam {problem}"):
        build_optimizer(configured("adam"), Small(), schedule)


@pytest.mark.parametrize("change", ["order", "option"])
def test_state_with_different_parameters_or_options_is_refused(change: str) -> None:
    model = Small()
    optimizer = build_optimizer(configured("adam"), model, schedule)
    walk(optimizer, model, range(1, 3))
    saved = optimizer.state()
    group = saved["param_groups"][0]  # a kernel would read past the end of a tensor
    if change == "order":
        group["params"].reverse()
    else:
        group["amsgrad"] = True
        for state in saved["state"].values():
            state["max_exp_avg_sq"] = torch.zeros(1)
    with pytest.raises(ValueError, match="its parameters, options, types or shapes are different"):
        build_optimizer(configured("adam"), Small(), schedule).load(saved)


def test_resumption_trial_leaves_the_random_state() -> None:
    model = Small()
    before = torch.get_rng_state()
    build_optimizer(configured("adam"), model, schedule)
    assert torch.equal(torch.get_rng_state(), before)
