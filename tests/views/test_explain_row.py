"""Which row of which head is explained."""

from typing import Any

import pytest

from transformer_mt.errors import InputError
from transformer_mt.head_names import HeadName
from transformer_mt.links.tokens import prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.explain import find_heads, find_place


def place(tokenizer: Tokenizer, model: Seq2Seq, **options: Any) -> tuple[str, int, tuple[str, ...]]:
    tokens = prepare_pair(model, tokenizer, "Der Mann, der die Kinder grüßt.", "The old man, the one in it.")
    stacks, side, number, row = find_place(tokens, model, **{"word": None, "piece": 1, "stack": None, **options})
    return side.words[number], row, stacks


def test_a_word_is_looked_for_in_the_translation_then_in_the_source(tokenizer: Tokenizer, model: Seq2Seq) -> None:
    written, read = ("cross", "decoder"), ("encoder",)
    for word, stacks in {"old": written, "Kinder": read, "kinder": read, "OLD": written, "</s>": written}.items():
        found = place(tokenizer, model, word=word)
        assert (found[0].casefold(), found[2]) == (word.casefold(), stacks)
    assert place(tokenizer, model, word="3")[::2] == ("man", written)
    assert place(tokenizer, model, word="3", stack="encoder")[::2] == (",", read)
    assert place(tokenizer, model, word="The")[::2] == ("The", written)  # not `the`
    assert place(tokenizer, model, word="Der", stack="encoder")[0] == "Der"
    assert place(tokenizer, model, word="THE")[0] == "The"  # of several the first


def test_without_a_word_it_is_the_first_of_four_letters(tokenizer: Tokenizer, model: Seq2Seq) -> None:
    assert place(tokenizer, model, stack="encoder")[0] == "Mann"
    assert place(tokenizer, model)[0] == "The"  # none is as long
    tokens = prepare_pair(model, tokenizer, "…", "…")
    assert find_place(tokens, model, word=None, piece=1, stack=None)[3] == 0


def test_of_several_pieces_it_is_the_first_or_the_one_that_is_named(tokenizer: Tokenizer, model: Seq2Seq) -> None:
    tokens = prepare_pair(model, tokenizer, "Der Mann, der die Kinder grüßt.", "x").source
    rows = [row for row, (number,) in enumerate(tokens.words_of_piece) if tokens.words[number] == "grüßt"]
    assert len(rows) > 1
    assert place(tokenizer, model, word="grüßt")[1] == rows[0]
    assert place(tokenizer, model, word="grüßt", piece=2)[1] == rows[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"word": "odl"}, "word: there is no 'odl' in the translation or the source; did you mean old?"),
        ({"word": "Mann", "stack": "cross"}, "word: there is no 'Mann' in the translation; did you mean man?"),
        (
            {"word": "10", "stack": "encoder"},
            "word: there is no '10' in the source; choose one of Der, Mann, ,, der, die, Kinder, grüßt, ., </s>",
        ),
        ({"word": "0"}, "word: there is no '0' in the translation or the source; "),
        ({"word": "</s>", "piece": 2}, "piece: '</s>' has no piece 2; give a number from 1 to 1"),
        ({"word": "</s>", "piece": 0}, "piece: '</s>' has no piece 0; give a number from 1 to 1"),
        ({"stack": "crss"}, "stack: there is no 'crss'; did you mean cross?"),
    ],
)
def test_what_there_is_not_is_an_input_error(
    options: dict[str, Any], message: str, tokenizer: Tokenizer, model: Seq2Seq
) -> None:
    with pytest.raises(InputError) as raised:
        place(tokenizer, model, **options)
    assert str(raised.value).startswith(message)


def test_a_stack_whose_heads_are_all_gone_is_an_input_error(model: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.views.explain.head_names", lambda _: [HeadName("encoder", 1, 1)])
    message = "^stack: cross attention has no heads left in this model; choose another$"
    with pytest.raises(InputError, match=message):
        find_heads(model, ["cross"], layer=1, head=None)
