"""Attention as message passing over a graph: a matrix of weights as a weighted adjacency matrix."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from transformer_mt.inspection.matrices import Matrix
from transformer_mt.inspection.rendering import Glyphs, format_weight, is_convex, wrap_words

# A label, a degree, and the ends of any number of edges.
_Line = tuple[str, str, list[str]]


class Edge(NamedTuple):
    """The row's token attends to the column's with this weight; both count from 0."""

    row: int
    column: int
    weight: float


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The graph of a matrix: an edge from row i to column j where |α_ij| reaches the threshold.

    `out_degrees` has for each row, `in_degrees` for each column, how many edges it has. `sums` are those of whole rows,
    edges below the threshold among them. The output of a row is a convex combination of the columns' values where no
    number is negative and they sum to 1: `convex` says whether that is so in every row that may attend at all.
    """

    threshold: float
    edges: tuple[Edge, ...]
    out_degrees: tuple[int, ...]
    in_degrees: tuple[int, ...]
    sums: tuple[float, ...]
    convex: bool

    def to_json(self) -> dict[str, Any]:
        """The same as plain lists; an edge is `[row, column, weight]`."""
        return {
            "edges": [[edge.row, edge.column, float(f"{edge.weight:.5g}")] for edge in self.edges],
            "out_degrees": list(self.out_degrees),
            "in_degrees": list(self.in_degrees),
            "convex": self.convex,
        }


def adjacency(matrix: Matrix, *, threshold: float) -> Adjacency:
    """The graph of a matrix."""
    edges = tuple(
        Edge(i, j, weight)
        for i, row in enumerate(matrix.numbers)
        for j, weight in enumerate(row)
        if weight is not None and abs(weight) >= threshold
    )
    return Adjacency(
        threshold,
        edges,
        out_degrees=tuple(sum(edge.row == i for edge in edges) for i in range(len(matrix.rows))),
        in_degrees=tuple(sum(edge.column == j for edge in edges) for j in range(len(matrix.columns))),
        sums=tuple(sum(weight or 0.0 for weight in row) for row in matrix.numbers),
        convex=all(is_convex(row) for row in matrix.numbers if any(weight is not None for weight in row)),
    )


def render_graph(matrix: Matrix, graph: Adjacency, *, width: int, glyphs: Glyphs) -> list[Text]:
    """The graph as text: each row's edges and out-degree, each column's in-degree, and what the rows' sums are.

    Lines are at most `width` terminal cells wide but for labels that are wider themselves.
    """
    rows, columns = map(glyphs.clean, matrix.rows), list(map(glyphs.clean, matrix.columns))
    ends: list[list[str]] = [[] for _ in matrix.rows]
    for edge in graph.edges:
        ends[edge.row].append(f"{columns[edge.column]} {format_weight(edge.weight).strip()}")
    lines = wrap_words([Text(word) for word in glyphs.clean(_title(matrix, graph)).split(" ")], width=width)
    out_degrees = list[_Line](
        [("row", "out-degree", ["edges"]), *zip(rows, map(str, graph.out_degrees), ends, strict=True)]
    )
    in_degrees = list[_Line]([("column", "in-degree", [])])
    in_degrees += [(column, str(degree), []) for column, degree in zip(columns, graph.in_degrees, strict=True)]
    lines += [Text(), *_table(out_degrees, width=width), Text(), *_table(in_degrees, width=width)]
    return [*lines, Text(), *wrap_words([Text(word) for word in _sums(graph).split(" ")], width=width)]


def _title(matrix: Matrix, graph: Adjacency) -> str:
    return f"{matrix.title}: {len(graph.edges)} edges of at least {graph.threshold:g}"


def _sums(graph: Adjacency) -> str:
    if graph.convex:
        return "Every row is a convex combination: no number is negative, and they sum to 1."
    low, high = (format_weight(sum_).strip() for sum_ in (min(graph.sums), max(graph.sums)))
    return f"Rows are no convex combinations: they sum to between {low} and {high}, or have negative numbers."


def _table(table: Sequence[_Line], *, width: int) -> Iterator[Text]:
    """The ends of edges go on below where they do not fit."""
    label_width = max(cell_len(label) for label, _, _ in table)
    degree_width = max(len(degree) for _, degree, _ in table)
    indent = label_width + degree_width + 4
    for label, degree, ends in table:
        parts = [Text(f"{end},") for end in ends[:-1]] + [Text(end) for end in ends[-1:]] or [Text()]
        first, *rest = wrap_words(parts, width=width - indent)
        start = f"{' ' * (label_width - cell_len(label))}{label}  {degree.rjust(degree_width)}  "
        line = Text.assemble(start, first)
        line.rstrip()
        yield line
        yield from (Text.assemble(" " * indent, more) for more in rest)
