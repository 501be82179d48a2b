"""Right-to-left labels in a terminal's order (UAX #9, by python-bidi): nothing else moves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text
from support.right_to_left import moved, unmarked, visual

from transformer_mt.links.align import Alignment
from transformer_mt.text.direction import isolated
from transformer_mt.views.align import alignment_lines
from transformer_mt.views.attend import graph_lines
from transformer_mt.views.matrix import NARROWEST, Blocks, LabelledMatrix, Scale, matrix_lines

ARABIC, HEBREW = ("المعلم", "يقرأ", "الكتاب", "اليوم", ".", "</s>"), ("▁המורה", "▁קורא", "ספר(", "٣", "</s>")
# No digits or dots: they would look like numbers.
labels = st.lists(
    st.text(st.sampled_from("אבגدذرabcß (-▁\u0651\u05b8٣日"), min_size=1, max_size=14), min_size=1, max_size=9
)


def matrix(rows: tuple[str, ...], columns: tuple[str, ...]) -> LabelledMatrix:
    numbers = 0.9 / (1 + np.arange(len(rows))[:, None] + np.arange(len(columns)))
    return LabelledMatrix("cross", "place", "name", numbers.round(2), rows, columns)


def test_labels_are_above_columns_and_beside_rows() -> None:
    lines = matrix_lines([matrix(ARABIC[:4], HEBREW)], width=80, shading=Blocks())
    *header, first, second, third, fourth = [visual(line.plain) for line in lines[1:]]
    for number, label in enumerate(HEBREW):
        column = max(map(len, ARABIC)) + 2 + 5 * number
        assert any(sorted(line[column : column + len(label)]) == sorted(label) for line in header)
        assert first[column] == "."
    for label, row in zip(ARABIC[:4], (first, second, third, fourth), strict=True):
        assert row.split()[0] == label[::-1]
    assert not moved(lines)
    assert moved([Text(unmarked(line.plain)) for line in lines]), "without isolates numbers move"


@pytest.mark.parametrize("compact", [False, True])
@given(rows=labels, columns=labels, width=st.integers(NARROWEST, 90))
def test_numbers_and_shades_keep_their_place(compact: bool, rows: list[str], columns: list[str], width: int) -> None:
    one = matrix(tuple(rows), tuple(columns))
    for matrices in ([one], [one, replace(one, name="other")]):
        lines = matrix_lines(matrices, width=width, shading=Blocks(), compact=compact)
        assert not moved([line for line in lines if not line.plain.startswith("columns ")])
        assert max(map(cell_len, map(str, lines))) <= width


@given(text=st.text(st.sampled_from("abcß .3(日é▁")))
def test_left_to_right_text_has_no_isolates(text: str) -> None:
    assert isolated(text) == text
    lines = matrix_lines([matrix((text or "a",), (text or "a",))], width=80, shading=Blocks())
    assert not {"\u2068", "\u2069"} & {*"".join(map(str, lines))}


def test_isolates_in_a_text_are_escaped() -> None:
    for lines in (
        matrix_lines([matrix(("\u2069كلب\u2068",), ("\u2067كلب",))], width=80, shading=Blocks()),
        [*graph_lines(matrix(("\u2069كلب\u2068",), ("\u2067كلب",)), threshold=0.1, width=80, scale=Scale())],
    ):
        text = "".join(map(str, lines))
        assert text.count("\u2068") == text.count("\u2069") > 1
        assert "⟨U+2069⟩كلب⟨U+2068⟩" in text
        assert "\u2067" not in text


def test_graph_edges_stay_next_to_their_numbers() -> None:
    lines = [*graph_lines(matrix(ARABIC, HEBREW), threshold=0.01, width=44, scale=Scale())]
    assert not moved([Text(str(line)) for line in lines])


def test_numbers_of_aligned_words_stay_before_them() -> None:
    shares = np.zeros((len(ARABIC), len(HEBREW)), np.float32)
    found = Alignment("x", "y", HEBREW, ARABIC, ((0, 0), (1, 0)), "0-0 1-0", shares, (), "links")
    lines = [*alignment_lines(found)]
    assert not moved(lines, "012345,")
    assert [unmarked(visual(line.plain)).split("  ")[0] for line in lines[1:]] == ["0 הרומה▁", "0 ملعملا (0,1)"]
