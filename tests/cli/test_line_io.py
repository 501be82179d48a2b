import os
from pathlib import Path

import pytest
from support.command_line import Tmt

from transformer_mt.cli.line_io import LONGEST_SENTENCE, arriving_lines, read_lines, read_records
from transformer_mt.translation.translator import Translator


@pytest.mark.parametrize("length", [LONGEST_SENTENCE, 2 * LONGEST_SENTENCE + 1, 5 * LONGEST_SENTENCE])
@pytest.mark.parametrize("end", [b"\n", b"\nafter\n"])
def test_skips_a_line_that_is_too_long(length: int, end: bytes, workplace: Path) -> None:
    (workplace / "in").write_bytes(b"before\n" + b"a" * length + end)
    before, (place, problem), *after = read_lines(Path("in"))
    assert (before, place) == (("in:1", "before"), "in:2")
    assert after == ([("in:3", "after")] if len(end) > 1 else [])
    assert str(problem) == f"in:2: more than {LONGEST_SENTENCE:,} bytes in one line; split it"


def test_accepts_the_longest_line(workplace: Path) -> None:
    (workplace / "in").write_bytes(b"a" * (LONGEST_SENTENCE - 1) + b"\n")
    ((_, line),) = read_lines(Path("in"))
    assert line == "a" * (LONGEST_SENTENCE - 1)


@pytest.mark.parametrize("value", ["[" * 50_000, "9" * 5_000 + "}", "1e400}", "[NaN]}"])
def test_invalid_json(value: str, on_run: Tmt) -> None:
    Path("in").write_text(f'{{"de": "ja", "x": {value}')
    outcome = on_run("translate", "--json", "--input", "in")
    assert outcome.code == 2
    assert outcome.err.startswith("tmt: in:1: not valid JSON (")


def test_pipe_lines_arrive_when_complete(workplace: Path) -> None:
    os.mkfifo("pipe")
    lines, is_waiting = arriving_lines(Path("pipe"))
    with open("pipe", "wb", buffering=0) as writer:
        writer.write(b"eins\nzw")
        assert next(lines) == ("pipe:1", "eins")
        assert not is_waiting()
        writer.write(b"ei\n\xff\n")
        assert next(lines) == ("pipe:2", "zwei")
        place, problem = next(lines)
    assert (place, str(problem)) == ("pipe:3", "pipe:3: not UTF-8 at byte 0; encode it as UTF-8")
    assert list(lines) == []


def test_a_line_typed_in_another_encoding_has_a_problem(trained: str) -> None:
    translator = Translator.load(trained)
    (record,) = read_records([("the line", "Ja\udcff.")], translator, split=True, as_json=False)
    assert str(record.problem).startswith("the line: not UTF-8")
