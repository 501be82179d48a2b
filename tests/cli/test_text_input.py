"""Texts in the forms that people and programs send: byte-order marks, line ends, bytes, and terminals of any width."""

import codecs
from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt, present

SOURCES = [source for source, _ in PAIRS]
TARGETS = [target for _, target in PAIRS]


@pytest.mark.parametrize(
    ("name", "content", "command"),
    [
        ("a.jsonl", f'{{"de": "{SOURCES[0]}"}}\n', "translate --json --input a.jsonl"),
        ("a.toml", "[training]\nsteps = 7\n", "config a.toml"),
        *(
            ("a.toml", '[[stops]]\ntitle = "A"\ntext = "B"\nquestion = "C?"\nanswer = "D."\n', command)
            for command in present("lesson --lessons a.toml 1")
        ),
        ("a.de", f"{SOURCES[0]}\n", "align --input a.de --target-file a.en"),
    ],
)
def test_a_byte_order_mark_is_no_text(name: str, content: str, command: str, trained: str, tmt: Tmt) -> None:
    Path("a.de").write_text(f"{SOURCES[0]}\n")
    Path("a.en").write_text(f"{TARGETS[0]}\n")
    arguments = command.split()
    arguments += ["--model", trained] * (arguments[0] in ("translate", "align"))
    outcomes = []
    for mark in (b"", codecs.BOM_UTF8):
        Path(name).write_bytes(mark + content.encode())
        outcome = tmt(*arguments)
        assert outcome.code == 0
        outcomes.append(outcome.lines)
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("columns", ["0", "19"])
@pytest.mark.parametrize("command", present("attend", "translate --trace", "lens"))
def test_a_width_below_20_is_80(command: str, columns: str, on_run: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = []
    for width in (columns, "80", "20"):
        monkeypatch.setenv("COLUMNS", width)
        outcomes.append(on_run(*command.split(), SOURCES[0]))
    assert outcomes[0] == outcomes[1] != outcomes[2]  # 20 is a width
    assert outcomes[0].code == 0
