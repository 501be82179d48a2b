"""`--engine ctranslate2` prints the same as the default engine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import PAIRS, PROGRAM, Tmt

SOURCES = [source for source, _ in PAIRS]
ENGINE = ("--engine", "ctranslate2")
UNKNOWN = "Das Xylophon schläft."


@pytest.mark.parametrize(
    "options",
    [
        "--scores",
        "--prefix The",
        "--alternatives",
        "--json --no-split",
    ],
)
def test_greedy_translations_print_the_same(options: str, on_run: Tmt) -> None:
    call = ("translate", "--beam", "1", *options.split(), *SOURCES, UNKNOWN, "", f"{SOURCES[0]} {UNKNOWN}")
    ours, theirs = on_run(*call), on_run(*call, *ENGINE)
    assert (theirs.code, theirs.err) == (0, ours.err)
    if "--json" not in options:
        assert theirs.lines == ours.lines
        return
    for a, b in zip(ours.records, theirs.records, strict=True):
        for name in ("score", "log_probability"):
            assert b.pop(name) == pytest.approx(a.pop(name), rel=1e-4)
        assert a == b


def test_untranslatable_line_is_empty(on_run: Tmt) -> None:
    outcome = on_run("translate", *ENGINE, SOURCES[0], "Hund " * 200)
    assert (outcome.code, outcome.lines[1]) == (2, "")
    assert "sentence 2: " in outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--engine ctranslate2 --sample", "--sample: ctranslate2 does not support it; "),
        ("--engine ctranslate2 --trace", "--trace: only our own search has it; "),
        ("--engine onnx", "--engine: 'onnx' is unknown; choose one of auto, torch, ctranslate2"),
        ("--engine ctranslate2 --quantization float8", "--quantization: 'float8' is unknown; did you mean float16?"),
        ("--engine ctranslate2 --device mps", "--device: CTranslate2 supports auto, cpu and cuda, not mps; "),
        ("--engine torch --quantization int8", "--quantization: our own search has none; "),
    ],
)
def test_unsupported_options_are_refused(options: str, message: str, on_run: Tmt) -> None:
    assert on_run("translate", *options.split(), SOURCES[0]).mistake.startswith(message)


@pytest.mark.slow
def test_torch_is_not_imported(trained: str, on_run: Tmt) -> None:
    expected = on_run("translate", *ENGINE, *SOURCES)
    assert expected.code == 0
    code = (
        "import sys; from transformer_mt.cli.main import run; code = run(sys.argv[1:]);"
        "print(sorted({'torch', 'datasets', 'pyarrow'} & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    for more in ((), ("--n-best", "2", "--json")):
        arguments = ["translate", "--model", trained, *ENGINE, *more, *SOURCES]
        process = subprocess.run(
            [PROGRAM[0], "-c", code, *arguments], capture_output=True, encoding="utf-8", env=os.environ, check=True
        )
        assert process.stderr.splitlines()[-1] == "[]", more
        assert more or process.stdout == expected.out


NOTE = "tmt: translating with ctranslate2 (--engine torch: our own search)\n"


@pytest.mark.parametrize(
    ("options", "uses"),
    [
        ("--beam 1", True),
        ("--beam 1 --engine torch", False),
        ("--beam 2", False),
        ("--beam 1 --trace", False),
        ("--beam 1 --glossary terms", False),
        ("--sample", False),
        ("--n-best 2", False),
    ],
)
def test_auto_uses_ctranslate2_where_results_are_the_same(
    options: str, uses: bool, on_run: Tmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ("translate", *options.split())
    monkeypatch.setattr("transformer_mt.cli.translate.LARGE", 10)
    Path("terms").write_text("")
    Path("large").write_text(f"{SOURCES[0]}\n")
    outcome = on_run(*call, "--input", "large")
    assert (outcome.code, NOTE in outcome.err) == (0, uses)
    if uses:
        assert outcome.out == on_run(*call, "--engine", "torch", SOURCES[0]).out
        assert NOTE not in on_run(*call, SOURCES[0]).err


def test_auto_uses_ctranslate2_for_a_quantization(on_run: Tmt) -> None:
    options = ("translate", "--quantization", "int8", *SOURCES)
    assert on_run(*options, "--scores").out == on_run(*options, "--scores", *ENGINE).out


def test_auto_falls_back_to_our_own_search(on_run: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.cli.translate.LARGE", 10)
    Path("large").write_text(f"{SOURCES[0]}\n")
    call = ("translate", "--beam", "1", "--input", "large")
    with monkeypatch.context() as patch:
        patch.setattr("ctranslate2.get_cuda_device_count", lambda: 1)
        assert NOTE not in on_run(*call).err
    assert NOTE in on_run(*call).err
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    outcome = on_run(*call)
    assert (outcome.code, outcome.err) == (0, on_run("translate", "--beam", "1", SOURCES[0]).err)


def test_evaluate_chooses_the_engine(data: str, on_run: Tmt) -> None:
    Path("links").write_text("0-0\n" * len(PAIRS))
    call = ("evaluate", "--data", data, "--json")
    assert NOTE in on_run(*call, "--beam", "1").err
    for options in ((), ("--beam", "1", "--links", "links"), ("--beam", "1", "--data", "builtin")):
        assert NOTE not in on_run(*call, *options).err
    built_in = on_run("evaluate", "--data", "builtin", *ENGINE)
    assert "tmt: not scoring word links: ctranslate2 does not expose attention\n" in built_in.err
    assert "AER" not in built_in.out
