"""Attention as message passing over a graph: a matrix of weights as a weighted adjacency matrix."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from transformer_mt.inspection.matrices import Matrix, Weights


class Edge(NamedTuple):
    """The row's token attends to the column's with this weight; both count from 0."""

    row: int
    column: int
    weight: float


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The graph of a matrix: an edge from row i to column j where |α_ij| / Σ_k |α_ik| reaches the threshold.

    So in every row the share counts, whatever the unit of its numbers; an attention weight is that share itself.
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
    """The graph of a matrix. The threshold, above 0, is the least share of its row that an edge has."""
    sizes = [sum(abs(weight or 0.0) for weight in row) for row in matrix.numbers]
    edges = tuple(
        Edge(i, j, weight)
        for i, row in enumerate(matrix.numbers)
        for j, weight in enumerate(row)
        if weight and abs(weight) >= threshold * sizes[i]
    )
    return Adjacency(
        threshold,
        edges,
        out_degrees=tuple(sum(edge.row == i for edge in edges) for i in range(len(matrix.rows))),
        in_degrees=tuple(sum(edge.column == j for edge in edges) for j in range(len(matrix.columns))),
        sums=tuple(sum(weight or 0.0 for weight in row) for row in matrix.numbers),
        convex=all(is_convex(row) for row in matrix.numbers if any(weight is not None for weight in row)),
    )


def is_convex(row: Weights, *, tolerance: float = 1e-3) -> bool:
    """Whether the numbers of a row are those of a convex combination: none is negative, and they sum to 1."""
    numbers = [number for number in row if number is not None]
    return all(number >= 0.0 for number in numbers) and abs(sum(numbers) - 1.0) <= tolerance
