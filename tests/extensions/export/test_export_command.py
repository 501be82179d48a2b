import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt

TO = ("--to", "ctranslate2")


def test_prints_the_comparison(trained: str, data: str, tmt: Tmt) -> None:
    outcome = tmt("export", trained, "out", *TO, "--data", data)
    count = json.loads(Path("out/parity.json").read_text("utf-8"))["sentences"]
    assert len(PAIRS) < count <= len(PAIRS) + 3  # with artificial ones, if they fit
    assert (outcome.code, outcome.lines) == (0, [f"{count} of {count} greedy translations are the same"])
    assert f"tmt: translating {len(PAIRS) + 3} sentences with both programs\n" in outcome.err
    assert outcome.err.endswith("tmt: written to out\n")
    # The default is the validation split.
    outcome = tmt("export", trained, "other", *TO, "--json", "--quiet", "--quantization", "int8")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.json == json.loads(Path("other/parity.json").read_text("utf-8"))
    assert (outcome.json["quantization"], outcome.json["sentences"]) == ("int8", count)


@pytest.mark.parametrize("change", ["edited", "another file", "without a record"])
def test_samples_of_training_if_the_data_is_not_the_same(
    change: str, own_run: Path, data: str, tmt: Tmt, tmp_path: Path
) -> None:
    kept = Path(data).rename(tmp_path / "kept")
    try:
        if change == "another file":  # that a stranger's run names
            Path(data).write_text("private\n", "utf-8")
        else:
            shutil.copytree(kept, data)
        if change == "edited":
            Path(data, "validation.de-en.tsv").write_text("Ein Hund.\tA dog.\n", "utf-8")
        elif change == "without a record":
            (own_run / "data.json").unlink()
        outcome = tmt("export", str(own_run), "out", *TO, "--json")
    finally:
        shutil.rmtree(data) if Path(data).is_dir() else Path(data).unlink()
        kept.rename(data)
    assert outcome.json["sentences"] < len(PAIRS)
    assert "tmt: the run's validation data is missing or has changed; taking the samples of" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--to onnx", "--to: 'onnx' is unknown; choose one of ctranslate2, transformers"),
        ("--to transformers --quantization int8", "--quantization: transformers stores none; "),
        ("--to ctranslate2 --quantization int9", "--quantization: 'int9' is unknown; did you mean int"),
        ("", "--to: missing; see tmt export --help"),
        ("--to ctranslate2 --data nowhere", "nowhere: "),
    ],
)
def test_usage_errors(trained: str, tmt: Tmt, arguments: str, message: str) -> None:
    assert tmt("export", trained, "out", *arguments.split()).mistake.startswith(message)
    assert not Path("out").exists()


def test_replaces_only_with_overwrite(trained: str, tmt: Tmt) -> None:
    Path("out").mkdir()
    assert tmt("export", trained, "out", *TO).mistake == "out: exists already; give another name, or --overwrite"
    assert tmt("export", trained, "out", *TO, "--overwrite").code == 0
    assert "model.bin" in os.listdir("out")


@pytest.mark.parametrize("package", ["ctranslate2", "transformers"])
def test_missing_extra(package: str, trained: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    outcome = tmt("export", trained, "out", "--to", package)
    assert (outcome.code, outcome.out) == (3, "")
    line = f"tmt: error: {package}: is not installed; pip install 'transformer_mt[{package}]'"
    assert outcome.err.splitlines()[-1] == line
