"""What `tmt attend` shows, as data, for every variant of the models."""

from dataclasses import replace

import numpy as np
import pytest
from support.tiny import tiny_model
from support.variants import VARIANTS, Variant

from transformer_mt.errors import InputError
from transformer_mt.inspection.graph import adjacency
from transformer_mt.inspection.maps import attend_pair
from transformer_mt.inspection.matrices import explaining_matrix, layer_matrices
from transformer_mt.inspection.views import ViewsOfRuns, view_attention
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer

SOURCE, TARGET = "Der alte Mann.", "The man."


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_every_variant_has_a_view_of_every_stack(variant: Variant, tokenizer: Tokenizer) -> None:
    model = tiny_model(*variant, vocabulary=tokenizer.size)
    view = view_attention(model, tokenizer, SOURCE, TARGET, words=False)
    assert set(view.maps.stacks) == set(model.attention_stacks())
    for stack in view.maps.stacks:
        (matrix,) = layer_matrices(view.maps, stack=stack, layer="1")
        assert adjacency(matrix, threshold=0.1).convex
    if view.maps.stacks:
        assert explaining_matrix(view.maps).key == f"cross.{max(1, len(view.maps.stacks['cross'].weights) - 1)}"


def test_words_are_merged_and_pieces_are_those_of_the_model(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    words = view_attention(model, tokenizer, SOURCE, TARGET)
    pieces = view_attention(model, tokenizer, SOURCE, TARGET, words=False)
    assert words.maps.stacks["cross"].columns == ("Der", "alte", "Mann", ".", "</s>")
    assert pieces.maps.stacks["cross"].columns == attend_pair(model, tokenizer, SOURCE, TARGET).stacks["cross"].columns
    merged = pieces.maps.by_words().stacks["cross"].weights
    np.testing.assert_allclose(words.maps.stacks["cross"].weights.numpy(), merged.numpy())


def test_a_view_as_data_names_its_method_and_has_a_graph_where_there_is_a_threshold(
    model: Seq2Seq, tokenizer: Tokenizer
) -> None:
    view = view_attention(model, tokenizer, SOURCE, TARGET)
    assert list(view.to_json()) == ["source", "target", "method", "stacks"]
    assert view.arrays()["method"] == "weights"
    assert set(view.arrays()) == {*view.maps.arrays(), "method"}
    both = ViewsOfRuns([("one", view), ("other", view)])
    assert both.to_json() == {"runs": [{"run": name} | view.to_json() for name in ("one", "other")]}
    assert {f"{number}.{key}" for number in (1, 2) for key in view.arrays()} | {"runs"} == set(both.arrays())


def test_a_method_that_there_is_not_is_an_input_error(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match=r"^--method: there is no 'waits'; did you mean weights\?$"):
        view_attention(model, tokenizer, SOURCE, TARGET, method="waits")


def test_erasure_agrees_with_itself_and_not_with_its_opposite(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    view = view_attention(model, tokenizer, SOURCE, TARGET, method="erasure", compared=True)
    (matrix,) = layer_matrices(view.maps, method="erasure")
    same = view.agreement(matrix)
    assert same is not None
    assert (same.correlation, same.first) == (1.0, 1.0)
    opposite = [[None if number is None else -number for number in row] for row in matrix.numbers]
    turned = view.agreement(replace(matrix, numbers=opposite))
    assert turned is not None
    assert (turned.correlation, turned.first) == (-1.0, 0.0)
    assert view.agreement(replace(matrix, key="decoder")) is None
