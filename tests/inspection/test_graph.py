"""A matrix as a weighted adjacency matrix."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hostile_text import hostile_texts

from transformer_mt.inspection.graph import Edge, adjacency, render_graph
from transformer_mt.inspection.matrices import Matrix
from transformer_mt.inspection.rendering import ASCII, UNICODE

MATRIX = Matrix(
    "cross.1",
    "cross-attention",
    "mean",
    [[0.75, 0.05, 0.2], [0.0, 1.0, None]],
    ("Can", "you"),
    ("Kannst", "du", "</s>"),
    same_tokens=False,
)
SIGNED = Matrix("cross", "erasure", "all", [[-0.5, 3.0]], ("a",), ("x", "y"), same_tokens=False)


def test_edges_are_those_that_reach_the_threshold() -> None:
    graph = adjacency(MATRIX, threshold=0.2)
    assert graph.edges == (Edge(0, 0, 0.75), Edge(0, 2, 0.2), Edge(1, 1, 1.0))
    assert (graph.out_degrees, graph.in_degrees) == ((2, 1), (1, 1, 1))
    assert graph.sums == pytest.approx((1.0, 1.0))
    assert graph.convex


def test_negative_numbers_are_edges_by_their_size_and_make_no_convex_combination() -> None:
    graph = adjacency(SIGNED, threshold=0.4)
    assert [edge.column for edge in graph.edges] == [0, 1]
    assert not graph.convex


def test_a_row_without_neighbours_leaves_the_others_convex() -> None:
    lonely = Matrix("encoder.1", "p", "n", [[None, None], [0.5, 0.5]], ("a", "b"), ("a", "b"), same_tokens=True)
    assert adjacency(lonely, threshold=0.1).convex


@given(st.lists(st.lists(st.floats(-2, 2), min_size=3, max_size=3), min_size=1, max_size=5), st.floats(0.01, 1.0))
def test_degrees_sum_to_the_edges(numbers: list[list[float]], threshold: float) -> None:
    rows = tuple(map(str, range(len(numbers))))
    graph = adjacency(
        Matrix("cross", "p", "n", [*numbers], rows, ("x", "y", "z"), same_tokens=False), threshold=threshold
    )
    assert sum(graph.out_degrees) == sum(graph.in_degrees) == len(graph.edges)


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
    many = Matrix("cross", "p", "n", [[0.25] * 4], ("r",), ("aa", "bb", "cc", "dd"), same_tokens=False)
    lines = [line.plain for line in render_graph(many, adjacency(many, threshold=0.1), width=36, glyphs=UNICODE)]
    assert lines[3:5] == ["  r           4  aa .25, bb .25,", "                 cc .25, dd .25"]


def test_rows_that_are_no_convex_combinations_are_said_to_be_none() -> None:
    lines = render_graph(SIGNED, adjacency(SIGNED, threshold=0.1), width=99, glyphs=UNICODE)
    assert (
        lines[-1].plain == "Rows are no convex combinations: they sum to between 2.5 and 2.5, or have negative numbers."
    )


@given(hostile_texts)
def test_hostile_labels_command_nothing(text: str) -> None:
    matrix = Matrix("cross", text, text, [[1.0]], (text,), (text,), same_tokens=False)
    for glyphs in (UNICODE, ASCII):
        lines = [line.plain for line in render_graph(matrix, adjacency(matrix, threshold=0.1), width=60, glyphs=glyphs)]
        assert all(line.isprintable() or not line.isascii() for line in lines)
        "".join(lines).encode(glyphs.encoding)


def test_json_has_edges_as_row_column_and_weight() -> None:
    assert adjacency(MATRIX, threshold=0.5).to_json() == {
        "edges": [[0, 0, 0.75], [1, 1, 1.0]],
        "out_degrees": [1, 1],
        "in_degrees": [1, 1, 0],
        "convex": True,
    }
