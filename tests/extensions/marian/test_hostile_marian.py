"""Marian models from strangers: whatever is in the folder, an import is a run that works or an error in one line."""

import contextlib
import os
import pickle
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from robustness.fuzzing import damage_bytes, damage_json, damage_safetensors
from support.hostile import sparse
from support.marian import write_marian

from transformer_mt.cli.main import run
from transformer_mt.ground.errors import TmtError
from transformer_mt.translation.translator import Translator

FILES = {
    "config.json": damage_json,
    "tokenizer_config.json": damage_json,
    "vocab.json": damage_json,
    "source.spm": damage_bytes,
    "target.spm": damage_bytes,
    "model.safetensors": damage_safetensors,
}


class Payload:
    """Unpickled, it would make a directory."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os.mkdir, ("executed",)


SPECIAL: tuple[Callable[[Path], object], ...] = (
    os.mkdir,
    os.mkfifo,
    sparse,
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to(path),
    lambda path: None,
    lambda path: path.write_bytes(pickle.dumps(Payload())),
    lambda path: path.with_name("pytorch_model.bin").write_bytes(pickle.dumps(Payload())),
)


def write_hostile(folder: Path, number: int) -> None:
    """A model with one or two damages, the same for the same number."""
    chance = random.Random(number)
    write_marian(folder, encoder_layers=1, decoder_layers=1)
    for name in chance.sample([*FILES], chance.choice((1, 1, 2))):
        path = folder / name
        content = path.read_bytes()
        if chance.random() < 0.2:
            path.unlink()
            chance.choice(SPECIAL)(path)
        else:
            path.write_bytes(FILES[name](content, chance))


def outcome(code: int, out: str, err: str) -> str:
    """How an import of `marian` to `run` ended: with an exit code, or with a run that translates or refuses to."""
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.removesuffix("\n").isprintable()
    assert err.startswith("tmt: error: " if code else "tmt: wrote run")
    assert len(err) < 2_100
    if code:
        assert code in (2, 3)
        assert not Path("run").exists()
        return f"exit {code}"
    with contextlib.suppress(TmtError):  # such as a model for sentences of one token
        Translator.load("run", device="cpu").translate(["der Hund sieht das Kind."])
        return "works"
    return "refuses"


@pytest.mark.parametrize(
    "numbers", [range(20), *(pytest.param(range(n, n + 114), marks=pytest.mark.slow) for n in (20, 134, 248))]
)
def test_hostile_folder_is_a_working_run_or_an_error(
    numbers: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    found = Counter[str]()
    for number in numbers:
        place = tmp_path / f"{number}"
        write_hostile(place / "marian", number)
        monkeypatch.chdir(place)
        code = run(["import", "marian", "run"])
        found[outcome(code, *capfd.readouterr())] += 1
        assert {path.name for path in place.iterdir()} <= {"marian", "run"}, number
    assert {"exit 2", "exit 3", "works"} <= {*found}


def test_import_refuses_weights_larger_than_the_model_without_reading_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_marian(tmp_path / "marian", encoder_layers=1, decoder_layers=1)
    weights = tmp_path / "marian" / "model.safetensors"
    weights.unlink()
    sparse(weights)
    monkeypatch.chdir(tmp_path)
    assert run(["import", "marian", "run"]) == 3
    assert capfd.readouterr().err.startswith(
        "tmt: error: marian/model.safetensors: 10000000000 bytes, at most 383776 expected; "
    )
