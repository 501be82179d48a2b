import shutil
from pathlib import Path

import pytest
from support.cache import cache_in
from support.small_training import VALIDATION, opened

from transformer_mt.config.sections import SearchConfig
from transformer_mt.errors import InputError, MachineError, TmtError
from transformer_mt.export import ctranslate2_weights as conversion
from transformer_mt.export.conversion_cache import converted
from transformer_mt.runs.directory import CONFIG, MODEL, TOKENIZER, Run, find_run
from transformer_mt.runs.weights import weights_of
from transformer_mt.translation.translator import Translator

pytestmark = pytest.mark.slow

REMEDY = "restore it or train anew"
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
    """Other weights, as if it had trained on."""
    model = Run(run).network()
    Run(run).save_model({name: factor * tensor for name, tensor in weights_of(model).items()})


def texts(run: Path, engine: str = "ctranslate2") -> list[str]:
    found = Translator.load(run, engine=engine, device="cpu").translate(SOURCES, GREEDY)
    return [ranked[0].text for ranked in found]


def never(*_: object, **__: object) -> dict[str, bytes]:
    raise AssertionError("made again")


def test_a_model_is_made_once(run: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = texts(run)
    assert before == texts(run, "torch")
    monkeypatch.setattr(conversion, "model_files", never)
    assert texts(run) == before
    assert len(list(folder.glob("*.ctranslate2"))) == 1
    with pytest.raises(AssertionError, match="made again"):
        converted(Run(run), quantization="int8")


def test_a_run_that_has_trained_on_is_converted_anew_and_an_open_one_stays_as_it_is(run: Path) -> None:
    open_one = Translator.load(run, engine="ctranslate2")
    before = open_one.translate(SOURCES, GREEDY)
    change(run, -3.0)
    assert texts(run) == texts(run, "torch") != [ranked[0].text for ranked in before]
    assert open_one.translate(SOURCES, GREEDY) == before


def test_a_run_that_has_trained_on_leaves_one_file_and_those_of_others_alone(
    run: Path, tmp_path: Path, folder: Path
) -> None:
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
    assert len(set(folder.iterdir()) - kept) == 2  # with its lock


def test_a_checkpoint_has_weights_of_its_own(run: Path) -> None:
    change(run, -3.0)
    (step,) = {path.name for path in (run / "checkpoints").glob("step-4")}
    found = Translator.load(run / "checkpoints" / step, engine="ctranslate2").translate(SOURCES, GREEDY)
    own = Translator.load(run / "checkpoints" / step, device="cpu").translate(SOURCES, GREEDY)
    assert [ranked[0].text for ranked in found] == [ranked[0].text for ranked in own] != texts(run)


@pytest.mark.parametrize("name", [CONFIG, TOKENIZER])
def test_files_of_different_moments_are_never_mixed(run: Path, name: str) -> None:
    texts(run)
    with (run / name).open("ab") as file:
        file.write(b"\n")
    with pytest.raises(MachineError, match=rf"/{name}: not the one that model.safetensors was saved with; "):
        texts(run)


def test_without_sums_or_weights(run: Path) -> None:
    for content in (b"garbage", b"\x02\0\0\0\0\0\0\0[]"):
        (run / MODEL).write_bytes(content)
        with pytest.raises(TmtError, match=r"model.safetensors: damaged"):
            texts(run)
    (run / MODEL).unlink()
    with pytest.raises(InputError, match=r"model.safetensors: missing; continue tmt train until its first"):
        texts(run)


def test_weights_that_change_while_they_are_converted_are_not_kept(
    run: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    load = Run.network

    def late(self: Run) -> object:
        monkeypatch.setattr(Run, "network", load)
        change(run, 2.0)
        return Run(run).network()

    monkeypatch.setattr(Run, "network", late)
    with pytest.raises(MachineError, match=r": has just been written anew; try again$"):
        converted(Run(run), quantization=None)
    assert not list(folder.glob("*.ctranslate2"))


@pytest.mark.parametrize("place", [-1, -1_000])
def test_damaged_weights_have_one_verdict_in_both_engines(run: Path, place: int) -> None:
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
