from hypothesis import given
from support.hostile_text import hostile_texts

from transformer_mt.drawing.glyphs import ASCII, UNICODE
from transformer_mt.drawing.graph_text import render_graph
from transformer_mt.inspection.graph import adjacency
from transformer_mt.inspection.matrices import Matrix

MATRIX = Matrix(
    "cross.1",
    "cross-attention",
    "mean",
    [[0.75, 0.05, 0.2], [0.0, 1.0, None]],
    ("Can", "you"),
    ("Kannst", "du", "</s>"),
)


SIGNED = Matrix("cross", "erasure", "all", [[-0.5, 3.0]], ("a",), ("x", "y"))


def test_the_graph_as_text() -> None:
    lines = render_graph(MATRIX, adjacency(MATRIX, threshold=0.1), width=40, glyphs=UNICODE)
    assert [line.plain for line in lines] == [
        "cross-attention, mean: 3 edges of at",
        "least 0.1",
        "",
        "row  out-degree  edges",
        "Can           2  Kannst .75, </s> .20",
        "you           1  du 1.0",
        "",
        "column  in-degree",
        "Kannst          1",
        "    du          1",
        "  </s>          1",
        "",
        "Every row is a convex combination: no",
        "number is negative, and they sum to 1.",
    ]


def test_edges_that_do_not_fit_go_on_below() -> None:
    many = Matrix("cross", "p", "n", [[0.25] * 4], ("r",), ("aa", "bb", "cc", "dd"))
    lines = [line.plain for line in render_graph(many, adjacency(many, threshold=0.1), width=36, glyphs=UNICODE)]
    assert lines[3:5] == ["  r           4  aa .25, bb .25,", "                 cc .25, dd .25"]


def test_rows_that_are_no_convex_combinations_are_said_to_be_none() -> None:
    lines = render_graph(SIGNED, adjacency(SIGNED, threshold=0.1), width=99, glyphs=UNICODE)
    assert (
        lines[-1].plain == "Rows are no convex combinations: they sum to between 2.5 and 2.5, or have negative numbers."
    )


@given(hostile_texts)
def test_hostile_labels_command_nothing(text: str) -> None:
    matrix = Matrix("cross", text, text, [[1.0]], (text,), (text,))
    for glyphs in (UNICODE, ASCII):
        lines = [line.plain for line in render_graph(matrix, adjacency(matrix, threshold=0.1), width=60, glyphs=glyphs)]
        assert all(line.isprintable() or not line.isascii() for line in lines)
        "".join(lines).encode(glyphs.encoding)
