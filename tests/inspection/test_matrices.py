"""Which matrices a view shows."""

import pytest
import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from transformer_mt.errors import InputError
from transformer_mt.inspection.maps import AttentionMaps, StackMaps
from transformer_mt.inspection.matrices import Matrix, explaining_matrix, layer_matrices, map_title
from transformer_mt.inspection.methods import METHODS, Weights
from transformer_mt.registry import HeadName
from transformer_mt.views.words import PairTokens, Tokens

ROWS, COLUMNS = ("a", "b"), ("x", "y", "z")


class Whole(Weights):
    """A method of one matrix for the whole model."""

    whole = True


@pytest.fixture(autouse=True)
def methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "whole", Whole)
    monkeypatch.setitem(METHODS, "other", Weights)


def maps_of(weights: Float[Tensor, "L H 2 3"], *, mask: Tensor | None = None) -> AttentionMaps:
    tokens = Tokens((), (), (), ())
    mask = torch.ones(len(weights), 2, 3, dtype=torch.bool) if mask is None else mask
    return AttentionMaps(
        "s", "t", PairTokens(tokens, tokens, tokens), {"cross": StackMaps(weights, mask, ROWS, COLUMNS)}
    )


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
    assert matrix.title == "cross-attention, head cross.5.7"
    assert explaining_matrix(maps, heads=[HeadName("cross", 6, 1)]) == explaining_matrix(maps)


def test_a_method_of_one_matrix_has_no_layers(maps: AttentionMaps) -> None:
    one = AttentionMaps("s", "t", maps.tokens, {"cross": maps_of(torch.rand(1, 1, 2, 3)).stacks["cross"]})
    (matrix,) = layer_matrices(one, method="whole")
    assert explaining_matrix(one, method="whole", heads=[HeadName("cross", 1, 1)]) == matrix
    assert (matrix.key, matrix.title) == ("cross", "whole, target against source")
    for options, option in (({"layer": "1"}, "--layer"), ({"head": "all"}, "--head")):
        message = f"^{option}: whole has one matrix for the whole model; leave one of the two out$"
        with pytest.raises(InputError, match=message):
            layer_matrices(one, method="whole", **options)


def test_another_method_is_named(maps: AttentionMaps) -> None:
    assert explaining_matrix(maps, method="other").title == "other, cross-attention, layer 4 of 5, mean of 7 heads"


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
        ({"layer": "6"}, "--layer: there is no '6'; give a number from 1 to 5 or all"),
        ({"layer": "mean"}, "--layer: there is no 'mean'; give a number from 1 to 5 or all"),
        ({"head": "0"}, "--head: there is no '0'; give a number from 1 to 7 or mean or all"),
        ({"head": "²"}, "--head: there is no '²'; give a number from 1 to 7 or mean or all"),
        ({"stack": "crass"}, "--stack: there is no 'crass'; did you mean cross?"),
    ],
)
def test_what_is_not_there_is_said(options: dict[str, str], message: str, maps: AttentionMaps) -> None:
    with pytest.raises(InputError) as caught:
        layer_matrices(maps, **options)
    assert str(caught.value) == message


class WithoutSecond(StackMaps):
    """Maps whose second heads were pruned, and all heads of the second layer."""

    @override
    def matrix(self, layer: int, head: int | None) -> list[list[float | None]]:
        found = StackMaps.matrix(self, layer, head)
        return [[None for _ in row] for row in found] if head == 1 or layer == 1 else found


def test_pruned_heads_are_not_shown() -> None:
    whole = maps_of(torch.rand(3, 3, 2, 3))
    stack = whole.stacks["cross"]
    pruned = AttentionMaps(
        "s", "t", whole.tokens, {"cross": WithoutSecond(stack.weights, stack.mask, stack.rows, stack.columns)}
    )
    found = layer_matrices(pruned, head="all")
    assert [matrix.key for matrix in found] == ["cross.1.1", "cross.1.3", "cross.3.1", "cross.3.3"]
    assert [matrix.name for matrix in layer_matrices(pruned)] == ["mean of 2 heads"] * 2
    with pytest.raises(InputError, match=r"^--layer: no head is left there; give another$"):
        layer_matrices(pruned, layer="2")
    with pytest.raises(InputError, match=r"^--head: there is no '2'; give 1, 3 or mean or all$"):
        layer_matrices(pruned, layer="1", head="2")


def test_masked_cells_are_known() -> None:
    mask = torch.tensor([[[True, True, False], [True, True, True]]])
    assert layer_matrices(maps_of(torch.rand(1, 1, 2, 3), mask=mask))[0].masked
    assert not layer_matrices(maps_of(torch.rand(1, 1, 2, 3)))[0].masked


def test_titles_name_stack_layer_and_head() -> None:
    title = {stack: map_title(stack, layer=1, layers=2, head=3, heads=4) for stack in ("encoder", "decoder", "cross")}
    assert title == {
        "encoder": "encoder self-attention, layer 1 of 2, head 3 of 4",
        "decoder": "decoder self-attention, layer 1 of 2, head 3 of 4",
        "cross": "cross-attention, layer 1 of 2, head 3 of 4",
    }
    assert map_title("cross", layer=1, layers=2, head=None, heads=4) == "cross-attention, layer 1 of 2, mean of 4 heads"
