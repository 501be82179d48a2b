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
    assert outcome.code == 0
    count = len(PAIRS) + 7
    assert outcome.lines[0] == f"greedy   {count} of {count} translations are the same (100.0 %)"
    assert outcome.lines[2].startswith("         BLEU ")
    assert outcome.lines[4].startswith("beam 4   ")
    assert "tmt: translating 15 validation sentences with both programs\n" in outcome.err
    assert outcome.err.endswith("tmt: written to out\n")
    assert json.loads(Path("out/parity.json").read_text("utf-8"))["pairs"] == len(PAIRS)


def test_default_sentences_are_the_run_samples(trained: str, tmt: Tmt) -> None:
    outcome = tmt("export", trained, "out", *TO, "--json", "--quiet", "--quantization", "int8")
    assert (outcome.code, outcome.err) == (0, "")
    found = outcome.json
    assert found == json.loads(Path("out/parity.json").read_text("utf-8"))
    assert (found["pairs"], found["quantization"]) == (3, "int8")


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
    assert tmt("export", trained, "out", *TO).mistake == "out: exists already; give another name, or overwrite it"
    assert tmt("export", trained, "out", *TO, "--overwrite").code == 0
    assert "model.bin" in os.listdir("out")


def test_missing_extra(trained: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    for arguments in (("export", trained, "out", *TO), ("translate", "--model", trained, "--engine", TO[1], "Ja")):
        outcome = tmt(*arguments)
        assert (outcome.code, outcome.out) == (3, "")
        line = "tmt: error: ctranslate2: is not installed; pip install 'transformer_mt[ctranslate2]'"
        assert outcome.err.splitlines()[-1] == line


def test_does_not_open_the_run_corpus(own_run: Path, home: Path, tmt: Tmt) -> None:
    config = (own_run / "config.toml").read_text("utf-8")
    assert str(home / "data") in config
    shutil.move(home / "data", home / "moved")
    try:
        assert tmt("export", str(own_run), "out", *TO).code == 0
    finally:
        shutil.move(home / "moved", home / "data")


def test_ready_names_the_ready_model(tmt: Tmt, tmp_path: Path) -> None:
    assert tmt("pack", "ready", "again.zip").code == 0
    assert Path("again.zip").stat().st_size > 10**6
