from hypothesis import given
from support.hostile_text import hostile_texts

from transformer_mt.drawing.glyphs import ASCII, UNICODE, Glyphs
from transformer_mt.drawing.graph_text import render_graph
from transformer_mt.drawing.numbers import Scale
from transformer_mt.drawing.shading import Blocks
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


def printed(matrix: Matrix, *, width: int, glyphs: Glyphs = UNICODE) -> list[str]:
    shading = Blocks(glyphs, Scale.of([matrix.numbers]))
    return [line.plain for line in render_graph(matrix, adjacency(matrix, threshold=0.1), width=width, shading=shading)]


def test_the_graph_as_text() -> None:
    assert printed(MATRIX, width=40) == [
        "cross-attention, mean: 3 edges, each at",
        "least 10 % of its row",
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
    assert printed(many, width=36)[4:6] == ["  r           4  aa .25, bb .25,", "                 cc .25, dd .25"]


def test_rows_that_are_no_convex_combinations_are_said_to_be_none() -> None:
    said = "Rows are no convex combinations: they sum to between"
    assert printed(SIGNED, width=99)[-1] == f"{said} 2.5 and 2.5, and some numbers are negative."
    longer = Matrix("cross", "values", "all", [[0.5, None], [3.0, 4.0]], ("a", "b"), ("x", "y"))
    assert printed(longer, width=99)[-1] == f"{said} .50 and 7.0."


def test_small_numbers_are_printed_in_their_unit() -> None:
    small = Matrix("cross", "gradient", "all", [[-0.002, 0.006]], ("a",), ("x", "y"))
    lines = printed(small, width=99)
    assert lines[3] == "  a           2  x -2, y 6.0"
    assert (
        lines[-1] == "Rows are no convex combinations: they sum to between 4.0 and 4.0, and some numbers are negative."
    )


@given(hostile_texts)
def test_hostile_labels_command_nothing(text: str) -> None:
    matrix = Matrix("cross", text, text, [[1.0]], (text,), (text,))
    for glyphs in (UNICODE, ASCII):
        lines = printed(matrix, width=60, glyphs=glyphs)
        assert all(line.isprintable() or not line.isascii() for line in lines)
        "".join(lines).encode(glyphs.encoding)
