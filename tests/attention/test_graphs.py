from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.variants import GRAPH_EXAMPLES

from transformer_mt.attention.graphs import GRAPHS, Causal, Complete, build_graph
from transformer_mt.ground.errors import InputError

CPU = torch.device("cpu")

N = 23

Formula = Callable[[int, int], bool]

# Whether position i may attend to position j, in integer arithmetic, for at least one spelling per entry of GRAPHS.
FORMULAS: dict[str, Formula] = {
    "complete": lambda i, j: True,
    "causal": lambda i, j: j <= i,
    "band(0)": lambda i, j: i == j,
    "band(3)": lambda i, j: i - 3 <= j <= i + 3,
    "strided(1)": lambda i, j: True,
    "strided(4)": lambda i, j: abs(i - j) in {0, 1, 2, 3, 4, 8, 12, 16, 20},
    "fixed(5, 2)": lambda i, j: i // 5 == j // 5 or j % 5 in {3, 4},
    "fixed(5, 0)": lambda i, j: i // 5 == j // 5,
    "fixed(3, 3)": lambda i, j: True,
    "grid(5)": lambda i, j: abs(i // 5 - j // 5) <= 1 and abs(i % 5 - j % 5) <= 1,
    "edges": lambda i, j: False,
    "edges(0, 1, 2, 0, 22, 22)": lambda i, j: (i, j) in {(0, 1), (2, 0), (22, 22)},
    # Combined, with Python's precedence: & before |.
    "band(3) & causal": lambda i, j: i - 3 <= j <= i,
    "band(1) | strided(7) & causal": lambda i, j: abs(i - j) <= 1 or (j <= i and (abs(i - j) < 7 or (i - j) % 7 == 0)),
    "(band(1) | strided(7)) & causal": lambda i, j: j <= i and (i - j <= 1 or i - j < 7 or (i - j) % 7 == 0),
    "causal & (edges(3, 2, 2, 3) | band(0))": lambda i, j: i == j or (i, j) == (3, 2),
}

every_example = pytest.mark.parametrize("text", GRAPH_EXAMPLES.values())


def edges_of(text: str, size: int = N) -> set[tuple[int, int]]:
    mask = build_graph(text).mask(size, size, device=CPU)
    return {(i, j) for i, j in mask.nonzero().tolist()}


def test_every_graph_has_an_example_and_a_formula() -> None:
    assert set(GRAPH_EXAMPLES) == set(GRAPHS), "give the graph an example in tests/variants.py"
    assert {text.split("(")[0] for text in FORMULAS} >= set(GRAPHS), "write the graph's formula into FORMULAS"
    for name, text in GRAPH_EXAMPLES.items():
        assert type(build_graph(text)) is GRAPHS[name]


@pytest.mark.parametrize("text", FORMULAS)
def test_the_mask_follows_the_formula(text: str) -> None:
    assert edges_of(text) == {(i, j) for i in range(N) for j in range(N) if FORMULAS[text](i, j)}


@every_example
@given(queries=st.integers(1, 17), keys=st.integers(1, 17))
def test_queries_are_the_last_positions_of_the_keys(text: str, queries: int, keys: int) -> None:
    graph = build_graph(text)
    queries = min(queries, keys)
    whole = graph.mask(keys, keys, device=CPU)
    assert torch.equal(graph.mask(queries, keys, device=CPU), whole[-queries:])


def test_the_complete_graph_allows_more_queries_than_keys() -> None:
    assert Complete().mask(7, 5, device=CPU).equal(torch.ones(7, 5, dtype=torch.bool))


# Messages

WRONG = {
    "band(2) & casual": "'casual' is unknown; did you mean causal? (or load its plugin: tmt --plugin FILE)",
    "strided(0)": "'strided(0)': the stride must be at least 1",
    "fixed(0, 0)": "'fixed(0, 0)': the block must have at least 1 position, and `last` must be from 0 to its length",
    "fixed(3, 4)": "'fixed(3, 4)': the block must have at least 1 position, and `last` must be from 0 to its length",
    "grid(0)": "'grid(0)': there must be at least 1 column",
    "edges(1)": "'edges(1)': an edge is two positions, of a query and of a key",
    "band(2) - causal": "'band(2) - causal' is not a name or a call such as grid(columns) or edges(*positions); "
    "correct it",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_invalid_graph_is_an_error_with_a_remedy(text: str) -> None:
    with pytest.raises(InputError) as raised:
        build_graph(text)
    assert str(raised.value) == f"model.attention.graph: {WRONG[text]}"


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("causal", [False, True])
def test_a_complete_graph_has_every_edge(text: str, causal: bool) -> None:
    graph = build_graph(text) & Causal() if causal else build_graph(text)
    for queries in (1, 2, 5):
        if graph.is_complete(queries):
            assert all(graph.mask(queries, keys, device=CPU).all() for keys in range(queries, N))


def test_graphs_report_completeness() -> None:
    complete, band = Complete(), build_graph("band(3)")
    assert complete.is_complete(5)
    assert (complete & Causal()).is_complete(1)
    assert not (complete & Causal()).is_complete(2)
    assert (band | complete).is_complete(5)
    assert not (band & complete).is_complete(1)
