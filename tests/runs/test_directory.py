import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from support.small_training import opened

from transformer_mt.ground.errors import TmtError
from transformer_mt.runs import directory
from transformer_mt.runs.directory import (
    CHECKPOINTS,
    CONFIG,
    METRICS,
    MODEL,
    TRAIN_LOG,
    Run,
    newest_run,
)
from transformer_mt.runs.weights import digest, pack, weights_of
from transformer_mt.runs.words import WORDS
from transformer_mt.training.reports import ValidationReport
from transformer_mt.translation.model import Model


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one validation, to copy or read."""
    path = tmp_path_factory.mktemp("runs") / "trained"
    list(opened(path, "training.steps=4").train())
    return path


def problem(action: Callable[[], object]) -> str:
    with pytest.raises(TmtError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_directory_without_a_run_is_a_one_line_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        assert problem(lambda path=path: Run.open(path)) == (
            f"{path}: not a run directory (no config.toml); train one with: tmt train --run-dir {path}"
        )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda content: content[:-7], "damaged or not a safetensors file"),
        (lambda content: bytes(len(content)), "damaged or not a safetensors file"),
        (lambda content: content[:3000], "3000 bytes, too few for the model of config.toml; restore both files from"),
        (lambda content: pack(safetensors.torch.load(content)), "damaged (a checksum is missing); restore it or train"),
    ],
)
def test_error_names_the_damaged_model(
    trained: Path, tmp_path: Path, change: Callable[[bytes], bytes], expected: str
) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    (run / MODEL).write_bytes(change((trained / MODEL).read_bytes()))
    assert problem(Run.open(run).network).startswith(f"{run / MODEL}: {expected}")


def test_nothing_in_a_run_can_execute(trained: Path) -> None:
    kinds = {path.suffix for path in trained.rglob("*") if path.is_file()}
    assert kinds == {".toml", ".model", ".safetensors", ".jsonl", ".json", ".lock", ".tsv"}
    assert not [path for path in trained.rglob("*") if path.is_file() and path.read_bytes()[:2] in (b"PK", b"\x80\x02")]


def test_shared_weights_are_saved_once(trained: Path) -> None:
    model = Run.open(trained).network()
    weights = weights_of(model)
    storages = [tensor.data_ptr() for tensor in weights.values()]
    assert len(set(storages)) == len(storages)
    assert {tensor.data_ptr() for tensor in model.state_dict().values()} == set(storages)
    assert len(model.state_dict()) > len(weights)  # the shared embedding table
    saved = safetensors.torch.load((trained / MODEL).read_bytes())
    assert saved.keys() == weights.keys()
    assert all(torch.equal(saved[name], tensor) for name, tensor in weights.items())


def test_newest_run_has_the_newest_weights(tmp_path: Path) -> None:
    assert problem(lambda: newest_run(tmp_path)) == (f"{tmp_path}: no trained model here; train one with: tmt train")
    for name, time in (("a", 300), ("b", 900), ("c", 600)):
        (tmp_path / name).mkdir()
        (tmp_path / name / MODEL).write_bytes(b"")
        os.utime(tmp_path / name / MODEL, (time, time))
    (tmp_path / "untrained").mkdir()
    assert newest_run(tmp_path).path == tmp_path / "b"


def test_reader_never_mixes_two_runs(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run replaces the first one after its configuration and vocabulary have been read."""
    path, other = Path(shutil.copytree(trained, tmp_path / "run")), tmp_path / "other"
    list(opened(other, "training.steps=4", "training.seed=7").train())
    read = directory.read_regular

    def replacing(place: Path, *, limit: int) -> bytes:
        if place.name == MODEL:
            shutil.copytree(other, path, dirs_exist_ok=True)
        return read(place, limit=limit)

    monkeypatch.setattr("transformer_mt.runs.directory.read_regular", replacing)
    assert problem(Run.open(path).network) == (
        f"{path / CONFIG}: not the one that {MODEL} was saved with; restore both"
    )
    found = Run.open(path)
    assert digest(weights_of(found.network())) == digest(safetensors.torch.load((other / MODEL).read_bytes()))
    assert found.config().training.seed == 7


def test_opened_model_keeps_its_words_and_heads(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = Path(shutil.copytree(trained, tmp_path / "run")), tmp_path / "other"
    list(opened(other, "training.steps=4", "training.seed=7").train())
    (other / WORDS).unlink()
    model = Model.open(Run.open(path), device="cpu")
    shutil.copytree(other, path, dirs_exist_ok=True)
    (path / WORDS).unlink()  # the other run has none
    assert model.known is not None
    assert model.alignment is not None
    assert model.alignment == Run.open(trained).alignment()
    shutil.copytree(trained, path, dirs_exist_ok=True)
    read = Run._read

    def replacing(run: Run, name: str) -> bytes:
        if name == WORDS:
            shutil.copytree(other, path, dirs_exist_ok=True)
        return read(run, name)

    monkeypatch.setattr(Run, "_read", replacing)
    assert problem(lambda: Model.open(Run.open(path), device="cpu")) == f"{path}: has just been overwritten; try again"


def test_files_changed_during_training_do_not_match_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = opened(tmp_path, "training.steps=8").train()
    next(report for report in reports if isinstance(report, ValidationReport))
    with (tmp_path / CONFIG).open("a") as file:
        file.write("# mine\n")
    list(reports)
    assert problem(Run.open(tmp_path).network).startswith(f"{tmp_path / CONFIG}: not the one that {MODEL} was saved")


def test_weights_larger_than_memory_are_not_read(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.ground.memory.FREE_ANYWHERE", 0)
    monkeypatch.setattr(directory, "free_memory", lambda: (trained / MODEL).stat().st_size)
    monkeypatch.setattr(Run, "read_weights", lambda *_: pytest.fail("reads"))
    assert problem(Run.open(trained).network).startswith(f"{trained / MODEL}: needs 0.0 GB of memory, ")


def test_invalid_lines_of_the_metrics_are_skipped(tmp_path: Path) -> None:
    lines = (
        b'{"step": 1, "kind": "training"}',
        b"[" * 10**5,
        b'{"step": NaN, "kind": "training"}',
        b'{"step": true, "kind": "training"}',
        b'{"step": ' + b"9" * 5_000 + b"}",
        b"\xff",
        b'{"step": -1, "kind": "training"}',
        b'{"step": 1' + b"0" * 400 + b', "kind": "training"}',
        b'{"step": 2, "kind": "training", "x": [' + b"0," * 2**19 + b"0]}",
        b'{"step": 3, "kind": "training"}',
        b'{"step": 4, "ki',
    )
    (tmp_path / METRICS).write_bytes(b"\n".join(lines))
    assert [record["step"] for record in Run(tmp_path).metrics()] == [1, 3]


@pytest.mark.parametrize("make", [Path.hardlink_to, Path.symlink_to])
def test_linked_log_is_not_appended_to(tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    make(tmp_path / TRAIN_LOG, tmp_path / "mine")
    assert f"{TRAIN_LOG}: " in problem(lambda: Run(tmp_path).say("hello"))
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_run_is_writable_only_by_its_owner(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        session = opened(tmp_path / "run", "training.steps=4")
        session.trainer.run.say("hello")
        list(session.train())
    finally:
        os.umask(before)
    paths = [tmp_path / "run", *(tmp_path / "run").rglob("*")]
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in paths}
    assert modes == {(True, 0o755), (False, 0o644)}


def test_leftovers_of_crashes_are_removed(tmp_path: Path) -> None:
    opened(tmp_path)
    names = (".config.toml.0123456789abcdef.new", ".notes.txt.0123456789abcdef.new", ".notes.txt.old", "notes.txt")
    for name in names:
        (tmp_path / name).touch()
    for name in (".step-3.0123456789abcdef.new", "step-3", ".step-3.old", ".step-4.old"):
        (tmp_path / CHECKPOINTS / name).mkdir()
    Run(tmp_path).remove_leftovers()
    assert sorted(path.name for path in (tmp_path / CHECKPOINTS).iterdir()) == ["step-3", "step-4"]
    assert [name for name in names if (tmp_path / name).exists()] == list(names[1:])
