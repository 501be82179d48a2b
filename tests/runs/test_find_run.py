from collections.abc import Callable
from pathlib import Path

import pytest
from support.small_training import opened, weights_digest

from transformer_mt.ground.errors import InputError
from transformer_mt.runs.directory import Run, find_run
from transformer_mt.translation.translator import Translator


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A finished run with this averaging and all checkpoints; read-only."""
    folder = tmp_path_factory.mktemp("runs")

    def trained(averaging: str) -> Path:
        path = folder / averaging
        if not path.exists():
            list(opened(path, f"training.averaging={averaging}", "training.keep_checkpoints=all").train())
        return path

    return trained


@pytest.mark.parametrize("averaging", [pytest.param("none", marks=pytest.mark.slow), "ema"])
def test_best_checkpoint_has_the_weights_of_the_run(averaging: str, runs: Callable[[str], Path]) -> None:
    path = runs(averaging)
    best = max(Run(path).metrics(), key=lambda line: line["step"] * line.get("best", 0))["step"]
    found = find_run(path / "checkpoints" / f"step-{best}").network()
    assert weights_digest(found) == weights_digest(Run(path).network())
    assert not found.training


def test_earlier_checkpoint_translates(runs: Callable[[str], Path]) -> None:
    path = runs("ema")
    early = Translator.load(path / "checkpoints" / "step-3", device="cpu")
    assert weights_digest(early.model.network) != weights_digest(Run(path).network())
    assert early.translate(["der Hund hat das Kind."])


def test_checkpoint_is_found_by_relative_paths(runs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = runs("ema")
    monkeypatch.chdir(path / "checkpoints")
    assert find_run(Path("step-4")).path == Path("..")
    monkeypatch.chdir(path)
    assert find_run(Path("checkpoints/step-4/")).path == Path()
    assert find_run(path / "checkpoints/step-4").path == path
    assert find_run(path).path == path


def test_missing_checkpoint_error_lists_the_existing_ones(runs: Callable[[str], Path]) -> None:
    path = runs("ema") / "checkpoints" / "step-5"
    with pytest.raises(InputError) as caught:
        find_run(path)
    assert str(caught.value) == f"{path}: no such checkpoint; there are: step-3, step-4, step-6, step-8"
