"""The matrices of `tmt attend` as data, as text and as graphs."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.tiny import tiny_model
from torch import Tensor

from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.links.tokens import PairTokens, Tokens, prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.attend import (
    adjacency,
    agreement,
    agreement_lines,
    agreements,
    attention_lines,
    explaining_matrix,
    graph_lines,
    layer_matrices,
    rows_of_matrices,
    view_attention,
)
from transformer_mt.views.maps import AttentionMaps, StackMaps
from transformer_mt.views.matrix import Blocks, LabelledMatrix, Scale
from transformer_mt.views.methods import METHODS, AttentionWeights
from transformer_mt.views.serialise import to_json

NAN = math.nan
ROWS, COLUMNS = ("a", "b"), ("x", "y", "z")
SOURCE, TARGET = "Der alte Mann.", "The man."


class Whole(AttentionWeights):
    """A method with one matrix for the whole model."""

    name = "whole"
    whole = True


@pytest.fixture(autouse=True)
def methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "whole", Whole)
    monkeypatch.setitem(METHODS, "other", AttentionWeights)


def maps_of(
    layers: int, heads: int, *, mask: Any = True, present: Any = None, method: str = "weights"
) -> AttentionMaps:
    tokens, weights = Tokens("", (), (), (), ()), torch.rand(layers, heads, 2, 3).softmax(dim=3)
    stack = StackMaps(weights, torch.ones(layers, 2, 3, dtype=torch.bool) & torch.tensor(mask), ROWS, COLUMNS, present)
    return AttentionMaps("s", "t", method, {"cross": stack}, PairTokens(tokens, tokens, tokens))


@pytest.fixture
def maps() -> AttentionMaps:
    return maps_of(5, 7)


def heads(*names: tuple[int, int]) -> list[HeadName]:
    return [HeadName("cross", *name) for name in names]


def close(matrix: LabelledMatrix, expected: Tensor) -> None:
    np.testing.assert_allclose(matrix.numbers, expected.numpy(), rtol=1e-6)


# Selecting matrices


@pytest.mark.parametrize(
    ("known", "key", "name", "averaged"),
    [
        ([], "cross.4", "layer 4 of 5, mean of 7 heads", [(4, head) for head in range(1, 8)]),
        # Heads that the model lacks are ignored.
        ([(2, 7), (6, 1), (5, 1)], "cross", "mean of cross.2.7, cross.5.1", [(2, 7), (5, 1)]),
    ],
)
def test_explaining_matrix_uses_known_heads_or_the_second_last_layer(
    known: list[tuple[int, int]], key: str, name: str, averaged: list[tuple[int, int]], maps: AttentionMaps
) -> None:
    matrix, weights = explaining_matrix(maps, heads=heads(*known)), maps.stacks["cross"].weights
    close(matrix, torch.stack([weights[layer - 1, head - 1] for layer, head in averaged]).mean(dim=0))
    assert (matrix.key, matrix.title, matrix.columns) == (key, f"cross-attention, {name}", COLUMNS)
    other = explaining_matrix(replace(maps, method="other"), heads=heads(*known))
    assert other.title == f"other, cross-attention, {name}"


def test_explaining_matrix_of_one_layer_or_one_matrix() -> None:
    assert explaining_matrix(maps_of(1, 2)).title == "cross-attention, layer 1 of 1, mean of 2 heads"
    one = maps_of(1, 1, method="whole")
    (matrix,) = layer_matrices(one)
    assert (matrix.key, matrix.title) == ("cross", "whole, target against source")
    explaining = explaining_matrix(one, heads=heads((1, 1)))
    assert (explaining.key, explaining.numbers.tolist()) == (matrix.key, matrix.numbers.tolist())
    for options in ({"layer": "1"}, {"head": "all"}):
        with pytest.raises(InputError, match=r"^layer, head: whole has one matrix for the whole model; leave"):
            layer_matrices(one, **options)


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"layer": "3", "head": "all"}, [f"cross.3.{head}" for head in range(1, 8)]),
        ({"layer": "all", "head": "mean"}, [f"cross.{layer}" for layer in range(1, 6)]),
        ({"head": "4"}, [f"cross.{layer}.4" for layer in range(1, 6)]),
    ],
)
def test_layer_and_head_select_matrices(options: dict[str, str], keys: list[str], maps: AttentionMaps) -> None:
    found = layer_matrices(maps, **options)
    assert [matrix.key for matrix in found] == keys
    _, layer, *head = keys[1].split(".")
    weights = maps.stacks["cross"].weights[int(layer) - 1]
    close(found[1], weights[int(head[0]) - 1] if head else weights.mean(dim=0))
    name = f"head {head[0]} of 7" if head else "mean of 7 heads"
    assert found[1].title == f"cross-attention, layer {layer} of 5, {name}"


def test_heads_that_are_off_are_not_shown() -> None:
    present = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    maps = maps_of(3, 3, present=present)
    keys = [matrix.key for matrix in layer_matrices(maps, head="all")]
    assert keys == ["cross.1.1", "cross.1.3", "cross.3.1", "cross.3.2", "cross.3.3"]
    first, last = layer_matrices(maps)
    assert (first.name, last.name) == ("mean of 2 heads", "mean of 3 heads")
    close(first, maps.stacks["cross"].weights[0, [0, 2]].mean(dim=0))
    assert explaining_matrix(maps).name == "mean of all 5 heads"
    with pytest.raises(InputError, match=r"^layer: '2' is unknown or off; choose one of all, 1, 3$"):
        layer_matrices(maps, layer="2")
    weights = to_json(maps.stacks["cross"])["weights"]
    assert [[head is None for head in layer] for layer in weights] == (~present).tolist()


def test_mean_over_layers_is_masked_where_all_are() -> None:
    mask = [[[True, True, False]] * 2, [[True, False, False]] * 2]
    matrix = explaining_matrix(maps_of(2, 2, mask=mask), heads=heads((1, 1), (2, 1)))
    assert np.isnan(matrix.numbers).tolist() == [[False, False, True]] * 2
    assert matrix.masked
    assert not explaining_matrix(maps_of(2, 2)).masked


# Agreement with erasure


def test_erasure_agrees_with_itself_and_not_with_its_opposite(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    view = view_attention(model, prepare_pair(model, tokenizer, SOURCE, TARGET), method="erasure")
    (matrix,) = layer_matrices(view)
    assert agreement(matrix, view) == (1.0, 1.0)
    assert agreement(replace(matrix, numbers=-matrix.numbers), view) == (-1.0, 0.0)
    assert agreement(replace(matrix, key="decoder"), view) is None


def test_agreement_is_reported_for_each_matrix_that_has_one(tokenizer: Tokenizer) -> None:
    torch.manual_seed(3)
    model = tiny_model(vocabulary=tokenizer.size)
    pair = model, prepare_pair(model, tokenizer, "Der alte Mann liest.", "The old man reads.")
    view, erased = view_attention(*pair), view_attention(*pair, method="erasure")
    first, second, *_ = layer_matrices(view, head="all", layer="1")
    scores = agreements(view, erased)[first.key]
    assert (scores["tau"], scores["first"]) == agreement(first, erased)
    (said,) = agreement_lines([first], erased)
    shares = f"tau {scores['tau']:.2f}, 0 is chance; the same word first in {100 * scores['first']:.0f} % of rows"
    assert said == f"agreement with erasure: {shares}"
    assert next(agreement_lines([first, second], erased)) == f"cross.1.1: {said}"
    assert not [*agreement_lines(layer_matrices(view, stack="encoder"), erased)]


# Text


def matrix(
    numbers: Any, *, rows: Sequence[str] = ROWS, columns: Sequence[str] = COLUMNS, **more: str
) -> LabelledMatrix:
    names = {"key": "cross.1.1", "place": "cross-attention", "name": "head 1"} | more
    return LabelledMatrix(**names, numbers=np.array(numbers, float), rows=tuple(rows), columns=tuple(columns))


ONE = matrix([[0.25, 0.75]], rows=["Can"], columns=["du", "mir"])
OTHER = replace(ONE, key="cross.1.2", name="head 2", numbers=np.array([[1.0, NAN]]))
ELSEWHERE = replace(ONE, place="cross-attention below", columns=("du", "ihm"))
FORMS: dict[str, dict[str, Any]] = {"numbers": {}, "shades": {"compact": True}, "graphs": {"threshold": 0.1}}
MEANING = "A number is the weight a row's token gives to a column's; a row sums to 1."


def shown(*rows: list[LabelledMatrix], width: int = 90, **form: Any) -> list[str]:
    options = {"shading": Blocks(), "compact": False, "threshold": None} | form
    return [str(line) for line in attention_lines(rows, method="weights", width=width, **options)]


def test_matrices_are_drawn_side_by_side_under_their_titles() -> None:
    assert shown([ONE, OTHER]) == [
        "",
        "cross-attention, head 1   cross-attention, head 2",
        "     du   mir                  du   mir",
        "Can ▒.25 █.75             Can █1.0  ·",
        "",
        "shades from ░.05 ▒.25 ▓.50 █.75 and · for masked cells",
        MEANING,
    ]


def test_compact_matrices_of_one_place_share_labels() -> None:
    assert shown([ONE, OTHER, ELSEWHERE], compact=True) == [
        "",
        "cross-attention       cross-attention below",
        "    du                    du",
        "    │ mir                 │ ihm",
        "Can ▒▒██   │ ██·      Can ▒▒██",
        "    head 1 │ head 2       head 1",
        "",
        "shades from ░░ .05 ▒▒ .25 ▓▓ .50 ██ .75 and · for masked cells",
        MEANING,
    ]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_rows_of_matrices_are_separated_by_empty_lines(form: dict[str, Any]) -> None:
    single, both = (shown(*rows, **form) for rows in ([[ONE]], [[ONE], [ONE]]))
    assert both == [*single[: len(single) - (2 if "threshold" in form else 3)], *single]


def test_each_layer_has_a_row_of_matrices() -> None:
    assert rows_of_matrices([ONE, OTHER, ELSEWHERE]) == [[ONE, OTHER], [ELSEWHERE]]


# Graphs

WEIGHTS = matrix(
    [[0.75, 0.05, 0.2], [0.0, 1.0, NAN]], rows=["Can", "you"], columns=["Kannst", "du", "</s>"], name="mean"
)


@pytest.mark.parametrize(
    ("numbers", "threshold", "edges", "convex"),
    [
        (WEIGHTS.numbers, 0.2, [(0, 0, 0.75), (0, 2, 0.2), (1, 1, 1.0)], True),
        ([[-0.5, 3.0]], 0.125, [(0, 0, -0.5), (0, 1, 3.0)], False),  # 0.5 / (0.5 + 3.0) = 1/7
        ([[-0.5, 3.0]], 0.15, [(0, 1, 3.0)], False),
        ([[NAN, NAN], [0.5, 0.5]], 0.1, [(1, 0, 0.5), (1, 1, 0.5)], True),  # rows without neighbours are ignored
    ],
)
def test_edges_reach_the_threshold(numbers: Any, threshold: float, edges: list[Any], convex: bool) -> None:
    size = len(numbers[0])
    graph = adjacency(matrix(numbers, rows=ROWS[: len(numbers)], columns=COLUMNS[:size]), threshold=threshold)
    assert (graph.edges, graph.convex) == (edges, convex)
    assert graph.out_degrees == [sum(edge[0] == row for edge in edges) for row in range(len(numbers))]
    assert graph.in_degrees == [sum(edge[1] == column for edge in edges) for column in range(size)]


def graph_of(one: LabelledMatrix, *, width: int) -> list[str]:
    return [str(line) for line in graph_lines(one, threshold=0.1, width=width, scale=Scale.of([one.numbers]))]


def test_graph_as_text() -> None:
    assert graph_of(WEIGHTS, width=40) == [
        "cross-attention, mean: 3 edges, each at",
        "least 10 % of its row",
        "",
        "row  out-degree  edges",
        "Can           2  Kannst .75, </s> .20",
        "you           1  du 1.0",
        "",
        "column  in-degree",
        "Kannst          1",
        "    du          1",
        "  </s>          1",
        "",
        "Every row is a convex combination: no",
        "number is negative, and they sum to 1.",
    ]
    many = matrix([[0.25] * 4], rows="r", columns=("aa", "bb", "cc", "dd"))
    expected = ["  r           4  aa .25, bb .25, cc", "                 .25, dd .25"]
    assert [line for line in graph_of(many, width=36) if ".25" in line] == expected
    small = graph_of(matrix([[-0.002, 0.006]], rows="a", columns="xy"), width=99)
    assert small[3] == "  a           2  x -2, y 6.0"
    assert small[-1] == "Not all rows are convex combinations: some numbers are negative or do not sum to 1."
