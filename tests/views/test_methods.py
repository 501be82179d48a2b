"""Every attribution method on every model, and their ingredients."""

import json
from collections.abc import Sequence

import pytest
import torch
from support.pairs import pair_tokens
from support.tiny import VOCABULARY, tiny_model, varied_model
from support.variants import RECURRENT, REPRESENTATIVES, VARIANTS, Variant, quick_for_some
from torch import Tensor, nn

from transformer_mt.cli.attend import MatrixOptions
from transformer_mt.ground.head_names import HeadName
from transformer_mt.links.tokens import PairTokens, prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views import methods
from transformer_mt.views.attend import adjacency, layer_matrices
from transformer_mt.views.methods import METHODS, ErasedParts, erase, gradient_times_input

SOURCE, TARGET = "Der Satz.", "The book."
ONE_LAYER = ("model.encoder_layers=1", "model.decoder_layers=1")
SIGNED = ["gradient", "erasure"]

every_method = pytest.mark.parametrize("name", METHODS)


@quick_for_some(VARIANTS, REPRESENTATIVES)
def test_applicable_methods_give_finite_matrices(variant: Variant, tokenizer: Tokenizer) -> None:
    model = tiny_model(*variant, *ONE_LAYER, vocabulary=tokenizer.size)
    for name, method in METHODS.items():
        if not method().applies_to(model):
            assert RECURRENT in variant
            continue
        maps = method().maps(model, prepare_pair(model, tokenizer, "Satz.", "book."), stacks=["encoder", "cross"])
        assert "cross" in maps.stacks, name
        for stack, found in maps.stacks.items():
            assert found.weights.shape[2:] == found.mask.shape[1:] == (len(found.rows), len(found.columns))
            assert not found.weights[:, :, ~found.mask[0]].any()
            assert maps.by_words().stacks[stack].weights.isfinite().all()
            assert found.weights.isfinite().all()
            assert not found.weights.requires_grad
            assert not method.whole or found.weights.shape[:2] == (1, 1)


@every_method
def test_methods_compute_requested_stacks_and_restore_training_mode(
    name: str, model: Seq2Seq, tokenizer: Tokenizer
) -> None:
    method, pair = METHODS[name](), prepare_pair(model, tokenizer, SOURCE, TARGET)
    model.train()
    every = method.maps(model, pair)
    assert set(every.stacks) == ({"decoder", "cross"} if name in SIGNED else {"encoder", "decoder", "cross"})
    for stack in ("cross", "decoder"):
        only = method.maps(model, pair, stacks=[stack])
        assert list(only.stacks) == [stack]
        for found, expected in ((only, every), (only.by_words(), every.by_words())):
            torch.testing.assert_close(found.stacks[stack].weights, expected.stacks[stack].weights)
    assert model.training
    assert bool((every.stacks["cross"].weights < 0.0).any()) == (name in SIGNED)
    for matrix in layer_matrices(every):
        assert all(adjacency(matrix, threshold=MatrixOptions().threshold).out_degrees)


def test_heads_that_are_off_have_no_numbers(tokenizer: Tokenizer) -> None:
    pruned = ["cross.1.1", "cross.1.2", "cross.1.3", "cross.2.2"]
    model = tiny_model(f"model.attention.head_mask={json.dumps(pruned)}", vocabulary=tokenizer.size)
    for name, method in METHODS.items():
        maps = method().maps(model, prepare_pair(model, tokenizer, SOURCE, TARGET))
        assert all(found.weights.isfinite().all() for found in maps.stacks.values())
        if not method.whole:
            cross = maps.stacks["cross"]
            assert cross.weights.flatten(2).any(dim=-1).tolist() == [[False] * 3, [True, False, True]], name
            assert cross.heads("cross") == [HeadName("cross", 2, 1), HeadName("cross", 2, 3)]


@pytest.mark.parametrize("stack", ["decoder", "cross"])
def test_words_sum_gradients_over_rows_and_columns(stack: str, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = METHODS["gradient"]().maps(model, prepare_pair(model, tokenizer, SOURCE, TARGET))
    rows, columns = maps.tokens.sides(stack)
    of_rows, of_columns = (torch.from_numpy(side.membership()) for side in (rows, columns))
    assert len(rows.words) < len(rows.pieces)
    expected = of_rows @ maps.stacks[stack].weights[0, 0].to(of_rows.dtype) @ of_columns.T
    torch.testing.assert_close(maps.by_words().stacks[stack].weights[0, 0], expected, check_dtype=False)


@pytest.mark.parametrize("stack", ["decoder", "cross"])
def test_erasing_a_word_removes_all_its_tokens(stack: str, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = METHODS["erasure"]().maps(model, prepare_pair(model, tokenizer, SOURCE, TARGET))
    rows, columns = maps.tokens.sides(stack)
    found = maps.by_words().stacks[stack].weights[0, 0]
    for word in range(len(columns.words)):
        part = [place for place, other in enumerate(columns.words_of_piece) if word in other]
        falls = erase(model, maps.tokens, taken_out(part, of=len(columns.pieces)), stack=stack)[:, 0]
        torch.testing.assert_close(found[:, word], torch.from_numpy(rows.membership()) @ falls)
    assert max(map(columns.words_of_piece.count, columns.words_of_piece)) > 1


def test_erasure_masks_the_begin_symbol(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = METHODS["erasure"]().maps(model, prepare_pair(model, tokenizer, SOURCE, TARGET))
    for decoder in (maps.stacks["decoder"], maps.by_words().stacks["decoder"]):
        assert not decoder.mask[0, :, 0].any()
        assert decoder.mask[0, -1, 1:].all()


# No token occurs twice, so a row of the table is one position in a sentence.
PAIR = pair_tokens([5, 7, 11], [8, 4])
STACKS = pytest.mark.parametrize("stack", ["cross", "decoder"])
UNTIED = "model.tied=none"


def columns(stack: str) -> tuple[int, ...]:
    return PAIR.sides(stack)[1].ids


def table_of(model: Seq2Seq, stack: str) -> nn.Embedding:
    side = model.source_embedding if stack == "cross" else model.target_embedding
    assert isinstance(side.table, nn.Embedding)
    return side.table


def log_probabilities(model: Seq2Seq, tokens: PairTokens) -> Tensor:
    source, read = tokens.inputs(model)
    with torch.no_grad():
        rows = model(source, read)[0].log_softmax(dim=-1)
    return rows[torch.arange(len(tokens.written.ids)), list(tokens.written.ids)]


@pytest.mark.usefixtures("float64")
@STACKS
@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_gradient_times_input_matches_finite_differences(kind: str, stack: str) -> None:
    model = tiny_model(f"model.kind={kind}", UNTIED)
    found = gradient_times_input(model, PAIR, stack=stack)
    table, step = table_of(model, stack), 1e-5
    for column, token in enumerate(columns(stack)):
        slopes = []
        for factor in (1.0 + step, (1.0 - step) / (1.0 + step), 1.0 / (1.0 - step)):
            with torch.no_grad():
                table.weight[token] *= factor
            slopes.append(log_probabilities(model, PAIR))
        torch.testing.assert_close(found[:, column], (slopes[0] - slopes[1]) / (2.0 * step), rtol=1e-6, atol=1e-8)
    assert found.abs().max() > 0.01


@pytest.mark.usefixtures("float64")
@STACKS
def test_shared_table_is_replaced_only_on_the_requested_side(stack: str) -> None:
    tied = tiny_model("model.tied=all")
    apart = tiny_model(UNTIED)
    apart.load_state_dict(tied.state_dict())
    found = gradient_times_input(tied, PAIR, stack=stack)
    torch.testing.assert_close(found, gradient_times_input(apart, PAIR, stack=stack))


SOURCE_IDS, TARGET_IDS = [5, 7, 11, 6, 9], [8, 4, 10]
IDS = pair_tokens(SOURCE_IDS, TARGET_IDS)


def taken_out(*parts: Sequence[int], of: int) -> ErasedParts:
    """The parts of a sentence of length `of`, given by token positions."""
    return torch.tensor([[place in part for place in range(of)] for part in parts])


def log_p(model: Seq2Seq, source: list[int], read: list[int], token: int) -> float:
    """ln p of the token after the tokens read."""
    with torch.no_grad():
        return float(model(torch.tensor([source]), torch.tensor([read]))[0, -1].log_softmax(dim=-1)[token])


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    "variant", ["model.attention.position=relative(2)", "model.attention.kind=linear", "model.kind=recurrent"]
)
@pytest.mark.parametrize(
    ("stack", "parts"), [("cross", [[0], [1, 2], [5], [0, 3, 4]]), ("decoder", [[1], [3], [1, 2]])]
)
def test_erasure_matches_a_sentence_without_the_part(variant: str, stack: str, parts: list[list[int]]) -> None:
    model = varied_model(variant, vocabulary=VOCABULARY)
    source, read, written = [*SOURCE_IDS, EOS], [BOS, *TARGET_IDS], [*TARGET_IDS, EOS]
    found = erase(model, IDS, taken_out(*parts, of=len(source if stack == "cross" else read)), stack=stack)
    for row, token in enumerate(written):
        whole = log_p(model, source, read[: row + 1], token)
        for column, part in enumerate(parts):
            sides = {"cross": source, "decoder": read[: row + 1]}
            sides[stack] = [token for place, token in enumerate(sides[stack]) if place not in part]
            assert float(found[row, column]) == pytest.approx(whole - log_p(model, *sides.values(), token))
    assert found[3].abs().max() > 1e-3
    assert stack == "cross" or not found[0].any()


@pytest.mark.usefixtures("float64")
def test_erasing_nothing_or_the_begin_symbol_changes_nothing() -> None:
    model = tiny_model()
    assert not erase(model, IDS, taken_out([0], of=4), stack="decoder").any()
    with_start, alone = erase(model, IDS, taken_out([0, 1], [1], of=4), stack="decoder").T
    torch.testing.assert_close(with_start, alone)
    assert not erase(model, IDS, taken_out([], of=6), stack="cross").any()


@pytest.mark.usefixtures("float64")
def test_fully_erased_source_gives_finite_numbers() -> None:
    alone = pair_tokens([], TARGET_IDS)
    assert erase(tiny_model(), alone, taken_out([0], of=1), stack="cross").isfinite().all()


@pytest.mark.usefixtures("float64")
def test_erasure_is_computed_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model, sizes = tiny_model(), []
    model.register_forward_pre_hook(lambda _, inputs: sizes.append(len(inputs[0])))
    parts = torch.eye(5, 6, dtype=torch.bool)
    whole = erase(model, IDS, parts, stack="cross")
    assert sizes == [1, 5]
    monkeypatch.setattr(methods, "BATCH_TOKENS", 13)
    torch.testing.assert_close(erase(model, IDS, parts, stack="cross"), whole)
    assert sizes[2:] == [1, 2, 2, 1]
