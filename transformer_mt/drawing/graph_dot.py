"""Attention graphs for Graphviz: https://graphviz.org/doc/info/lang.html."""

from collections.abc import Iterator, Sequence

from transformer_mt.drawing.numbers import Scale
from transformer_mt.inspection.graph import Adjacency
from transformer_mt.inspection.matrices import Matrix
from transformer_mt.views.text import escape_controls, format_weight

# The width, in points, of the line of the largest weight; of attention weights, of 1.
_WIDEST = 4.0
# Whitespace would be lost, and Graphviz takes `&` for the start of an HTML entity.
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def render_dot(graphs: Sequence[tuple[Matrix, Adjacency]]) -> str:
    """One digraph in which each matrix stands by itself; an edge leads from the row's token to the one it attends to.

    Columns stand in a line below the title, rows in a line below them, also where they are the same tokens: edges
    within one line would run across its tokens. The thickness of an edge is its weight, which is also its label; a
    negative one is dashed. All matrices have one scale, and a unit other than 1 stands in their titles. There are no
    clusters, in which Graphviz forgets the order of a line.
    """
    lines = ["digraph attention {", "  rankdir=BT;", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    lines += ['  edge [fontname="sans-serif", fontsize=10];']
    scale = Scale.of(matrix.numbers for matrix, _ in graphs)
    for number, (matrix, graph) in enumerate(graphs):
        lines += [f"  {line}" for line in _matrix(matrix, graph, number=number, scale=scale)]
    return "\n".join([*lines, "}", ""])


def _matrix(matrix: Matrix, graph: Adjacency, *, number: int, scale: Scale) -> Iterator[str]:
    columns = [f"column_{number}_{j}" for j in range(len(matrix.columns))]
    rows = [f"row_{number}_{i}" for i in range(len(matrix.rows))]
    title = f"title_{number}"
    unit = "" if scale.unit == 1.0 else f", in units of {scale.unit:g}"
    yield f"{title} [shape=plaintext, label={_quoted(matrix.title + unit)}];"
    yield from _line(columns, matrix.columns)
    yield from _line(rows, matrix.rows)
    # Where there are no edges, the lines still stand below each other.
    yield f"{rows[len(rows) // 2]} -> {columns[len(columns) // 2]} -> {title} [style=invis];"
    for edge in graph.edges:
        width = _WIDEST * abs(edge.weight) / scale.largest
        style = ", style=dashed" if edge.weight < 0.0 else ""
        label = _quoted(f" {format_weight(edge.weight / scale.unit).strip()}")  # clear of the line
        yield f"{rows[edge.row]} -> {columns[edge.column]} [label={label}, penwidth={width:.2f}{style}];"


def _line(names: Sequence[str], labels: Sequence[str]) -> Iterator[str]:
    """Nodes in one line, kept in the order of the sentence by edges that nobody sees."""
    yield from (f"{name} [label={_quoted(label)}];" for name, label in zip(names, labels, strict=True))
    chain = f"{' -> '.join(names)} [style=invis]" if len(names) > 1 else names[0]
    yield f"{{ rank=same; {chain}; }}"


def _quoted(text: str) -> str:
    """A quoted string that Graphviz shows as it is."""
    return f'"{escape_controls(text).translate(_ESCAPED)}"'
