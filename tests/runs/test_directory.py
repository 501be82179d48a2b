import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from support.small_training import opened
from torch import Tensor

from transformer_mt.errors import TmtError
from transformer_mt.runs.directory import MODEL, Run, newest_run
from transformer_mt.runs.weights import digest, pack, read_header, weights_of
from transformer_mt.translation.translator import Translator


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one validation behind it, to be copied or only read."""
    path = tmp_path_factory.mktemp("runs") / "trained"
    list(opened(path, "training.steps=4").train())
    return path


def problem(action: Callable[[], object]) -> str:
    with pytest.raises(TmtError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_what_is_no_run_is_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert problem(lambda: Run.open(missing)) == (
        f"{missing}: no such directory; train a model with: tmt train --run {missing}"
    )
    assert problem(lambda: Run.open(tmp_path)) == (
        f"{tmp_path}: not a run directory (no config.toml); give the directory that tmt train wrote"
    )


def test_run_without_a_model_says_how_to_get_one(tmp_path: Path) -> None:
    opened(tmp_path)
    assert problem(Run.open(tmp_path).load) == (
        f"{tmp_path / MODEL}: missing; training has not yet reached a validation: continue it with tmt train"
    )


def repacked(content: bytes, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> bytes:
    """Other tensors with sums of their own, as only someone who wants to deceive makes them."""
    header = read_header(io.BytesIO(content), path=Path())
    tensors = change(safetensors.torch.load(content))
    return pack(tensors, {**header.sums, "tensors": digest(tensors)})


def other_shapes(content: bytes) -> bytes:
    return repacked(content, lambda tensors: {name: tensor[:1] for name, tensor in tensors.items()})


def other_names(content: bytes) -> bytes:
    return repacked(content, lambda tensors: {f"x.{name}": tensor for name, tensor in tensors.items()})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda content: content[:-7], "damaged or not a safetensors file"),
        (lambda content: content[:3], "damaged or not a safetensors file"),
        (lambda content: b"", "damaged or not a safetensors file"),
        (lambda content: bytes(range(256)), "damaged or not a safetensors file"),
        (other_shapes, "the weights do not fit config.toml"),
        (other_names, "the weights do not fit config.toml"),
    ],
)
def test_damaged_model_is_named(trained: Path, tmp_path: Path, change: Callable[[bytes], bytes], expected: str) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    (run / MODEL).write_bytes(change((trained / MODEL).read_bytes()))
    assert problem(Run.open(run).load).startswith(f"{run / MODEL}: {expected}")


def test_a_run_can_be_moved(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run")
    moved = (tmp_path / "run").rename(tmp_path / "elsewhere")
    translator = Translator.load(moved, device="cpu")
    assert not translator.model.training


def test_nothing_in_a_run_can_execute(trained: Path) -> None:
    kinds = {path.suffix for path in trained.rglob("*") if path.is_file()}
    assert kinds == {".toml", ".model", ".safetensors", ".jsonl", ".json", ".lock"}
    assert not [path for path in trained.rglob("*") if path.is_file() and path.read_bytes()[:2] in (b"PK", b"\x80\x02")]


def test_shared_weights_are_saved_once(trained: Path) -> None:
    model = Run.open(trained).load().model
    weights = weights_of(model)
    storages = [tensor.data_ptr() for tensor in weights.values()]
    assert len(set(storages)) == len(storages)
    assert {tensor.data_ptr() for tensor in model.state_dict().values()} == set(storages)
    assert len(model.state_dict()) > len(weights)  # the one table of the vocabulary
    saved = safetensors.torch.load((trained / MODEL).read_bytes())
    assert saved.keys() == weights.keys()
    assert all(torch.equal(saved[name], tensor) for name, tensor in weights.items())


def test_newest_run_is_the_one_whose_weights_are_newest(tmp_path: Path) -> None:
    assert problem(lambda: newest_run(tmp_path)) == (f"{tmp_path}: no trained model here; train one with: tmt train")
    for name, time in (("a", 300), ("b", 900), ("c", 600)):
        (tmp_path / name).mkdir()
        (tmp_path / name / MODEL).write_bytes(b"")
        os.utime(tmp_path / name / MODEL, (time, time))
    (tmp_path / "untrained").mkdir()
    assert newest_run(tmp_path).path == tmp_path / "b"
