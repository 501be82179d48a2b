"""The maps of one sentence pair over tokens and over words."""

import pytest
import torch

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.links.tokens import prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.text.words import words
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.maps import AttentionMaps, attend_pair
from transformer_mt.views.serialise import to_json

SOURCE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
TARGET = "Can you help me translate this sentence?"


@pytest.fixture
def maps(model: Seq2Seq, tokenizer: Tokenizer) -> AttentionMaps:
    return attend_pair(model, tokenizer, SOURCE, TARGET)


def test_sides_have_tokens_words_and_special_symbol(maps: AttentionMaps, tokenizer: Tokenizer) -> None:
    source, read, written = maps.tokens.source, maps.tokens.read, maps.tokens.written
    assert source.words == (*words(SOURCE), "</s>")
    assert read.words == ("<s>", *words(TARGET))
    assert written.words == (*read.words[1:], "</s>")
    assert source.ids == (*tokenizer.encode(SOURCE), EOS)
    assert (read.ids, written.ids) == ((BOS, *tokenizer.encode(TARGET)), (*tokenizer.encode(TARGET), EOS))
    for side in (source, read, written):
        assert side.pieces[1:-1] == tuple(tokenizer.pieces(side.ids[1:-1]))
        assert [(word, "".join(pieces).replace("▁", "")) for word, pieces in side.by_words()] == [
            (word, word) for word in side.words
        ]


def test_rows_sum_to_one_and_only_the_future_is_masked(maps: AttentionMaps) -> None:
    assert list(maps.stacks) == ["encoder", "decoder", "cross"]
    for over, labels in ((maps, "pieces"), (maps.by_words(), "words")):
        for name, stack in over.stacks.items():
            assert (stack.rows, stack.columns) == tuple(getattr(side, labels) for side in maps.tokens.sides(name))
            assert stack.weights.shape == (len(stack.mask), 5, len(stack.rows), len(stack.columns))
            torch.testing.assert_close(stack.weights.sum(-1), torch.ones(stack.weights.shape[:3]))
            assert not stack.weights[:, :, ~stack.mask[0]].any()
            assert stack.mask.all() == (name != "decoder")
    decoder = maps.stacks["decoder"]
    assert torch.equal(decoder.mask, torch.ones_like(decoder.mask).tril())
    # The last token of a word reads its earlier tokens, part of the word itself.
    rows = maps.tokens.written
    several = [rows.words_of_piece.count((word,)) > 1 for word in range(len(rows.words))]
    reach = maps.by_words().stacks["decoder"].mask[0].sum(dim=1)
    assert reach.tolist() == [word + 1 + more for word, more in enumerate(several)]


def test_rows_of_words_that_share_a_token_sum_to_one(model: Seq2Seq) -> None:
    tokenizer = Tokenizer.train(["老师爱音乐", "学生看见大海"] * 9, TokenizerConfig(kind="bpe", vocabulary_size=9_999))
    maps = attend_pair(model, tokenizer, "老师爱音乐。", "Die Lehrerin.")
    assert max(map(len, maps.tokens.source.words_of_piece)) > 1
    merged = maps.by_words().stacks["cross"]
    assert merged.columns == (*"老师爱音乐。", "</s>")
    torch.testing.assert_close(merged.weights.sum(-1), torch.ones(merged.weights.shape[:3]))
    torch.testing.assert_close(merged.weights[..., 0], merged.weights[..., 1])  # they share their only token


def test_empty_sentences_have_maps_of_the_end_symbol(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    maps = attend_pair(model, tokenizer, "", "")
    assert maps.stacks["cross"].rows == maps.stacks["cross"].columns == ("</s>",)
    assert maps.stacks["cross"].weights.flatten().tolist() == [1.0] * 15
    assert maps.tokens.read.words == ("<s>",)


@pytest.mark.parametrize(("source", "target", "side"), [(SOURCE, "a", "source"), ("a", SOURCE, "target")])
def test_sentence_that_is_too_long_is_an_input_error(
    model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str, side: str
) -> None:
    model.max_length = len(tokenizer.encode(SOURCE)) + 1
    assert prepare_pair(model, tokenizer, source, target)
    model.max_length -= 1
    message = rf"^{side}: {model.max_length + 1} tokens, the model takes at most {model.max_length}; shorten it$"
    with pytest.raises(InputError, match=message):
        prepare_pair(model, tokenizer, source, target)


def test_json_has_null_for_masked_cells(maps: AttentionMaps) -> None:
    first, *_ = to_json(maps)["stacks"]["decoder"]["weights"][0][0]
    assert first[1:] == [None] * (len(first) - 1)
