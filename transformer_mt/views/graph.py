"""Attention as message passing over a graph: a matrix of weights as a weighted adjacency matrix."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rich.text import Text

from transformer_mt.views.data import hidden
from transformer_mt.views.matrix import Matrix, Scale, is_convex
from transformer_mt.views.text import clean, rendered, table, wrapped


class Edge(NamedTuple):
    """The row's token attends to the column's with this weight; both count from 0."""

    row: int
    column: int
    weight: float


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The graph of a matrix: an edge from row i to column j where |α_ij| / Σ_k |α_ik| reaches the threshold.

    So the share of its row counts, whatever the unit of the numbers; an attention weight is that share itself.
    `out_degrees` has for each row, `in_degrees` for each column, the number of its edges. `sums` are those of whole
    rows, with the edges below the threshold. The output of a row is a convex combination of the columns' values where
    no number is negative and they sum to 1: `convex` says whether that holds for every row that may attend at all.
    """

    edges: tuple[Edge, ...]
    out_degrees: tuple[int, ...]
    in_degrees: tuple[int, ...]
    convex: bool
    threshold: float = hidden()
    sums: tuple[float, ...] = hidden()


def adjacency(matrix: Matrix, *, threshold: float) -> Adjacency:
    """The graph of a matrix. The threshold, above 0, is the least share of its row that an edge has."""
    sizes = [sum(abs(weight or 0.0) for weight in row) for row in matrix.numbers]
    edges = tuple(
        Edge(i, j, float(f"{weight:.5g}"))
        for i, row in enumerate(matrix.numbers)
        for j, weight in enumerate(row)
        if weight and abs(weight) >= threshold * sizes[i]
    )
    return Adjacency(
        edges,
        out_degrees=tuple(sum(edge.row == i for edge in edges) for i in range(len(matrix.rows))),
        in_degrees=tuple(sum(edge.column == j for edge in edges) for j in range(len(matrix.columns))),
        convex=all(is_convex(row) for row in matrix.numbers if any(weight is not None for weight in row)),
        threshold=threshold,
        sums=tuple(sum(weight or 0.0 for weight in row) for row in matrix.numbers),
    )


def graph_lines(matrix: Matrix, graph: Adjacency, *, width: int, scale: Scale) -> Iterator[str | Text]:
    """The edges and the out-degree of each row, the in-degree of each column, and a sentence about the rows' sums."""
    rows, columns = map(clean, matrix.rows), list(map(clean, matrix.columns))
    ends: list[list[str]] = [[] for _ in matrix.rows]
    for edge in graph.edges:
        ends[edge.row].append(f"{columns[edge.column]} {scale.printed(edge.weight).strip()}")
    title = f"{matrix.title}: {len(graph.edges)} edges, each at least {100 * graph.threshold:g} % of its row"
    yield from wrapped(title, width=width)
    yield Text()
    outgoing = zip(rows, map(str, graph.out_degrees), map(", ".join, ends), strict=True)
    yield from rendered(table(outgoing, headings=("row", "out-degree", "edges"), right=(0, 1)), width=width)
    yield Text()
    incoming = zip(columns, map(str, graph.in_degrees), strict=True)
    yield from rendered(table(incoming, headings=("column", "in-degree"), right=(0, 1)), width=width)
    yield Text()
    yield from wrapped(_sums(matrix, graph, scale), width=width)


def _sums(matrix: Matrix, graph: Adjacency, scale: Scale) -> str:
    if graph.convex:
        return "Every row is a convex combination: no number is negative, and they sum to 1."
    low, high = (scale.printed(total).strip() for total in (min(graph.sums), max(graph.sums)))
    negative = ", and some numbers are negative" if matrix.negative else ""
    return f"Rows are no convex combinations: they sum to between {low} and {high}{negative}."
