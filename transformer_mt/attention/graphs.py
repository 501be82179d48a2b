"""Who may attend to whom: for every query position, its neighbours among the key positions.

Attention is message passing over a graph; the matrix of weights is the graph's weighted adjacency matrix.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_mt.config import lookup


class Graph:
    """A neighbourhood relation, as one function of index tensors that broadcast against each other.

    Being a function and not a matrix, it can build a dense mask of any size or serve as a block-mask function. Graphs
    combine with `&` and `|`.
    """

    def neighbours(self, query: Int[Tensor, "..."], key: Int[Tensor, "..."]) -> Bool[Tensor, "..."]:
        """True where the query position may attend to the key position."""
        raise NotImplementedError

    def mask(self, queries: int, keys: int, *, device: torch.device) -> Bool[Tensor, "Q K"]:
        """The dense mask of the last `queries` of `keys` positions, which is what a cached decoder asks for."""
        query = torch.arange(keys - queries, keys, device=device)
        return self.neighbours(query[:, None], torch.arange(keys, device=device)[None, :])

    def __and__(self, other: "Graph") -> "Graph":
        return Combined(torch.logical_and, self, other)

    def __or__(self, other: "Graph") -> "Graph":
        return Combined(torch.logical_or, self, other)


class Combined(Graph):
    """The intersection or the union of two graphs' edges."""

    def __init__(self, combine: Callable[[Tensor, Tensor], Tensor], left: Graph, right: Graph) -> None:
        self.combine, self.left, self.right = combine, left, right

    def neighbours(self, query: Int[Tensor, "..."], key: Int[Tensor, "..."]) -> Bool[Tensor, "..."]:
        """The edges of both graphs, combined."""
        return self.combine(self.left.neighbours(query, key), self.right.neighbours(query, key))


class Complete(Graph):
    """N_i = all positions: self-attention (Vaswani et al. 2017), and the bipartite graph of cross-attention."""

    def neighbours(self, query: Int[Tensor, "..."], key: Int[Tensor, "..."]) -> Bool[Tensor, "..."]:
        """True everywhere."""
        return (query == query) & (key == key)


class Causal(Graph):
    """N_i = {j : j ≤ i}: a decoder sees nothing of the future (Vaswani et al. 2017, §3.2.3)."""

    def neighbours(self, query: Int[Tensor, "..."], key: Int[Tensor, "..."]) -> Bool[Tensor, "..."]:
        """True on and below the diagonal."""
        return key <= query


GRAPHS: dict[str, type[Graph]] = {"complete": Complete, "causal": Causal}


def build_graph(name: str) -> Graph:
    """The graph that the configuration names."""
    return lookup(GRAPHS, name, key="model.attention.graph")()
