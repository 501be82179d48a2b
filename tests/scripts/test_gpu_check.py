"""The checks for a GPU run on a CPU too, and find faults."""

import re
from collections.abc import Callable
from types import SimpleNamespace

import gpu_check
import pytest
import torch
from typer.testing import CliRunner

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:enable_nested_tensor")]


@pytest.fixture
def checked() -> Callable[..., tuple[int, str]]:
    """Return a function that runs checks on the CPU, and returns the exit code and the output."""
    app = gpu_check.typer.Typer()
    app.command()(gpu_check.main)

    def run(*names: str) -> tuple[int, str]:
        outcome = CliRunner().invoke(app, ["--device", "cpu", "--small", *names])
        return outcome.exit_code, outcome.stdout

    return run


def test_the_cpu_passes_every_check(checked: Callable[..., tuple[int, str]]) -> None:
    code, printed = checked(*gpu_check.CHECKS.keys() - {"compile"})  # that needs minutes and a compiler
    assert code == 0, printed
    states = {name: state for state, name in re.findall(r"^(ok|not checked|failed) +(\w+)", printed, re.M)}
    assert states.pop("nccl") == "not checked"
    assert states == dict.fromkeys(gpu_check.CHECKS.keys() - {"compile", "nccl"}, "ok")


def test_another_result_on_the_device_is_a_failure(
    checked: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    forward, calls = torch.nn.functional.linear, []

    def drifting(*arguments: torch.Tensor) -> torch.Tensor:
        calls.append(0)
        return forward(*arguments) * (1 + 1e-3 * len(calls))

    monkeypatch.setattr("torch.nn.functional.linear", drifting)
    code, printed = checked("numbers")
    assert code == 1
    assert re.search(r"^failed +numbers +largest relative difference from the CPU: logits [^0]", printed, re.M)


def test_a_loss_that_does_not_fall_is_a_failure(
    checked: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = SimpleNamespace(loss=1.0)
    monkeypatch.setattr("gpu_check.reference_trainer", lambda *_, **__: SimpleNamespace(step=lambda: step))
    code, printed = checked("bfloat16", "nccl")
    assert code == 1
    assert re.search(r"^failed +bfloat16 .*\nnot checked +nccl +needs two GPUs$", printed, re.M)
