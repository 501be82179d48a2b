"""The maps of one sentence pair."""

import json

import pytest
import torch

from transformer_mt.errors import InputError
from transformer_mt.links.recording import record_attention
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.maps import attend_pair
from transformer_mt.views.serialise import to_json

SOURCE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
TARGET = "Can you help me translate this sentence?"


def test_labels_are_what_is_read_and_what_is_written(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    stacks = attend_pair(model, tokenizer, SOURCE, TARGET).stacks
    read = tuple(tokenizer.pieces([*tokenizer.encode(SOURCE), EOS]))
    target = tokenizer.encode(TARGET)
    assert list(stacks) == ["encoder", "decoder", "cross"]
    assert stacks["encoder"].rows == stacks["encoder"].columns == stacks["cross"].columns == read
    assert read[-1] == "</s>"
    assert stacks["cross"].rows == stacks["decoder"].rows == (*tokenizer.pieces(target), "</s>")
    assert stacks["decoder"].columns == ("<s>", *tokenizer.pieces(target))


def test_the_row_of_a_piece_holds_the_weights_it_was_written_with(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    source = torch.tensor([[*tokenizer.encode(SOURCE), EOS]])
    target = tokenizer.encode(TARGET)
    maps = attend_pair(model, tokenizer, SOURCE, TARGET)
    state = model.eval().start(source)
    for row in (0, 3, len(target)):
        with record_attention(model) as step:
            model.decode(torch.tensor([[BOS, *target[:row]]]), state)
        for layer, weights in enumerate(step["cross"]):
            torch.testing.assert_close(maps.stacks["cross"].weights[layer, :, row], weights[0, :, -1])


def test_weights_have_layers_heads_rows_and_columns_and_rows_sum_to_one(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    for maps in attend_pair(model, tokenizer, SOURCE, TARGET).stacks.values():
        assert maps.weights.shape[1:] == (5, len(maps.rows), len(maps.columns))
        assert maps.mask.shape == (maps.weights.shape[0], *maps.weights.shape[2:])
        torch.testing.assert_close(maps.weights.sum(-1), torch.ones(maps.weights.shape[:3]))


def test_without_a_head_a_matrix_is_the_mean_over_heads(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    decoder = attend_pair(model, tokenizer, SOURCE, TARGET).stacks["decoder"]
    heads = torch.tensor([[[weight or 0.0 for weight in row] for row in decoder.matrix(1, head)] for head in range(5)])
    mean = decoder.matrix(1, None)
    torch.testing.assert_close(torch.tensor([[weight or 0.0 for weight in row] for row in mean]), heads.mean(dim=0))
    assert mean[0][1:] == [None] * (len(mean) - 1)


def test_only_the_decoder_s_future_is_masked(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    stacks = attend_pair(model, tokenizer, SOURCE, TARGET).stacks
    assert stacks["encoder"].mask.all()
    assert stacks["cross"].mask.all()
    assert torch.equal(stacks["decoder"].mask, torch.ones_like(stacks["decoder"].mask).tril())
    matrix = stacks["decoder"].matrix(2, 4)
    assert [sum(weight is None for weight in row) for row in matrix] == list(reversed(range(len(matrix))))


def test_the_model_is_left_as_it_was(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    model.train()
    first, second = (attend_pair(model, tokenizer, SOURCE, TARGET) for _ in range(2))
    assert model.training
    assert torch.equal(first.stacks["cross"].weights, second.stacks["cross"].weights)
    assert not first.stacks["cross"].weights.requires_grad


def test_empty_sentences_have_maps_of_their_end_symbol(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    cross = attend_pair(model, tokenizer, "", "").stacks["cross"]
    assert cross.rows == cross.columns == ("</s>",)
    assert cross.matrix(0, 0) == [[1.0]]


@pytest.mark.parametrize(("source", "target", "side"), [("a " * 70, "a", "source"), ("a", "a " * 70, "target")])
def test_a_sentence_that_is_too_long_is_an_input_error(
    model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str, side: str
) -> None:
    with pytest.raises(InputError, match=rf"^{side}: \d+ tokens, the model takes at most 64; shorten it$"):
        attend_pair(model, tokenizer, source, target)


def test_the_greatest_length_counts_the_end_symbol(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    model.max_length = len(tokenizer.encode(SOURCE)) + 1
    assert attend_pair(model, tokenizer, SOURCE, SOURCE).stacks
    model.max_length -= 1
    with pytest.raises(InputError, match=f"the model takes at most {model.max_length}"):
        attend_pair(model, tokenizer, SOURCE, "")


def test_json_keeps_five_digits_and_shows_masked_cells_as_null(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = attend_pair(model, tokenizer, SOURCE, TARGET)
    plain = json.loads(json.dumps(to_json(maps), allow_nan=False))
    assert (plain["source"], plain["target"]) == (SOURCE, TARGET)
    stacks = plain["stacks"]
    assert set(stacks) == {"encoder", "decoder", "cross"}
    for name, stack in plain["stacks"].items():
        expected = maps.stacks[name]
        assert (tuple(stack["rows"]), tuple(stack["columns"])) == (expected.rows, expected.columns)
        numbers = [[[[w or 0.0 for w in row] for row in head] for head in layer] for layer in stack["weights"]]
        torch.testing.assert_close(torch.tensor(numbers), expected.weights, rtol=5e-5, atol=0.0)
    decoder = plain["stacks"]["decoder"]["weights"][0][0]
    assert decoder[0][1:] == [None] * (len(decoder) - 1)
