from pathlib import Path

import pytest

from transformer_mt.cli.lines import LONGEST_SENTENCE, open_output, read_lines, read_records


def test_lines_go_to_the_file_or_to_stdout(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (Path("out"), None):
        with open_output(path) as write:
            write("eins")
            write("zwei")
    assert Path("out").read_text() == capsys.readouterr().out == "eins\nzwei\n"


def any_length(sentence: str, place: str) -> None:
    """A model that takes everything."""


@pytest.mark.parametrize("length", [LONGEST_SENTENCE, 2 * LONGEST_SENTENCE + 1, 5 * LONGEST_SENTENCE])
@pytest.mark.parametrize("end", [b"\n", b"\nafter\n"])
def test_a_line_that_is_too_long_is_named_and_skipped(length: int, end: bytes, workplace: Path) -> None:
    (workplace / "in").write_bytes(b"before\n" + b"a" * length + end)
    before, (place, problem), *after = read_lines(Path("in"))
    assert (before, place) == (("in:1", "before"), "in:2")
    assert after == ([("in:3", "after")] if len(end) > 1 else [])
    assert str(problem) == f"in:2: more than {LONGEST_SENTENCE:,} bytes in one line; split it"


def test_the_longest_line_is_one(workplace: Path) -> None:
    (workplace / "in").write_bytes(b"a" * (LONGEST_SENTENCE - 1) + b"\n")
    ((_, line),) = read_lines(Path("in"))
    assert line == "a" * (LONGEST_SENTENCE - 1)


@pytest.mark.parametrize("value", ["[" * 50_000, "9" * 5_000 + "}", "1e400}", "-Infinity}", "[NaN]}"])
def test_json_that_cannot_be_read_or_written_again_is_one_line(value: str, workplace: Path) -> None:
    (workplace / "in").write_text(f'{{"de": "ja", "x": {value}')
    (record,) = read_records(read_lines(Path("in")), any_length, as_json=True, language="de")
    assert str(record.problem).startswith("in:1: not valid JSON (")
