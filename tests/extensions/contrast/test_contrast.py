"""Why a word and not another: the difference of two logits, attributed to words by gradient and by erasure."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
import torch
from support.sentences import small_tokenizer
from support.tiny import varied_model
from support.variants import REPRESENTATIVES, VARIANTS, Variant, quick_for_some

from transformer_mt.extensions.contrast.contrast import (
    Attribution,
    Contrast,
    contrast_lines,
    contrast_pieces,
    contrast_words,
    in_words,
)
from transformer_mt.ground.errors import InputError
from transformer_mt.links.tokens import PairTokens, prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.methods import METHODS
from transformer_mt.views.serialise import to_json

SOURCE, TARGET = "Der alte Mann liest.", "The old man is reading."


@pytest.fixture
def pair(model: Seq2Seq, tokenizer: Tokenizer) -> PairTokens:
    return prepare_pair(model, tokenizer, SOURCE, TARGET)


def difference(model: Seq2Seq, source: Sequence[int], read: Sequence[int], a: int, b: int) -> float:
    """z_a − z_b of the token after those read."""
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([read]))[0, -1]
    return float(logits[a] - logits[b])


@pytest.mark.usefixtures("float64")
@quick_for_some(VARIANTS, REPRESENTATIVES)
def test_erasure_is_the_fall_of_the_difference_without_the_word(variant: Variant) -> None:
    tokenizer = small_tokenizer()
    model = varied_model(*variant, vocabulary=tokenizer.size)
    tokens = prepare_pair(model, tokenizer, SOURCE, TARGET)
    found = contrast_words(model, tokenizer, tokens, "is", "children")
    assert (found.token, found.other_token) == ("▁i", "▁")
    a, b = tokenizer.ids([found.token, found.other_token])
    ratio = math.log(found.probability / found.other_probability)
    assert ratio == pytest.approx(found.difference)
    row = tokens.written.pieces.index(found.token)
    source, read = [*tokens.source.ids], [*tokens.read.ids[: row + 1]]
    whole = difference(model, source, read, a, b)
    assert found.difference == pytest.approx(whole)
    for side, stack in ((found.from_source, "cross"), (found.from_prefix, "decoder")):
        ids, owners = (source, tokens.source) if stack == "cross" else (read, tokens.read)
        first = 0 if stack == "cross" else 1
        assert side.words == owners.words[first : first + len(side.words)]
        for word, fall in enumerate(side.erasure.tolist(), start=first):
            left = [token for place, token in enumerate(ids) if word not in owners.words_of_piece[place]]
            both = (left, read) if stack == "cross" else (source, left)
            assert fall == pytest.approx(whole - difference(model, *both, a, b))
        assert side.gradient is None or side.gradient.isfinite().all()
    assert found.from_source.erasure.abs().max() > 1e-3
    assert found.from_prefix.words == ("The", "old", "man")


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_gradient_is_the_difference_of_both_tokens_gradients(kind: str) -> None:
    tokenizer = small_tokenizer()
    model = varied_model(f"model.kind={kind}", vocabulary=tokenizer.size)
    tokens = prepare_pair(model, tokenizer, SOURCE, TARGET)
    found = contrast_words(model, tokenizer, tokens, "man", "children")
    other = prepare_pair(model, tokenizer, SOURCE, "The old children is reading.")
    at = tokens.written.pieces.index(found.token)
    assert tokens.written.ids[:at] == other.written.ids[:at]
    for side, stack, first in ((found.from_source, "cross", 0), (found.from_prefix, "decoder", 1)):
        mine, theirs = (
            METHODS["gradient"]().maps(model, each, stacks=[stack]).stacks[stack].weights[0, 0, at]
            for each in (tokens, other)
        )
        columns = torch.from_numpy(tokens.sides(stack)[1].membership()).double()
        last = len(mine) if stack == "cross" else at + 1
        expected = columns[:, :last] @ (mine[:last] - theirs[:last])
        assert side.gradient is not None
        torch.testing.assert_close(side.gradient, expected[first : first + len(side.words)])
        assert side.gradient.abs().max() > 1e-4


@pytest.mark.parametrize(
    ("word", "other", "tokens", "prefix"),
    [
        ("THE", "Can", ("T", "C"), ""),
        ("old", "  die  ", ("▁", "▁die"), "The"),
        ("is", "it now", ("s", "t"), "The old man i"),
        (".", "?", (".", "?"), "The old man is reading"),
        ("</s>", "?", ("</s>", "?"), "The old man is reading."),
        ("is", "</s>", ("▁i", "</s>"), "The old man"),
    ],
)
def test_tokens_are_the_first_that_differ(
    word: str, other: str, tokens: tuple[str, str], prefix: str, model: Seq2Seq, tokenizer: Tokenizer, pair: PairTokens
) -> None:
    found = contrast_words(model, tokenizer, pair, word, other)
    assert (found.token, found.other_token, found.prefix, found.target) == (*tokens, prefix, TARGET)


def test_start_of_a_word_is_a_word_of_its_own(model: Seq2Seq, tokenizer: Tokenizer, pair: PairTokens) -> None:
    found = contrast_words(model, tokenizer, pair, "reading", "playing")
    assert found.from_prefix.words == ("The", "old", "man", "is", "▁")
    assert contrast_words(model, tokenizer, pair, "man", "men").from_prefix.words == ("The", "old", "m")


@pytest.mark.parametrize(
    ("word", "other", "prefix", "place"),
    [
        ("old", " ", None, "other: empty"),
        ("▁m", "▁i", ["</s>"], "prefix: '</s>' is not a text token"),
        ("zz", "▁i", [], "word: 'zz' is not a text token"),
        ("▁m", "<pad>", [], "other: '<pad>' is not a text token"),
        ("▁m", "▁m", [], "other: '▁m' is the word itself"),
        ("▁m", "▁i", ["▁m"] * 64, "prefix: 65 tokens, the model takes at most 64"),
    ],
)
def test_wrong_words_and_tokens_are_refused(
    word: str,
    other: str,
    prefix: list[str] | None,
    place: str,
    model: Seq2Seq,
    tokenizer: Tokenizer,
    pair: PairTokens,
) -> None:
    contrasted = contrast_words if prefix is None else partial(contrast_pieces, prefix=prefix)
    with pytest.raises(InputError) as refused:
        contrasted(model, tokenizer, pair, word, other)
    assert str(refused.value).startswith(place)


def test_tokens_after_a_prefix_match_words(model: Seq2Seq, tokenizer: Tokenizer, pair: PairTokens) -> None:
    by_word = contrast_words(model.train(), tokenizer, pair, "man", "men")
    assert model.training
    prefix = tokenizer.pieces(tokenizer.encode("The old man is")[:7])
    nothing = prepare_pair(model, tokenizer, SOURCE, "")
    by_token = contrast_pieces(model, tokenizer, nothing, by_word.token, by_word.other_token, prefix=prefix)
    texts = {"word": by_word.token, "other": by_word.other_token}
    assert to_json(by_token) | {"target": TARGET} == to_json(by_word) | texts
    assert TARGET.startswith(by_token.target)
    end = contrast_pieces(model, tokenizer, pair, "</s>", "▁m", prefix=["T", "he"])
    assert (end.token, end.target) == ("</s>", "The")
    half = contrast_pieces(model, tokenizer, pair, "<0xA4>", "▁m", prefix=["▁m", "<0xC3>"])
    assert half.from_prefix.words == ("▁m", "<0xC3>")
    contrast_pieces(model, tokenizer, pair, "▁m", "▁i", prefix=["▁m"] * 63)  # the longest


FOUND = Contrast(
    source="Der Hund",
    target="A dog",
    word="dog",
    other="cat",
    prefix="A",
    token="▁dog",
    other_token="▁cat",
    probability=0.75,
    other_probability=0.001234,
    difference=6.0,
    from_source=Attribution(("Der", "Hund"), torch.tensor([-0.001, 2.0]), torch.tensor([-1.5, 7.0])),
    from_prefix=Attribution(("A",), torch.tensor([0.25]), torch.tensor([3.0])),
)


def test_lines_have_a_row_per_word_and_the_answer() -> None:
    assert [*contrast_lines(FOUND, width=100)] == [
        "Why ▁dog and not ▁cat?",
        "",
        "source  gradient  erasure",
        "Der         0.00    -1.50",
        "Hund        2.00     7.00",
        "",
        "before  gradient  erasure",
        "A           0.25     3.00",
        "",
        "A number is what the word adds to ln p(▁dog) − ln p(▁cat); below zero, it speaks for ▁cat. gradient:",
        "gradient × input of this difference; erasure: how far it falls when the word is taken out.",
        "",
        'After "A", ▁dog has probability 0.75 and ▁cat 0.00123: 403 to 1; without Hund, 1 to 2.72.',
    ]


def test_words_name_the_word_that_speaks_most_for_the_token() -> None:
    prefix = replace(FOUND.from_prefix, erasure=torch.tensor([8.0]))
    assert in_words(replace(FOUND, from_prefix=prefix)).endswith(": 403 to 1; without A, 1 to 7.39.")
    none = replace(FOUND.from_source, erasure=torch.tensor([-1.0, 0.0]))
    start = replace(FOUND, prefix="", from_source=none, from_prefix=Attribution((), None, torch.zeros(0)))
    assert in_words(start) == "At the start, ▁dog has probability 0.75 and ▁cat 0.00123: 403 to 1."
    for value, odds in ((-3.0, "1 to 20.1"), (0.0, "1 to 1"), (9.0, "8,100 to 1"), (1e9, "1.01e+304 to 1")):
        assert in_words(replace(start, difference=value)).endswith(f": {odds}.")


def test_json_has_all_fields_and_null_without_gradients() -> None:
    found = replace(FOUND, from_source=replace(FOUND.from_source, gradient=None))
    assert "source  erasure" in [*contrast_lines(found, width=80)]
    assert to_json(found) == vars(found) | {
        "from_source": {"words": ["Der", "Hund"], "gradient": None, "erasure": [-1.5, 7.0]},
        "from_prefix": {"words": ["A"], "gradient": [0.25], "erasure": [3.0]},
        "in_words": in_words(found),
    }


def test_texts_are_escaped() -> None:
    evil = Attribution(("\x1b[2J", "\u202eevil"), None, torch.tensor([9.0, 1.0]))
    found = replace(FOUND, token="\x9b1m", prefix="\u202ea", from_source=evil)
    text = "\n".join(contrast_lines(found, width=80))
    assert not {"\x1b", "\u202e", "\x9b"} & set(text)
    assert "␛[2J" in text
