import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.cache import cache_in
from support.small_training import VALIDATION, opened

from transformer_mt.config.sections import SearchConfig
from transformer_mt.extensions.ctranslate2 import ctranslate2_weights
from transformer_mt.extensions.ctranslate2.conversion_cache import converted
from transformer_mt.ground.errors import MachineError, TmtError
from transformer_mt.runs.directory import CONFIG, MODEL, Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.translation.translator import Translator

pytestmark = pytest.mark.slow

SOURCES = [pair.source for pair in VALIDATION]
GREEDY = SearchConfig(beam=1, max_length=9)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "trained"
    list(opened(path, "training.steps=4").train())
    return path


@pytest.fixture
def run(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run, and an empty cache next to it."""
    cache_in(tmp_path / "cache", monkeypatch)
    return Path(shutil.copytree(trained, tmp_path / "run"))


def change(run: Path, factor: float) -> None:
    """Change the weights, as training would."""
    model = Run(run).network()
    Run(run).save_model({name: factor * tensor for name, tensor in weights_of(model).items()})


def texts(run: Path, engine: str = "ctranslate2") -> list[str]:
    found = Translator.load(run, engine=engine, device="cpu").translate(SOURCES, GREEDY)
    return [ranked[0].text for ranked in found]


def test_model_is_converted_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = texts(run)
    assert before == texts(run, "torch")
    monkeypatch.setattr(ctranslate2_weights, "model_files", None)
    assert texts(run) == before
    with pytest.raises(TypeError):
        converted(Run(run), quantization="int8")


def test_run_is_converted_again_after_training(run: Path) -> None:
    open_one = Translator.load(run, engine="ctranslate2")
    before = open_one.translate(SOURCES, GREEDY)
    converted(Run(run), quantization="int8")
    for factor in (2.0, -3.0):
        change(run, factor)
        assert texts(run) == texts(run, "torch")
    assert texts(run) != [ranked[0].text for ranked in before] == texts(run / "checkpoints" / "step-4")
    assert open_one.translate(SOURCES, GREEDY) == before
    # The last of each number format, and the checkpoint's.
    assert len([*(run.parent / "cache").glob("*.ctranslate2")]) == 3


def test_weights_that_change_during_conversion_are_not_cached(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = Run.network

    def late(self: Run) -> object:
        monkeypatch.setattr(Run, "network", load)
        change(run, 2.0)
        return Run(run).network()

    monkeypatch.setattr(Run, "network", late)
    with pytest.raises(MachineError, match=r": has just been overwritten; try again$"):
        converted(Run(run), quantization=None)
    assert not [*(run.parent / "cache").glob("*.ctranslate2")]


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (CONFIG, lambda content: content + b"\n"),
        (MODEL, lambda content: content[:-1] + b"\x01"),
        (MODEL, None),
    ],
)
def test_both_engines_name_the_damaged_file(run: Path, name: str, damage: Callable[[bytes], bytes] | None) -> None:
    texts(run)
    whole = (run / name).rename(run / "whole")
    if damage:
        (run / name).write_bytes(damage(whole.read_bytes()))
    for engine in ("torch", "ctranslate2"):
        with pytest.raises(TmtError, match=f"^{run / name}: "):
            texts(run, engine)
