import shutil
from pathlib import Path

import pytest
from support.cache import cache_in
from support.small_training import VALIDATION, opened

from transformer_mt.config.sections import SearchConfig
from transformer_mt.extensions.ctranslate2 import ctranslate2_weights as conversion
from transformer_mt.extensions.ctranslate2.conversion_cache import converted
from transformer_mt.ground.errors import InputError, MachineError, TmtError
from transformer_mt.runs.directory import CONFIG, MODEL, TOKENIZER, Run, find_run
from transformer_mt.runs.weights import weights_of
from transformer_mt.translation.translator import Translator

pytestmark = pytest.mark.slow

REMEDY = "restore it or train again"
SOURCES = [pair.source for pair in VALIDATION]
GREEDY = SearchConfig(beam=1, max_length=9)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "trained"
    list(opened(path, "training.steps=4").train())
    return path


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    cache_in(path, monkeypatch)
    return path


def change(run: Path, factor: float) -> None:
    """Change the weights, as training would."""
    model = Run(run).network()
    Run(run).save_model({name: factor * tensor for name, tensor in weights_of(model).items()})


def texts(run: Path, engine: str = "ctranslate2") -> list[str]:
    found = Translator.load(run, engine=engine, device="cpu").translate(SOURCES, GREEDY)
    return [ranked[0].text for ranked in found]


def never(*_: object, **__: object) -> dict[str, bytes]:
    raise AssertionError("made again")


def test_model_is_converted_once(run: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = texts(run)
    assert before == texts(run, "torch")
    monkeypatch.setattr(conversion, "model_files", never)
    assert texts(run) == before
    assert len(list(folder.glob("*.ctranslate2"))) == 1
    with pytest.raises(AssertionError, match="made again"):
        converted(Run(run), quantization="int8")


def test_run_is_converted_again_after_training(run: Path) -> None:
    open_one = Translator.load(run, engine="ctranslate2")
    before = open_one.translate(SOURCES, GREEDY)
    change(run, -3.0)
    assert texts(run) == texts(run, "torch") != [ranked[0].text for ranked in before]
    assert open_one.translate(SOURCES, GREEDY) == before


def test_new_conversion_replaces_only_the_old_one(run: Path, tmp_path: Path, folder: Path) -> None:
    another = Path(shutil.copytree(run, tmp_path / "another"))
    kept = set()
    for path, quantization in ((another, None), (run, "int8"), (next(run.glob("checkpoints/step-4")), None)):
        converted(find_run(path), quantization=quantization)
        kept = set(folder.iterdir())
    sizes = []
    for factor in (2.0, 3.0, 5.0):
        change(run, factor)
        converted(Run(run), quantization=None)
        assert set(folder.iterdir()) >= kept
        sizes.append(len(set(folder.glob("*.ctranslate2")) - kept))
    assert sizes == [1, 1, 1]
    assert len(set(folder.iterdir()) - kept) == 2  # the file and its lock


def test_checkpoint_has_its_own_weights(run: Path) -> None:
    change(run, -3.0)
    (step,) = {path.name for path in (run / "checkpoints").glob("step-4")}
    found = Translator.load(run / "checkpoints" / step, engine="ctranslate2").translate(SOURCES, GREEDY)
    own = Translator.load(run / "checkpoints" / step, device="cpu").translate(SOURCES, GREEDY)
    assert [ranked[0].text for ranked in found] == [ranked[0].text for ranked in own] != texts(run)


@pytest.mark.parametrize("name", [CONFIG, TOKENIZER])
def test_files_of_different_snapshots_are_never_mixed(run: Path, name: str) -> None:
    texts(run)
    with (run / name).open("ab") as file:
        file.write(b"\n")
    with pytest.raises(MachineError, match=rf"/{name}: not the one that model.safetensors was saved with; "):
        texts(run)


def test_missing_checksums_or_weights_are_an_error(run: Path) -> None:
    for content in (b"garbage", b"\x02\0\0\0\0\0\0\0[]"):
        (run / MODEL).write_bytes(content)
        with pytest.raises(TmtError, match=r"model.safetensors: damaged"):
            texts(run)
    (run / MODEL).unlink()
    with pytest.raises(InputError, match=r"model.safetensors: missing; run tmt train until its first"):
        texts(run)


def test_weights_that_change_during_conversion_are_not_cached(
    run: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    load = Run.network

    def late(self: Run) -> object:
        monkeypatch.setattr(Run, "network", load)
        change(run, 2.0)
        return Run(run).network()

    monkeypatch.setattr(Run, "network", late)
    with pytest.raises(MachineError, match=r": has just been overwritten; try again$"):
        converted(Run(run), quantization=None)
    assert not list(folder.glob("*.ctranslate2"))


@pytest.mark.parametrize("place", [-1, -1_000])
def test_both_engines_report_damaged_weights_alike(run: Path, place: int) -> None:
    texts(run)
    content = bytearray((run / MODEL).read_bytes())
    content[place] ^= 1
    (run / MODEL).write_bytes(content)
    verdicts = []
    for engine in ("torch", "ctranslate2"):
        with pytest.raises(MachineError) as error:
            texts(run, engine)
        verdicts.append(str(error.value))
    assert verdicts[0] == verdicts[1] == f"{run / MODEL}: damaged (its SHA-256 is not the one in it); {REMEDY}"
