"""Every method of attribution, on every model."""

import json

import pytest
import torch
from support.tiny import tiny_model
from support.variants import RECURRENT, VARIANTS, Variant

from transformer_mt.cli.attend import DEFAULT_THRESHOLD
from transformer_mt.errors import InputError
from transformer_mt.inspection import gradients
from transformer_mt.inspection.contributions import roll_out
from transformer_mt.inspection.erasure import erase
from transformer_mt.inspection.graph import adjacency
from transformer_mt.inspection.matrices import layer_matrices
from transformer_mt.inspection.methods import METHODS
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.recording import record_attention

SOURCE, TARGET = "Der Satz.", "The book."
ONE_LAYER = ("model.encoder_layers=1", "model.decoder_layers=1")
SIGNED = ["gradient", "integrated", "erasure"]

# Those of the decoder and integrated gradients go the same ways again, which takes time.
QUICK = ["weights", "values", "rollout", "gradient", "erasure"]

every_method = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes and signs do not need complete rows."""
    monkeypatch.setattr(gradients, "FEWEST_POINTS", 2)
    monkeypatch.setattr(gradients, "MOST_POINTS", 2)


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_every_method_that_applies_gives_finite_matrices_over_pieces_and_words(
    variant: Variant, tokenizer: Tokenizer
) -> None:
    model = tiny_model(*variant, *ONE_LAYER, vocabulary=tokenizer.size)
    for name in QUICK:
        method = METHODS[name]
        if not method().applies_to(model):
            assert RECURRENT in variant
            continue
        maps = method().maps(model, tokenizer, "Satz.", "book.", stacks=["encoder", "cross"])
        assert "cross" in maps.stacks, name
        words = maps.by_words()
        for stack, found in maps.stacks.items():
            rows, columns = maps.tokens.sides(stack)
            assert (found.rows, found.columns) == (rows.pieces, columns.pieces)
            assert found.weights.shape[2:] == found.mask.shape[1:] == (len(rows.pieces), len(columns.pieces))
            assert not found.weights[:, :, ~found.mask[0]].any()
            assert words.stacks[stack].weights.shape[2:] == (len(rows.words), len(columns.words))
            assert words.stacks[stack].weights.isfinite().all()
            assert found.weights.isfinite().all()
            assert not found.weights.requires_grad
            assert not method.whole or found.weights.shape[:2] == (1, 1)
        json.dumps(words.to_json(), allow_nan=False)
        assert not any(array.dtype.hasobject for array in maps.arrays().values())


@every_method
def test_numbers_are_below_zero_where_the_method_is_signed_alone(
    name: str, model: Seq2Seq, tokenizer: Tokenizer
) -> None:
    cross = METHODS[name]().maps(model, tokenizer, SOURCE, TARGET).stacks["cross"]
    assert bool((cross.weights < 0.0).any()) == (name in SIGNED)


@every_method
def test_the_graph_of_every_method_has_edges_by_default(name: str, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = METHODS[name]().maps(model, tokenizer, SOURCE, TARGET)
    for matrix in layer_matrices(maps, method=name):
        assert all(adjacency(matrix, threshold=DEFAULT_THRESHOLD).out_degrees)


@every_method
def test_only_the_stacks_that_are_asked_for_are_computed(name: str, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    method = METHODS[name]()
    every = method.maps(model, tokenizer, SOURCE, TARGET)
    assert set(every.stacks) == ({"decoder", "cross"} if name in SIGNED else {"encoder", "decoder", "cross"})
    alone = method.maps(model, tokenizer, SOURCE, TARGET, stacks=["cross"])
    assert list(alone.stacks) == ["cross"]
    torch.testing.assert_close(alone.stacks["cross"].weights, every.stacks["cross"].weights)
    assert list(method.maps(model, tokenizer, SOURCE, TARGET, stacks=["decoder"]).by_words().stacks) == ["decoder"]


@every_method
def test_a_sentence_that_is_too_long_is_an_input_error(name: str, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match=r"^SENTENCE: \d+ tokens, the model takes at most 64; shorten it$"):
        METHODS[name]().maps(model, tokenizer, "a " * 70, "a")


@every_method
def test_the_model_trains_on_afterwards(name: str, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    model.train()
    first, second = (METHODS[name]().maps(model, tokenizer, SOURCE, TARGET) for _ in range(2))
    assert model.training
    torch.testing.assert_close(first.stacks["cross"].weights, second.stacks["cross"].weights)


def test_masked_heads_add_nothing(tokenizer: Tokenizer) -> None:
    model = tiny_model("model.attention.head_mask=['cross.1.1', 'cross.2.2']", vocabulary=tokenizer.size)
    maps = METHODS["values"]().maps(model, tokenizer, SOURCE, TARGET)
    added = maps.stacks["cross"].weights.flatten(2).any(dim=-1)
    assert added.tolist() == [[False, True, True], [True, False, True]]


def test_rollout_of_a_recurrent_model_is_refused_with_the_reason(tokenizer: Tokenizer) -> None:
    model = tiny_model(RECURRENT, vocabulary=tokenizer.size)
    message = (
        "^rollout: it multiplies the weights of a Transformer's layers, and this model is recurrent; "
        "choose another method, such as values$"
    )
    with pytest.raises(InputError, match=message):
        METHODS["rollout"]().maps(model, tokenizer, SOURCE, TARGET)


def test_rollout_is_that_of_the_weights_of_the_pair(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = METHODS["rollout"]().maps(model, tokenizer, SOURCE, TARGET)
    with evaluating(model), record_attention(model) as recording:
        model(*maps.tokens.inputs(torch.device("cpu")))
    for stack, matrix in roll_out(recording).items():
        torch.testing.assert_close(maps.stacks[stack].weights[0, 0], matrix.clone())


@pytest.mark.parametrize("name", ["gradient", "integrated"])
@pytest.mark.parametrize("stack", ["decoder", "cross"])
def test_words_sum_the_parts_of_ln_p_over_rows_and_columns(
    name: str, stack: str, model: Seq2Seq, tokenizer: Tokenizer
) -> None:
    maps = METHODS[name]().maps(model, tokenizer, SOURCE, TARGET)
    rows, columns = maps.tokens.sides(stack)
    expected = torch.zeros(len(rows.words), len(columns.words))
    for row, word in enumerate(rows.word_of_piece):
        for column, other in enumerate(columns.word_of_piece):
            expected[word, other] += maps.stacks[stack].weights[0, 0, row, column]
    assert len(rows.words) < len(rows.pieces)
    torch.testing.assert_close(maps.by_words().stacks[stack].weights[0, 0], expected)


@pytest.mark.parametrize("stack", ["decoder", "cross"])
def test_erasing_a_word_takes_all_its_pieces_out_at_once(stack: str, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = METHODS["erasure"]().maps(model, tokenizer, SOURCE, TARGET)
    rows, columns = maps.tokens.sides(stack)
    found, pieces = maps.by_words().stacks[stack].weights[0, 0], maps.stacks[stack].weights[0, 0]
    for word in range(len(columns.words)):
        part = frozenset(place for place, other in enumerate(columns.word_of_piece) if other == word)
        falls = erase(model, maps.tokens, [part], stack=stack)[:, 0]
        torch.testing.assert_close(found[:, word], rows.membership() @ falls)
        if len(part) == 1:
            torch.testing.assert_close(pieces[:, min(part)], falls.clone())
    assert max(map(columns.word_of_piece.count, range(len(columns.words)))) > 1


def test_erasure_says_nothing_of_the_symbol_that_a_target_begins_with(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = METHODS["erasure"]().maps(model, tokenizer, SOURCE, TARGET)
    for decoder in (maps.stacks["decoder"], maps.by_words().stacks["decoder"]):
        assert [row[0] for row in decoder.matrix(0, 0)] == [None] * len(decoder.rows)
        assert decoder.mask[0, -1, 1:].all()
