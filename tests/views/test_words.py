"""A sentence pair as tokens, pieces and words."""

import pytest
import torch

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.links.tokens import over_words, prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.attend import view_attention
from transformer_mt.views.maps import attend_pair
from transformer_mt.views.serialise import to_arrays

SOURCE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
TARGET = "Can you help me translate this sentence?"


def test_a_side_has_its_words_and_its_special_symbol(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    pair = prepare_pair(model, tokenizer, SOURCE, TARGET)
    assert pair.source.words == (
        *["Kannst", "du", "mir", "helfen", ",", "diesen", "Satz", "zu", "übersetzen", "?"],
        "</s>",
    )
    assert pair.read.words == ("<s>", *["Can", "you", "help", "me", "translate", "this", "sentence", "?"])
    assert pair.written.words == (*pair.read.words[1:], "</s>")
    assert (pair.source.ids[-1], pair.read.ids[0], pair.written.ids[-1]) == (EOS, BOS, EOS)
    assert pair.read.ids[1:] == pair.written.ids[:-1]


@pytest.mark.parametrize("side", ["source", "read", "written"])
def test_the_pieces_of_a_word_spell_it(side: str, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    tokens = getattr(prepare_pair(model, tokenizer, SOURCE, TARGET), side)
    assert len(tokens.ids) == len(tokens.pieces) == len(tokens.words_of_piece) > len(tokens.words)
    spelled = ["" for _ in tokens.words]
    for piece, (word,) in zip(tokens.pieces, tokens.words_of_piece, strict=True):
        spelled[word] += piece.replace("▁", "")
    assert spelled == list(tokens.words)


def test_empty_texts_leave_the_special_symbols(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    pair = prepare_pair(model, tokenizer, "", "")
    assert (pair.source.words, pair.read.words, pair.written.words) == (("</s>",), ("<s>",), ("</s>",))


def test_words_take_the_mean_of_their_rows_and_the_sum_of_their_columns(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    tokens = prepare_pair(model, tokenizer, SOURCE, TARGET)
    rows, columns = tokens.sides("cross")
    weights = torch.rand(2, 3, len(rows.pieces), len(columns.pieces)).softmax(dim=-1)
    sides = (side.membership() for side in (rows, columns))
    merged = torch.from_numpy(over_words(weights.numpy(), *sides))
    assert merged.shape == (2, 3, len(rows.words), len(columns.words))
    torch.testing.assert_close(merged.sum(dim=-1), torch.ones(merged.shape[:3]))
    row, column = rows.words.index("translate"), columns.words.index("übersetzen")
    row_pieces = [i for i, word in enumerate(rows.words_of_piece) if word == (row,)]
    column_pieces = [i for i, word in enumerate(columns.words_of_piece) if word == (column,)]
    assert min(len(row_pieces), len(column_pieces)) > 1
    expected = weights[:, :, row_pieces][..., column_pieces].sum(-1).mean(-1)
    torch.testing.assert_close(merged[:, :, row, column], expected)


def test_a_word_may_attend_where_any_of_its_pieces_may(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = attend_pair(model, tokenizer, SOURCE, TARGET)
    rows, _ = maps.tokens.sides("decoder")
    # The last piece of a word reads the pieces before it, which are the word itself.
    several = [rows.words_of_piece.count((word,)) > 1 for word in range(len(rows.words))]
    reach = maps.by_words().stacks["decoder"].mask[0].sum(dim=1)
    assert reach.tolist() == [word + 1 + more for word, more in enumerate(several)]


def test_maps_over_words_have_rows_that_sum_to_one(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = attend_pair(model, tokenizer, SOURCE, TARGET)
    merged = maps.by_words()
    for name, stack in merged.stacks.items():
        assert (stack.rows, stack.columns) == tuple(side.words for side in maps.tokens.sides(name))
        assert stack.weights.shape == (*maps.stacks[name].weights.shape[:2], len(stack.rows), len(stack.columns))
        torch.testing.assert_close(stack.weights.sum(-1), torch.ones(stack.weights.shape[:3]))
        assert not stack.weights[:, :, ~stack.mask[0]].any()


def test_arrays_are_what_numpy_can_save(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = attend_pair(model, tokenizer, SOURCE, TARGET)
    arrays = to_arrays(view_attention(model, prepare_pair(model, tokenizer, SOURCE, TARGET), words=False))
    assert {f"{stack}.{part}" for stack in maps.stacks for part in ("weights", "mask", "rows", "columns")} < set(arrays)
    assert not any(array.dtype.hasobject for array in arrays.values())
    assert tuple(arrays["cross.columns"]) == maps.stacks["cross"].columns


def test_rows_over_words_that_share_a_piece_sum_to_one(model: Seq2Seq) -> None:
    tokenizer = Tokenizer.train(["老师爱音乐", "学生看见大海"] * 9, TokenizerConfig(kind="bpe", vocabulary_size=9_999))
    maps = attend_pair(model, tokenizer, "老师爱音乐。", "Die Lehrerin.")
    assert max(map(len, maps.tokens.source.words_of_piece)) > 1
    merged = maps.by_words().stacks["cross"]
    assert merged.columns == (*"老师爱音乐。", "</s>")
    torch.testing.assert_close(merged.weights.sum(-1), torch.ones(merged.weights.shape[:3]))
    first, second = merged.weights[..., 0], merged.weights[..., 1]
    torch.testing.assert_close(first, second)  # they share their only piece
