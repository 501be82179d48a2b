"""Attention graphs for Graphviz: https://graphviz.org/doc/info/lang.html."""

from collections.abc import Iterator, Sequence

from transformer_mt.drawing.escape import escape_controls
from transformer_mt.drawing.numbers import format_weight
from transformer_mt.inspection.graph import Adjacency
from transformer_mt.inspection.matrices import Matrix

# The width, in points, of the line of an edge of weight 1.
_WIDEST = 4.0
# Whitespace would be lost, and Graphviz takes `&` for the start of an HTML entity.
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def render_dot(graphs: Sequence[tuple[Matrix, Adjacency]]) -> str:
    """One digraph with a cluster a matrix; an edge leads from the row's token to the one that it attends to.

    Rows and columns stand in two lines, and once where they are the same tokens. The thickness of an edge is its
    weight, which is also its label; a negative one is dashed.
    """
    lines = ["digraph attention {", "  rankdir=BT;", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    lines += ['  edge [fontname="sans-serif", fontsize=10];']
    for number, (matrix, graph) in enumerate(graphs):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(matrix.title)};"]
        lines += [f"    {line}" for line in _cluster(matrix, graph, number=number)]
        lines += ["  }"]
    return "\n".join([*lines, "}", ""])


def _cluster(matrix: Matrix, graph: Adjacency, *, number: int) -> Iterator[str]:
    columns = _node_names(number, "column", len(matrix.columns))
    rows = columns if matrix.same_tokens else _node_names(number, "row", len(matrix.rows))
    yield from _line(columns, matrix.columns)
    if not matrix.same_tokens:
        yield from _line(rows, matrix.rows)
    largest = max((abs(edge.weight) for edge in graph.edges), default=1.0)
    for edge in graph.edges:
        width = _WIDEST * abs(edge.weight) / max(largest, 1.0)
        style = ", style=dashed" if edge.weight < 0.0 else ""
        label = _quoted(format_weight(edge.weight).strip())
        yield f"{rows[edge.row]} -> {columns[edge.column]} [label={label}, penwidth={width:.2f}{style}];"


def _line(names: Sequence[str], labels: Sequence[str]) -> Iterator[str]:
    """Nodes in one line, kept in the order of the sentence by edges that nobody sees."""
    yield from (f"{name} [label={_quoted(label)}];" for name, label in zip(names, labels, strict=True))
    chain = f"{' -> '.join(names)} [style=invis]" if len(names) > 1 else names[0]
    yield f"{{ rank=same; {chain}; }}"


def _node_names(number: int, side: str, count: int) -> list[str]:
    return [f"{side}_{number}_{i}" for i in range(count)]


def _quoted(text: str) -> str:
    """A quoted string that Graphviz shows as it is."""
    return f'"{escape_controls(text).translate(_ESCAPED)}"'
