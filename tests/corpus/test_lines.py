import os
from pathlib import Path

import pytest

from transformer_mt.corpus.lines import LONGEST_LINE, bounded_lines
from transformer_mt.errors import InputError, MachineError


def test_lines_come_with_their_numbers_and_ends(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one\r\n\ntwo\x00\x85\nthree")
    with (tmp_path / "x").open("rb") as file:
        lines = list(bounded_lines(file, name="x"))
    assert lines == [(1, b"one\r\n"), (2, b"\n"), (3, b"two\x00\x85\n"), (4, b"three")]


def test_a_line_of_exactly_the_limit_is_read_and_a_longer_one_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abcd\nabcde\n")
    with (tmp_path / "x").open("rb") as file:
        lines = bounded_lines(file, name="x", limit=5)
        assert next(lines) == (1, b"abcd\n")
        with pytest.raises(InputError, match=r"^x:2: more than 5 bytes in one line; split it$"):
            next(lines)


def test_no_more_than_the_limit_is_read_of_a_line_that_never_ends() -> None:
    with open("/dev/zero", "rb") as zeros, pytest.raises(InputError, match=f":1: more than {LONGEST_LINE:,} bytes"):
        next(bounded_lines(zeros, name="zeros"))


def test_a_file_that_fails_while_it_is_read_is_one_line() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    problem = pytest.raises(MachineError, match=r"^x: cannot be read \(Bad file descriptor\); check where it ")
    with open(writing, "rb") as file, problem:
        list(bounded_lines(file, name="x"))
