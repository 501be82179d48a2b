"""The matrices that a view shows, as data and as text."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Float
from rich.cells import cell_len
from support.tiny import tiny_model
from support.variants import VARIANTS, Variant
from torch import Tensor

from transformer_mt.errors import InputError
from transformer_mt.head_names import HeadName
from transformer_mt.links.tokens import PairTokens, Tokens, prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.attend import (
    HistoryStep,
    adjacency,
    agreement,
    agreement_lines,
    agreements,
    attention_lines,
    explaining_matrix,
    graphs,
    layer_matrices,
    rows_of_matrices,
    view_attention,
)
from transformer_mt.views.maps import AttentionMaps, StackMaps, attend_pair
from transformer_mt.views.matrix import Blocks, Matrix
from transformer_mt.views.methods import METHODS, Weights
from transformer_mt.views.serialise import to_arrays, to_json

ROWS, COLUMNS = ("a", "b"), ("x", "y", "z")


class Whole(Weights):
    """A method of one matrix for the whole model."""

    name = "whole"
    whole = True


@pytest.fixture(autouse=True)
def methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "whole", Whole)
    monkeypatch.setitem(METHODS, "other", Weights)


def maps_of(weights: Float[Tensor, "L H 2 3"], *, mask: Tensor | None = None) -> AttentionMaps:
    tokens = Tokens("", (), (), (), ())
    mask = torch.ones(len(weights), 2, 3, dtype=torch.bool) if mask is None else mask
    stacks = {"cross": StackMaps(weights, mask, ROWS, COLUMNS)}
    return AttentionMaps("s", "t", "weights", stacks, PairTokens(tokens, tokens, tokens))


@pytest.fixture
def maps() -> AttentionMaps:
    """Five layers of seven heads."""
    return maps_of(torch.rand(5, 7, 2, 3).softmax(dim=3))


def numbers(matrix: Matrix) -> Tensor:
    return torch.tensor([[number or 0.0 for number in row] for row in matrix.numbers])


def test_without_known_heads_the_last_layer_but_one_explains(maps: AttentionMaps) -> None:
    matrix = explaining_matrix(maps)
    torch.testing.assert_close(numbers(matrix), maps.stacks["cross"].weights[3].mean(dim=0))
    assert matrix.title == "cross-attention, layer 4 of 5, mean of 7 heads"
    assert (matrix.key, matrix.rows, matrix.columns) == ("cross.4", ROWS, COLUMNS)


def test_of_a_single_layer_it_is_that_one() -> None:
    assert explaining_matrix(maps_of(torch.rand(1, 2, 2, 3))).title == "cross-attention, layer 1 of 1, mean of 2 heads"


def test_known_heads_are_averaged_over_layers(maps: AttentionMaps) -> None:
    matrix = explaining_matrix(maps, heads=[HeadName("cross", 2, 7), HeadName("cross", 5, 1)])
    weights = maps.stacks["cross"].weights
    torch.testing.assert_close(numbers(matrix), (weights[1, 6] + weights[4, 0]) / 2)
    assert matrix.title == "cross-attention, mean of cross.2.7, cross.5.1"


def test_heads_that_the_model_lacks_are_left_out(maps: AttentionMaps) -> None:
    there = HeadName("cross", 5, 7)
    matrix = explaining_matrix(maps, heads=[there, HeadName("cross", 6, 1), HeadName("cross", 1, 8)])
    assert matrix == explaining_matrix(maps, heads=[there])
    assert matrix.title == "cross-attention, mean of cross.5.7"
    assert explaining_matrix(maps, heads=[HeadName("cross", 6, 1)]) == explaining_matrix(maps)


def test_a_method_of_one_matrix_has_no_layers() -> None:
    one = replace(maps_of(torch.rand(1, 1, 2, 3)), method="whole")
    (matrix,) = layer_matrices(one)
    assert explaining_matrix(one, heads=[HeadName("cross", 1, 1)]) == matrix
    assert (matrix.key, matrix.title) == ("cross", "whole, target against source")
    for options in ({"layer": "1"}, {"head": "all"}):
        with pytest.raises(InputError, match=r"^layer, head: whole has one matrix for the whole model; leave"):
            layer_matrices(one, **options)


def test_another_method_is_named(maps: AttentionMaps) -> None:
    assert (
        explaining_matrix(replace(maps, method="other")).title
        == "other, cross-attention, layer 4 of 5, mean of 7 heads"
    )


def test_without_layer_and_head_come_the_means_of_all_layers(maps: AttentionMaps) -> None:
    found = layer_matrices(maps)
    assert [matrix.key for matrix in found] == [f"cross.{layer}" for layer in range(1, 6)]
    for layer, matrix in enumerate(found):
        torch.testing.assert_close(numbers(matrix), maps.stacks["cross"].weights[layer].mean(dim=0))


def test_layer_and_head_choose(maps: AttentionMaps) -> None:
    weights = maps.stacks["cross"].weights
    (one,) = layer_matrices(maps, layer="2", head="6")
    torch.testing.assert_close(numbers(one), weights[1, 5])
    assert (one.key, one.place, one.name) == ("cross.2.6", "cross-attention, layer 2 of 5", "head 6 of 7")
    assert [matrix.key for matrix in layer_matrices(maps, layer="3", head="all")] == [
        f"cross.3.{j}" for j in range(1, 8)
    ]
    assert len(layer_matrices(maps, layer="all", head="all")) == 35


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": "6"}, "layer: there is no '6'; choose one of all, 1, 2, 3, 4, 5"),
        ({"layer": "mean"}, "layer: there is no 'mean'; choose one of all, 1, 2, 3, 4, 5"),
        ({"head": "0"}, "head: there is no '0'; choose one of mean, all, 1, 2, 3, 4, 5, 6, 7"),
        ({"head": "means"}, "head: there is no 'means'; did you mean mean?"),
        ({"stack": "crass"}, "stack: there is no 'crass'; did you mean cross?"),
    ],
)
def test_what_is_not_there_is_said(options: dict[str, str], message: str, maps: AttentionMaps) -> None:
    with pytest.raises(InputError) as caught:
        layer_matrices(maps, **options)
    assert str(caught.value) == message


def test_heads_that_were_left_out_are_not_shown() -> None:
    present = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    maps = maps_of(torch.rand(3, 3, 2, 3))
    stack = maps.stacks["cross"] = replace(maps.stacks["cross"], present=present)
    assert [matrix.key for matrix in layer_matrices(maps, head="all")] == [
        f"cross.{i}.{j}" for i, j in ((1, 1), (1, 3), (3, 1), (3, 2), (3, 3))
    ]
    assert [matrix.name for matrix in layer_matrices(maps)] == ["mean of 2 heads", "mean of 3 heads"]
    torch.testing.assert_close(numbers(layer_matrices(maps, layer="1")[0]), stack.weights[0, [0, 2]].mean(dim=0))
    with pytest.raises(InputError, match=r"^layer: there is no '2'; choose one of all, 1, 3$"):
        layer_matrices(maps, layer="2")
    with pytest.raises(InputError, match=r"^head: there is no '2'; choose one of mean, all, 1, 3$"):
        layer_matrices(maps, layer="1", head="2")
    weights = to_json(stack)["weights"]
    assert [[head is None for head in layer] for layer in weights] == (~present).tolist()


def test_masked_cells_are_known() -> None:
    mask = torch.tensor([[[True, True, False], [True, True, True]]])
    assert layer_matrices(maps_of(torch.rand(1, 1, 2, 3), mask=mask))[0].masked
    assert not layer_matrices(maps_of(torch.rand(1, 1, 2, 3)))[0].masked


def test_a_mean_over_layers_is_masked_where_none_of_them_may_attend() -> None:
    mask = torch.tensor([[[True, True, False]] * 2, [[True, False, False]] * 2])
    heads = [HeadName("cross", layer, 1) for layer in (1, 2)]
    row, _ = explaining_matrix(maps_of(torch.rand(2, 2, 2, 3), mask=mask), heads=heads).numbers
    assert [number is None for number in row] == [False, False, True]


SOURCE, TARGET = "Der alte Mann.", "The man."


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_every_variant_has_a_view_of_every_stack(variant: Variant, tokenizer: Tokenizer) -> None:
    model = tiny_model(*variant, vocabulary=tokenizer.size)
    view = view_attention(model, prepare_pair(model, tokenizer, SOURCE, TARGET), words=False)
    assert set(view.stacks) == set(model.attention_stacks())
    for stack in view.stacks:
        (matrix,) = layer_matrices(view, stack=stack, layer="1")
        assert adjacency(matrix, threshold=0.1).convex
        for form in FORMS.values():
            assert max(map(cell_len, shown([matrix], width=80, **form))) <= 80
    if view.stacks:
        assert explaining_matrix(view).key == f"cross.{max(1, len(view.stacks['cross'].weights) - 1)}"


@pytest.mark.parametrize("method", METHODS)
def test_only_the_stacks_that_are_asked_for_are_computed(method: str, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    pair = model, prepare_pair(model, tokenizer, "Der Hund schläft.", "The dog sleeps.")
    for words in (True, False):
        every = view_attention(*pair, method=method, words=words)
        one = view_attention(*pair, method=method, words=words, stacks=["cross"])
        assert list(one.stacks) == ["cross"]
        torch.testing.assert_close(one.stacks["cross"].weights, every.stacks["cross"].weights)


def test_words_are_merged_and_pieces_are_those_of_the_model(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    words = view_attention(model, prepare_pair(model, tokenizer, SOURCE, TARGET))
    pieces = view_attention(model, prepare_pair(model, tokenizer, SOURCE, TARGET), words=False)
    assert words.stacks["cross"].columns == ("Der", "alte", "Mann", ".", "</s>")
    assert pieces.stacks["cross"].columns == attend_pair(model, tokenizer, SOURCE, TARGET).stacks["cross"].columns
    merged = pieces.by_words().stacks["cross"].weights
    np.testing.assert_allclose(words.stacks["cross"].weights.numpy(), merged.numpy())


def test_a_view_as_data_names_its_method_and_has_a_graph_where_there_is_a_threshold(
    model: Seq2Seq, tokenizer: Tokenizer
) -> None:
    view = view_attention(model, prepare_pair(model, tokenizer, SOURCE, TARGET))
    shown, arrays = to_json(view), to_arrays(view)
    assert list(shown) == ["source", "target", "method", "stacks"]
    parts = {f"{stack}.{part}" for stack in shown["stacks"] for part in ("weights", "mask", "rows", "columns")}
    assert set(arrays) == {"source", "target", "method", *parts}
    assert arrays["method"] == "weights"
    graph = to_json(graphs(view, threshold=0.3))
    assert graph["threshold"] == 0.3
    assert graph["matrices"]["cross.1.2"] == to_json(
        adjacency(layer_matrices(view, layer="1", head="2")[0], threshold=0.3)
    )


def test_a_history_has_a_step_for_each_of_its_weights(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    stacks = view_attention(model, prepare_pair(model, tokenizer, SOURCE, TARGET)).stacks
    history = {"steps": [HistoryStep(2, None, "a", stacks), HistoryStep(4, 0.5, "b", stacks)]}
    shown, arrays = to_json(history), to_arrays(history)
    assert [(one["step"], one["loss"], one["translation"]) for one in shown["steps"]] == [(2, None, "a"), (4, 0.5, "b")]
    assert shown["steps"][0]["stacks"] == to_json(stacks)
    assert arrays["steps.cross.weights"].shape == (2, *stacks["cross"].weights.shape)
    np.testing.assert_array_equal(arrays["steps.loss"], [np.nan, 0.5])


def test_a_method_that_there_is_not_is_an_input_error(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match=r"^method: there is no 'waits'; did you mean weights\?$"):
        view_attention(model, prepare_pair(model, tokenizer, SOURCE, TARGET), method="waits")


def test_erasure_agrees_with_itself_and_not_with_its_opposite(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    view = view_attention(model, prepare_pair(model, tokenizer, SOURCE, TARGET), method="erasure")
    (matrix,) = layer_matrices(view)
    assert agreement(matrix, view) == (1.0, 1.0)
    opposite = [[None if number is None else -number for number in row] for row in matrix.numbers]
    assert agreement(replace(matrix, numbers=opposite), view) == (-1.0, 0.0)
    assert agreement(replace(matrix, key="decoder"), view) is None


ONE = Matrix("cross.1.1", "cross-attention", "head 1", [[0.25, 0.75]], ("Can",), ("du", "mir"))
OTHER = replace(ONE, key="cross.1.2", name="head 2", numbers=[[1.0, None]])
ELSEWHERE = replace(ONE, place="cross-attention below", columns=("du", "ihm"))
FORMS: dict[str, dict[str, Any]] = {"numbers": {}, "shades": {"compact": True}, "graphs": {"threshold": 0.1}}
MEANING = "A number is the weight that the row's token gives to the column's; a row sums to 1."


def shown(*rows: list[Matrix], width: int = 90, **form: Any) -> list[str]:
    options = {"shading": Blocks(), "compact": False, "threshold": None} | form
    return [str(line) for line in attention_lines(rows, method="weights", width=width, **options)]


def test_numbers_stand_beside_each_other_each_under_its_title() -> None:
    assert shown([ONE, OTHER]) == [
        "",
        "cross-attention, head 1   cross-attention, head 2",
        "     du   mir                  du   mir",
        "Can ▒.25 █.75             Can █1.0  ·",
        "",
        "shades from ░.05 ▒.25 ▓.50 █.75 and · where nothing may be attended to",
        MEANING,
    ]


def test_shades_of_one_place_share_their_labels_and_others_stand_beside_them() -> None:
    assert shown([ONE, OTHER, ELSEWHERE], compact=True) == [
        "",
        "cross-attention       cross-attention below",
        "    du                    du",
        "    │ mir                 │ ihm",
        "Can ▒▒██   │ ██·      Can ▒▒██",
        "    head 1 │ head 2       head 1",
        "",
        "shades from ░░ .05 ▒▒ .25 ▓▓ .50 ██ .75 and · where nothing may be attended to",
        MEANING,
    ]


def test_the_legend_of_shades_has_those_below_zero_where_there_are_any() -> None:
    assert "below zero" not in " ".join(shown([ONE], compact=True))
    assert "below zero" in " ".join(shown([ONE, replace(ONE, numbers=[[-1.0, 0.5]])], compact=True))


def test_graphs_have_no_legend_of_shades() -> None:
    lines = shown([ONE], [OTHER], threshold=0.5)
    assert "cross-attention, head 1: 1 edges, each at least 50 % of its row" in lines
    assert lines[-2:] == ["", MEANING]
    assert not any("shades" in line for line in lines)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_rows_of_matrices_stand_below_each_other_after_an_empty_line(form: dict[str, Any]) -> None:
    alone, both = (shown(*rows, **form) for rows in ([[ONE]], [[ONE], [ONE]]))
    end = len(alone) - (2 if "threshold" in form else 3)
    assert both == [*alone[:end], *alone]


def test_one_view_has_a_row_for_each_place_and_several_for_each_matrix() -> None:
    assert rows_of_matrices([[ONE, OTHER, ELSEWHERE]]) == [[ONE, OTHER], [ELSEWHERE]]
    assert rows_of_matrices([[ONE, OTHER], [ELSEWHERE]]) == [[ONE, ELSEWHERE], [OTHER]]


def test_agreement_is_said_of_each_matrix_that_has_any(tokenizer: Tokenizer) -> None:
    torch.manual_seed(3)
    model = tiny_model(vocabulary=tokenizer.size)
    pair = model, prepare_pair(model, tokenizer, "Der alte Mann liest.", "The old man reads.")
    view, erased = view_attention(*pair), view_attention(*pair, method="erasure")
    matrices = layer_matrices(view, head="all", layer="1")
    lines = [*agreement_lines(matrices, erased)]
    for matrix, line in zip(matrices, lines, strict=True):
        scores = agreement(matrix, erased)
        assert scores is not None
        said = f"tau {scores.correlation:.2f}, 0 is chance; the same word first in {100 * scores.first:.0f} % of rows"
        assert line == f"{matrix.key}: agreement with erasure: {said}"
        assert agreements(view, erased)[matrix.key] == {"tau": scores.correlation, "first": scores.first}
    assert [*agreement_lines(matrices[:1], erased)] == [lines[0].removeprefix("cross.1.1: ")]
    assert not [*agreement_lines(layer_matrices(view, stack="encoder"), erased)]
