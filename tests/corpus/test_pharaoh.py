"""Word links in files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.corpus.pairs import SentencePair, format_links
from transformer_mt.corpus.text_files import with_links
from transformer_mt.errors import InputError

PAIRS = [SentencePair("Ja, das Haus.", "Yes, a house it is."), SentencePair("Nein.", "No."), SentencePair("So?", "So?")]


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "gold.links"
    path.write_bytes(content)
    return path


def test_each_pair_gets_the_links_of_its_line(tmp_path: Path) -> None:
    found = with_links(PAIRS, written(tmp_path, b"3-3 0-0\t1-1\n\n0-0\r\n"))
    assert [pair.links for pair in found] == [((0, 0), (1, 1), (3, 3)), (), ((0, 0),)]
    assert [(pair.source, pair.target) for pair in found] == [(pair.source, pair.target) for pair in PAIRS]


@given(links=st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 6))))
def test_reads_formatted_links(links: frozenset[tuple[int, int]], tmp_path: Path) -> None:
    path = tmp_path / "some.links"
    path.write_text(f"{format_links(list(links))}\n")
    (found,) = with_links(PAIRS[:1], path)
    assert found.links == tuple(sorted(links))


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (
            b"0-0\n0-0 0-2\n\n",
            2,
            "0-2, but the target has words 0 to 1; correct it",
        ),
        (b"0-0\n\n2-0\n", 3, "2-0, but the source has words 0 to 1; correct it"),
        (b"0-0 1-1 0-0\n\n\n", 1, "0-0 appears twice; remove one"),
        (b"0-0 1?1\n\n\n", 1, "'1?1' is not a link; write source word, hyphen, target word, as in 0-2"),
        (b"0--1\n\n\n", 1, "'0--1' is not a link"),
        (b"\xd9\xa0-0\n\n\n", 1, "'٠-0' is not a link"),
        (b"\n" + b"9" * 5000 + b"-0\n\n", 2, f"'{'9' * 20}' is not a link"),
        (b"\n\xff\n\n", 2, "not UTF-8 at character 1 of the line; save the file as UTF-8"),
    ],
)
def test_an_invalid_link_is_an_error_with_file_and_line(
    content: bytes, line: int, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        with_links(PAIRS, path)
    assert str(caught.value).startswith(f"{path}:{line}: {message}")


@pytest.mark.parametrize(("content", "lines"), [(b"0-0\n", 1), (b"\n" * 4, 4), (b"", 0)])
def test_needs_a_line_per_pair(content: bytes, lines: int, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        with_links(PAIRS, path)
    assert str(caught.value) == f"{path}: {lines} lines for 3 pairs; give one line for each pair"


def test_names_a_missing_links_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none: no such file; give a file with a line of links for each pair$"):
        with_links(PAIRS, tmp_path / "none")
