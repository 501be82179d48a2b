"""Graphs for Graphviz: what stands in them is shown as it is, and means nothing else."""

import re

from hypothesis import given
from support.hostile_text import HOSTILE_TEXTS, hostile_texts

from transformer_mt.drawing.graph_dot import render_dot
from transformer_mt.inspection.graph import adjacency
from transformer_mt.inspection.matrices import Matrix
from transformer_mt.views.text import escape_controls

QUOTED = r'"((?:[^"\\]|\\.)*)"'


def dot(matrix: Matrix, *, threshold: float = 0.1) -> str:
    return render_dot([(matrix, adjacency(matrix, threshold=threshold))])


def matrix_of(text: str) -> Matrix:
    return Matrix("cross", text, text, [[1.0]], (text,), (text,))


def shown(quoted: str) -> str:
    """What Graphviz shows for the inside of a quoted string; no escape that it knows but `\\\\` and `\\"` may occur."""
    assert set(re.findall(r"\\(.)", quoted)) <= {"\\", '"'}
    text = re.sub(r"\\(.)", r"\1", quoted)
    assert set(re.findall("&[^;]*;?", text)) <= {"&amp;"}
    return text.replace("&amp;", "&")


@given(hostile_texts)
def test_every_label_is_shown_as_it_is_and_adds_nothing(text: str) -> None:
    written = dot(matrix_of(text))
    labels = [shown(label) for label in re.findall(f"label={QUOTED}", written)]
    escaped = escape_controls(text)
    assert labels == [f"{escaped}, {escaped}", escaped, escaped, " 1.0"]
    assert re.sub(QUOTED, '""', written) == re.sub(QUOTED, '""', dot(matrix_of("a")))


def test_no_control_reaches_the_file() -> None:
    for text in HOSTILE_TEXTS:
        assert not set(dot(matrix_of(text))) & set("\x1b\u202e\x00\r\t\ud800")


def test_rows_and_columns_stand_in_two_lines_and_edges_lead_from_rows_to_columns() -> None:
    matrix = Matrix("cross", "p", "n", [[0.5, 0.05], [0.0, 1.0]], ("a", "b"), ("x", "y"))
    assert dot(matrix).splitlines()[4:-1] == [
        '  title_0 [shape=plaintext, label="p, n"];',
        '  column_0_0 [label="x"];',
        '  column_0_1 [label="y"];',
        "  { rank=same; column_0_0 -> column_0_1 [style=invis]; }",
        '  row_0_0 [label="a"];',
        '  row_0_1 [label="b"];',
        "  { rank=same; row_0_0 -> row_0_1 [style=invis]; }",
        "  row_0_1 -> column_0_1 -> title_0 [style=invis];",
        '  row_0_0 -> column_0_0 [label=" .50", penwidth=2.00];',
        '  row_0_1 -> column_0_1 [label=" 1.0", penwidth=4.00];',
    ]


def test_without_edges_rows_stand_below_columns() -> None:
    matrix = Matrix("cross", "p", "n", [[0.0] * 3] * 2, ("a", "b"), ("x", "y", "z"))
    edges = [line for line in dot(matrix).splitlines() if "->" in line and "rank" not in line]
    assert edges == ["  row_0_1 -> column_0_1 -> title_0 [style=invis];"]


def test_there_are_no_clusters_in_which_graphviz_forgets_the_order_of_words() -> None:
    assert "cluster" not in dot(matrix_of("a"))


def test_negative_edges_are_dashed_and_the_largest_is_the_thickest() -> None:
    written = dot(Matrix("cross", "p", "n", [[-8.0, 2.0]], ("a",), ("x", "y")))
    assert '[label=" -8", penwidth=4.00, style=dashed]' in written
    assert '[label=" 2.0", penwidth=1.00]' in written
    assert "units" not in written


def test_all_matrices_have_one_scale_and_their_titles_say_its_unit() -> None:
    graphs = [
        (one, adjacency(one, threshold=0.1))
        for one in (Matrix("cross", "p", "n", [[number]], ("a",), ("x",)) for number in (0.002, 0.008))
    ]
    written = render_dot(graphs)
    assert written.count('label="p, n, in units of 0.001"') == 2
    assert '[label=" 2.0", penwidth=1.00]' in written
    assert '[label=" 8.0", penwidth=4.00]' in written


def test_each_of_several_matrices_has_nodes_of_its_own() -> None:
    graph = (matrix_of("a"), adjacency(matrix_of("a"), threshold=0.1))
    written = render_dot([graph, graph])
    assert written.count("title_0 [shape") == written.count("title_1 [shape") == 1
    assert written.count("row_0_0 [") == written.count("row_1_0 [") == 1
    assert "{ rank=same; row_0_0; }" in written  # not invisible, as a chain of one would be
