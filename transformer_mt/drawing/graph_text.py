"""The graph of a matrix as text: each row's edges and out-degree, each column's in-degree."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from transformer_mt.drawing.layout import words_of, wrap_words
from transformer_mt.drawing.shading import Shading
from transformer_mt.inspection.graph import Adjacency
from transformer_mt.inspection.matrices import Matrix

# A label, a degree, and the ends of any number of edges.
_Line = tuple[str, str, list[str]]


def render_graph(matrix: Matrix, graph: Adjacency, *, width: int, shading: Shading) -> list[Text]:
    """The graph as text: each row's edges and out-degree, each column's in-degree, and what the rows' sums are.

    Numbers are in the shading's unit. Lines are at most `width` terminal cells wide but for labels that are wider
    themselves.
    """
    clean = shading.glyphs.clean
    rows, columns = map(clean, matrix.rows), list(map(clean, matrix.columns))
    ends: list[list[str]] = [[] for _ in matrix.rows]
    for edge in graph.edges:
        ends[edge.row].append(f"{columns[edge.column]} {shading.printed(edge.weight).strip()}")
    lines = wrap_words(words_of(clean(_title(matrix, graph))), width=width)
    out_degrees = list[_Line](
        [("row", "out-degree", ["edges"]), *zip(rows, map(str, graph.out_degrees), ends, strict=True)]
    )
    in_degrees = list[_Line]([("column", "in-degree", [])])
    in_degrees += [(column, str(degree), []) for column, degree in zip(columns, graph.in_degrees, strict=True)]
    lines += [Text(), *_table(out_degrees, width=width), Text(), *_table(in_degrees, width=width)]
    return [*lines, Text(), *wrap_words(words_of(_sums(matrix, graph, shading)), width=width)]


def _title(matrix: Matrix, graph: Adjacency) -> str:
    return f"{matrix.title}: {len(graph.edges)} edges, each at least {100 * graph.threshold:g} % of its row"


def _sums(matrix: Matrix, graph: Adjacency, shading: Shading) -> str:
    if graph.convex:
        return "Every row is a convex combination: no number is negative, and they sum to 1."
    low, high = (shading.printed(sum_).strip() for sum_ in (min(graph.sums), max(graph.sums)))
    negative = ", and some numbers are negative" if _any_negative(matrix) else ""
    return f"Rows are no convex combinations: they sum to between {low} and {high}{negative}."


def _any_negative(matrix: Matrix) -> bool:
    return any((number or 0.0) < 0.0 for row in matrix.numbers for number in row)


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
