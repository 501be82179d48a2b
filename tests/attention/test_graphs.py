from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.attention.graphs import GRAPHS, Causal, Complete, Graph, build_graph
from transformer_mt.errors import InputError

CPU = torch.device("cpu")


class Neighbours(Graph):
    """A graph from any relation between two integers, for combining."""

    def __init__(self, related: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        self.neighbours = related  # type: ignore[method-assign]


# Whether position i may attend to position j, by the formula of each entry of GRAPHS.
FORMULAS: dict[str, Callable[[int, int], bool]] = {
    "complete": lambda i, j: True,
    "causal": lambda i, j: j <= i,
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_mask_follows_the_formula(name: str) -> None:
    assert name in FORMULAS, "write the graph's formula into FORMULAS"
    mask = build_graph(name).mask(23, 23, device=CPU)
    for i in range(23):
        for j in range(23):
            assert mask[i, j] == FORMULAS[name](i, j), f"position {i} to {j}"


@pytest.mark.parametrize("name", GRAPHS)
@given(queries=st.integers(1, 17), keys=st.integers(1, 17))
def test_queries_are_the_last_positions_of_the_keys(name: str, queries: int, keys: int) -> None:
    graph = build_graph(name)
    queries = min(queries, keys)
    whole = graph.mask(keys, keys, device=CPU)
    assert torch.equal(graph.mask(queries, keys, device=CPU), whole[-queries:])


@pytest.mark.parametrize("name", GRAPHS)
def test_the_relation_broadcasts_index_tensors_of_any_shape(name: str) -> None:
    graph = build_graph(name)
    i, j = torch.randint(11, (2, 1, 5)), torch.randint(11, (3, 1))
    related = graph.neighbours(i, j)
    assert related.shape == (2, 3, 5)
    for place in range(related.numel()):
        query, key = i.expand(2, 3, 5).flatten()[place], j.expand(2, 3, 5).flatten()[place]
        assert related.flatten()[place] == graph.neighbours(query, key)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_position_of_a_decoder_may_attend_to_something(name: str) -> None:
    mask = (build_graph(name) & Causal()).mask(23, 23, device=CPU)
    assert mask.any(dim=1).all()


def test_the_complete_graph_serves_more_queries_than_keys() -> None:
    assert Complete().mask(7, 5, device=CPU).equal(torch.ones(7, 5, dtype=torch.bool))


def test_and_keeps_the_edges_of_both_and_or_those_of_either() -> None:
    near = Neighbours(lambda i, j: (i - j).abs() <= 2)
    even = Neighbours(lambda i, j: (i + j) % 2 == 0)
    mask = partial(Graph.mask, queries=7, keys=7, device=CPU)
    for i in range(7):
        for j in range(7):
            assert mask(near & even)[i, j] == (abs(i - j) <= 2 and (i + j) % 2 == 0)
            assert mask(near | even)[i, j] == (abs(i - j) <= 2 or (i + j) % 2 == 0)
            assert mask((near | even) & Causal())[i, j] == ((abs(i - j) <= 2 or (i + j) % 2 == 0) and j <= i)


def test_an_unknown_graph_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InputError) as raised:
        build_graph("casual")
    assert str(raised.value) == "model.attention.graph: there is no 'casual'; did you mean causal?"
