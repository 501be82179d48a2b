import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt

TO = ("--to", "ctranslate2")


def test_prints_the_comparison(trained: str, data: str, tmt: Tmt) -> None:
    outcome = tmt("export", trained, "out", *TO, "--data", data)
    assert outcome.code == 0
    count = json.loads(Path("out/parity.json").read_text("utf-8"))["sentences"]
    assert len(PAIRS) < count <= len(PAIRS) + 3  # with artificial ones, if they fit
    assert outcome.lines == [f"{count} of {count} greedy translations are the same"]
    assert f"tmt: translating {len(PAIRS) + 3} sentences with both programs\n" in outcome.err
    assert outcome.err.endswith("tmt: written to out\n")


def test_default_sentences_are_the_validation_split(trained: str, tmt: Tmt) -> None:
    outcome = tmt("export", trained, "out", *TO, "--json", "--quiet", "--quantization", "int8")
    assert (outcome.code, outcome.err) == (0, "")
    found = outcome.json
    assert found == json.loads(Path("out/parity.json").read_text("utf-8"))
    assert found["quantization"] == "int8"
    assert len(PAIRS) < found["sentences"] <= len(PAIRS) + 3


# Changes of our own data after training, and a file that a stranger's run names.
CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "moved": lambda run, data: shutil.rmtree(data),
    "edited": lambda run, data: (data / "validation.de-en.tsv").write_text("Ein Hund.\tA dog.\n", "utf-8"),
    "another file": lambda run, data: (shutil.rmtree(data), data.write_text("private\n", "utf-8")),
    "without a record": lambda run, data: (run / "data.json").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_samples_of_training_if_the_data_is_not_the_same(
    change: str, own_run: Path, data: str, tmt: Tmt, tmp_path: Path
) -> None:
    folder, kept = Path(data), shutil.copytree(data, tmp_path / "kept")
    try:
        CHANGES[change](own_run, folder)
        outcome = tmt("export", str(own_run), "out", *TO, "--json")
    finally:
        shutil.rmtree(folder) if folder.is_dir() else folder.unlink(missing_ok=True)
        shutil.copytree(kept, folder)
    assert outcome.json["sentences"] < len(PAIRS)
    assert "tmt: the run's validation data is missing or has changed; taking the samples of" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "onnx"), "--to: 'onnx' is unknown; choose one of ctranslate2, transformers"),
        (("--to", "transformers", "--quantization", "int8"), "--quantization: transformers stores none; export to "),
        ((*TO, "--quantization", "int9"), "--quantization: 'int9' is unknown; did you mean int"),
        ((), "--to: missing; see tmt export --help"),
        ((*TO, "--data", "nowhere"), "nowhere: "),
    ],
)
def test_usage_errors(trained: str, tmt: Tmt, arguments: tuple[str, ...], message: str) -> None:
    assert tmt("export", trained, "out", *arguments).mistake.startswith(message)
    assert not Path("out").exists()


def test_replaces_only_with_overwrite(trained: str, tmt: Tmt) -> None:
    Path("out").mkdir()
    assert tmt("export", trained, "out", *TO).mistake == "out: exists already; give another name, or --overwrite"
    assert tmt("export", trained, "out", *TO, "--overwrite").code == 0
    assert "model.bin" in os.listdir("out")


def test_missing_extra(trained: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    for arguments in (("export", trained, "out", *TO), ("translate", "--model", trained, "--engine", TO[1], "Ja")):
        outcome = tmt(*arguments)
        assert (outcome.code, outcome.out) == (3, "")
        line = "tmt: error: ctranslate2: is not installed; pip install 'transformer_mt[ctranslate2]'"
        assert outcome.err.splitlines()[-1] == line


def test_ready_names_the_ready_model(tmt: Tmt, tmp_path: Path) -> None:
    assert tmt("pack", "ready", "again.zip").code == 0
    assert Path("again.zip").stat().st_size > 10**6
