"""Who may attend to whom: each query position's neighbours among the key positions.

Attention is message passing over a graph, whose weighted adjacency matrix is the weight matrix. To add a graph,
subclass `Graph` and enter it in `GRAPHS`; its arguments are the whole numbers in its spelling, as in `band(3)`.
"""

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from typing_extensions import override

from transformer_mt.attention.parse_choice import parse_choice
from transformer_mt.ground.registry import Table

Places = Int[Tensor, "..."]
Related = Bool[Tensor, "..."]


class Graph(ABC):
    """A neighbourhood relation: a function of index tensors that broadcast against each other.

    As a function rather than a matrix, it can build a mask of any size. Graphs combine with `&` and `|`.
    """

    @abstractmethod
    def neighbours(self, query: Places, key: Places) -> Related:
        """True where the query position may attend to the key position."""

    def is_complete(self, queries: int) -> bool:
        """True if each of the last `queries` positions neighbours every position, for any number of positions."""
        return False

    def mask(self, queries: int, keys: int, *, device: torch.device) -> Bool[Tensor, "Q K"]:
        """The mask for the last `queries` of `keys` positions, as a decoder with a cache needs it."""
        query = torch.arange(keys - queries, keys, device=device)
        return self.neighbours(query[:, None], torch.arange(keys, device=device)[None, :])

    def __and__(self, other: "Graph") -> "Graph":
        return Combined(self, other, operator.and_)

    def __or__(self, other: "Graph") -> "Graph":
        return Combined(self, other, operator.or_)


@dataclass(frozen=True)
class Combined(Graph):
    """The edges that both graphs have (&), or that at least one has (|)."""

    left: Graph
    right: Graph
    combine: Callable[[Any, Any], Any]

    @override
    def neighbours(self, query: Places, key: Places) -> Related:
        return self.combine(self.left.neighbours(query, key), self.right.neighbours(query, key))

    @override
    def is_complete(self, queries: int) -> bool:
        return self.combine(self.left.is_complete(queries), self.right.is_complete(queries))


class Complete(Graph):
    """N_i = all positions: self-attention (Vaswani et al. 2017), or the bipartite graph of cross-attention."""

    @override
    def neighbours(self, query: Places, key: Places) -> Related:
        return (query == query) & (key == key)

    @override
    def is_complete(self, queries: int) -> bool:
        return True


class Causal(Graph):
    """N_i = {j : j ≤ i}: a decoder cannot see the future (Vaswani et al. 2017, §3.2.3)."""

    @override
    def neighbours(self, query: Places, key: Places) -> Related:
        return key <= query

    @override
    def is_complete(self, queries: int) -> bool:
        return queries == 1  # the last position has no future


@dataclass(frozen=True)
class Band(Graph):
    """N_i = {j : |i − j| ≤ k}: a window around i (stride attention); with `causal`, i and the k before it."""

    reach: int

    @override
    def neighbours(self, query: Places, key: Places) -> Related:
        return (query - key).abs() <= self.reach


class Strided(Graph):
    """N_i = {j : |i − j| < l or l divides i − j}: the nearest l positions, and every l-th beyond.

    Child et al. 2019, §4.2, if combined with `causal`. Two steps lead from any position to any other.
    """

    def __init__(self, stride: int) -> None:
        if stride < 1:
            raise ValueError("the stride must be at least 1")
        self.stride = stride

    @override
    def neighbours(self, query: Places, key: Places) -> Related:
        return ((query - key).abs() < self.stride) | ((query - key) % self.stride == 0)


class Fixed(Graph):
    """N_i = {j : ⌊j/l⌋ = ⌊i/l⌋ or j mod l ≥ l − c}: the block of i, and the last c positions of every block.

    Child et al. 2019, §4.3. The last positions of a block summarise it for the others.
    """

    def __init__(self, block: int, last: int) -> None:
        if not (0 <= last <= block > 0):
            raise ValueError("the block must have at least 1 position, and `last` must be from 0 to its length")
        self.block = block
        self.last = last

    @override
    def neighbours(self, query: Places, key: Places) -> Related:
        same = query.div(self.block, rounding_mode="floor") == key.div(self.block, rounding_mode="floor")
        return same | (key % self.block >= self.block - self.last)


class Grid(Graph):
    """N_i = {j : |Δrow| ≤ 1 and |Δcolumn| ≤ 1}, with positions laid out row by row on a grid of `columns` columns.

    With weights that depend only on (Δrow, Δcolumn), this is a 3 × 3 convolution (Bronstein et al. 2021). The number of
    rows follows from the length.
    """

    def __init__(self, columns: int) -> None:
        if columns < 1:
            raise ValueError("there must be at least 1 column")
        self.columns = columns

    @override
    def neighbours(self, query: Places, key: Places) -> Related:
        rows = query.div(self.columns, rounding_mode="floor") - key.div(self.columns, rounding_mode="floor")
        columns = query % self.columns - key % self.columns
        return (rows.abs() <= 1) & (columns.abs() <= 1)


class Edges(Graph):
    """N_i = {j : (i, j) is listed}: any graph, as in graph attention (Veličković et al. 2018).

    Written as query, key, query, key, …: with `edges(0, 1, 2, 0)`, 0 attends to 1 and 2 attends to 0.
    """

    def __init__(self, *positions: int) -> None:
        if len(positions) % 2:
            raise ValueError("an edge is two positions, of a query and of a key")
        self.edges = frozenset(zip(positions[::2], positions[1::2], strict=True))

    @override
    def neighbours(self, query: Places, key: Places) -> Related:
        related = (query != query) & (key != key)  # False everywhere, broadcast to both shapes
        for i, j in self.edges:
            related = related | ((query == i) & (key == j))
        return related


GRAPHS: Table[Callable[..., Graph]] = Table(
    "model.attention.graph",
    {
        "complete": Complete,
        "causal": Causal,
        "band": Band,
        "strided": Strided,
        "fixed": Fixed,
        "grid": Grid,
        "edges": Edges,
    },
    given=0,
)


def build_graph(text: str) -> Graph:
    """Build the graph that the configuration describes, such as `band(3) | fixed(8, 1)`. Raises `InputError`."""
    operators = {ast.BitAnd: operator.and_, ast.BitOr: operator.or_}
    return parse_choice(text, GRAPHS, key=GRAPHS.key, operators=operators)
