"""A matrix as a weighted adjacency matrix."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hostile_text import hostile_texts

from transformer_mt.views.attend import adjacency, graph_lines
from transformer_mt.views.matrix import Matrix, Scale
from transformer_mt.views.serialise import to_json

MATRIX = Matrix(
    "cross.1",
    "cross-attention",
    "mean",
    [[0.75, 0.05, 0.2], [0.0, 1.0, None]],
    ("Can", "you"),
    ("Kannst", "du", "</s>"),
)


SIGNED = Matrix("cross", "erasure", "all", [[-0.5, 3.0]], ("a",), ("x", "y"))


def test_edges_are_those_that_reach_the_threshold() -> None:
    graph = adjacency(MATRIX, threshold=0.2)
    assert graph.edges == [(0, 0, 0.75), (0, 2, 0.2), (1, 1, 1.0)]
    assert (graph.out_degrees, graph.in_degrees) == ([2, 1], [1, 1, 1])
    assert graph.convex


def test_negative_numbers_are_edges_by_their_size_and_make_no_convex_combination() -> None:
    graph = adjacency(SIGNED, threshold=0.125)  # 0.5 of 0.5 + 3.0 is a seventh
    assert graph.edges == [(0, 0, -0.5), (0, 1, 3.0)]
    assert not graph.convex
    assert adjacency(SIGNED, threshold=0.15).edges == [(0, 1, 3.0)]


@pytest.mark.parametrize("unit", [1e-3, 77.0])
def test_in_whatever_unit_numbers_are_the_edges_are_the_same(unit: float) -> None:
    numbers = [[0.6, -0.3, 0.1, 0.0], [0.05, 0.2, None, 0.75]]
    matrices = [
        Matrix(
            "cross", "p", "n", [[x and x * factor for x in row] for row in numbers], ("a", "b"), ("w", "x", "y", "z")
        )
        for factor in (1.0, unit)
    ]
    places = [[edge[:2] for edge in adjacency(matrix, threshold=0.15).edges] for matrix in matrices]
    assert places[0] == places[1] == [(0, 0), (0, 1), (1, 1), (1, 3)]


def test_a_row_in_which_nothing_counts_has_no_edges() -> None:
    assert not adjacency(Matrix("cross", "p", "n", [[0.0, 0.0]], ("a",), ("x", "y")), threshold=0.1).edges


def test_a_row_without_neighbours_leaves_the_others_convex() -> None:
    lonely = Matrix("encoder.1", "p", "n", [[None, None], [0.5, 0.5]], ("a", "b"), ("a", "b"))
    assert adjacency(lonely, threshold=0.1).convex


@given(st.lists(st.lists(st.floats(-2, 2), min_size=3, max_size=3), min_size=1, max_size=5), st.floats(0.01, 1.0))
def test_degrees_sum_to_the_edges(numbers: list[list[float]], threshold: float) -> None:
    rows = tuple(map(str, range(len(numbers))))
    graph = adjacency(Matrix("cross", "p", "n", [*numbers], rows, ("x", "y", "z")), threshold=threshold)
    assert sum(graph.out_degrees) == sum(graph.in_degrees) == len(graph.edges)


def test_json_has_edges_as_row_column_and_weight() -> None:
    assert to_json(adjacency(MATRIX, threshold=0.5)) == {
        "edges": [[0, 0, 0.75], [1, 1, 1.0]],
        "out_degrees": [1, 1],
        "in_degrees": [1, 1, 0],
        "convex": True,
    }


def printed(matrix: Matrix, *, width: int) -> list[str]:
    scale = Scale.of([matrix.numbers])
    return [str(line) for line in graph_lines(matrix, threshold=0.1, width=width, scale=scale)]


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
    assert printed(many, width=36)[4:6] == ["  r           4  aa .25, bb .25, cc", "                 .25, dd .25"]


def test_rows_that_are_no_convex_combinations_are_said_to_be_none() -> None:
    said = "Rows are no convex combinations: numbers are negative, or do not sum to 1."
    longer = Matrix("cross", "values", "all", [[0.5, None], [3.0, 4.0]], ("a", "b"), ("x", "y"))
    assert printed(SIGNED, width=99)[-1] == printed(longer, width=99)[-1] == said


def test_small_numbers_are_printed_in_their_unit() -> None:
    small = Matrix("cross", "gradient", "all", [[-0.002, 0.006]], ("a",), ("x", "y"))
    assert printed(small, width=99)[3] == "  a           2  x -2, y 6.0"


@given(hostile_texts)
def test_hostile_labels_command_nothing(text: str) -> None:
    matrix = Matrix("cross", text, text, [[1.0]], (text,), (text,))
    lines = printed(matrix, width=60)
    assert all(line.isprintable() or not line.isascii() for line in lines)
