from dataclasses import replace

import pytest
import torch
from support.right_to_left import moved
from support.tiny import sentences, targets, tiny_model
from support.variants import RECURRENT, VARIANTS, Variant

from transformer_mt.extensions.lens.lens import GUESSES, Lens, decided_at, lens_lines, look_through
from transformer_mt.links.tokens import prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.models.transformer import Transformer
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.serialise import to_json

SOURCE, TARGET = "Der alte Mann liest ein gutes Buch.", "The old man reads."


@pytest.fixture
def lens(model: Seq2Seq, tokenizer: Tokenizer) -> Lens:
    return look_through(model.train(), tokenizer, prepare_pair(model, tokenizer, SOURCE, TARGET))


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_last_layer_matches_the_model(variant: Variant) -> None:
    model = tiny_model(*variant)
    source, target = sentences(5, 3), targets(7, 2)
    layers = model.layer_logits(target, model.start(source))
    assert len(layers) == (1 if RECURRENT in variant else 2)
    torch.testing.assert_close(layers[-1], model(source, target))


@pytest.mark.parametrize("residual", ["pre_norm", "post_norm"])
def test_layer_matches_a_model_without_later_layers(residual: str) -> None:
    model = tiny_model(f"model.residual={residual}")
    source, target = sentences(5), targets(7)
    first, _ = model.layer_logits(target, model.start(source))
    _, state = model.decode(target[:, :3], model.start(source))
    torch.testing.assert_close(model.layer_logits(target[:, 3:], state)[0], first[:, 3:])
    assert isinstance(model, Transformer)
    del model.decoder[1]
    torch.testing.assert_close(first, model(source, target))


def test_probabilities_belong_to_the_written_tokens(model: Seq2Seq, tokenizer: Tokenizer, lens: Lens) -> None:
    ids = torch.tensor([[*tokenizer.encode(TARGET), EOS]])
    source = torch.tensor([[*tokenizer.encode(SOURCE), EOS]])
    read = torch.cat((torch.tensor([[BOS]]), ids[:, :-1]), dim=1)
    assert model.training
    model.eval()
    following = model(source, read).softmax(dim=-1)
    torch.testing.assert_close(lens.probabilities[-1], following.gather(2, ids[:, :, None])[0, :, 0])
    best, guesses = following[0].topk(GUESSES)
    right = [bool(row[0] == token) for row, token in zip(guesses, ids[0], strict=True)]
    assert [layer is not None for layer in lens.decided] == right
    torch.testing.assert_close(lens.guess_probabilities[-1], best)
    for place, expected in enumerate(guesses.tolist()):
        assert list(lens.guesses[-1][place]) == tokenizer.pieces(expected)


def test_decided_layer_is_followed_only_by_correct_ones() -> None:
    likeliest = torch.tensor([[7, 7, 0, 7, 0], [7, 0, 7, 0, 7], [7, 7, 7, 0, 0]])
    assert decided_at(likeliest, torch.tensor([7, 7, 7, 7, 7])) == (1, 3, 2, None, None)


def test_word_is_decided_with_its_last_token(lens: Lens) -> None:
    lens = replace(lens, words=("abc", "d"), words_of_piece=((0,), (0,), (0,), (1,)))
    assert replace(lens, decided=(1, 3, 2, None)).words_decided == (3, None)
    assert replace(lens, decided=(1, None, 2, 1)).words_decided == (None, 1)


LIKELIEST = (("▁of", "▁a", "ing", "?"), ("▁the", "▁dog", "s", "."), ("▁The", "▁dog", "gy", "</s>"))
PROBABILITIES = ((0.125, 0.5, 0.25, 1.0), (0.5, 0.25, 0.004, 0.5), (0.996, 0.75, 0.5, 0.25))


def drawn(*decided: int | None) -> Lens:
    """Three layers over the tokens of *The doggy*, decided in these layers."""
    guesses = tuple(tuple((piece, "▁other") for piece in layer) for layer in LIKELIEST)
    numbers = torch.tensor(PROBABILITIES)[:, :, None] * torch.tensor([1.0, 0.5])
    pieces, words = ("▁The", "▁dog", "gy", "</s>"), ("The", "doggy", "</s>")
    owners = ((0,), (1,), (1,), (2,))
    return Lens("Das Hündchen", "The doggy", pieces, words, owners, guesses, numbers, numbers[:, :, 0], decided)


def test_json_has_the_guesses_of_each_position_in_each_layer() -> None:
    found = to_json(drawn(3, 2, None, 1))
    assert (found["source"], found["target"], found["layers"]) == ("Das Hündchen", "The doggy", 3)
    assert [(one["word"], one["decided"]) for one in found["words"]] == [("The", 3), ("doggy", None), ("</s>", 1)]
    first, *_, last = found["positions"]
    assert (first["token"], first["words"]) == ("▁The", [0])
    assert [one["decided"] for one in found["positions"]] == [3, 2, None, 1]
    assert [layer["probability"] for layer in last["layers"]] == [1.0, 0.5, 0.25]
    assert last["layers"][1]["guesses"] == [[".", 0.5], ["▁other", 0.25]]


def printed(lens: Lens, *, width: int) -> list[str]:
    return [*map(str, lens_lines(lens, width=width))]


def test_table_marks_decided_layers_with_a_star() -> None:
    assert printed(drawn(3, 2, None, 1), width=80) == [
        "writes  layer 1   layer 2    layer 3",
        "▁The     .12 ▁of   .50 ▁the  *1.0 ▁The",
        "▁dog     .50 ▁a   *.25 ▁dog  *.75 ▁dog",
        "gy       .25 ing   .00 s      .50 gy",
        "</s>    *1.0 ?    *.50 .     *.25 </s>",
        "",
        "decided from layer 1 on: </s>",
        "decided from layer 3 on: The",
        "not the model's own choice: doggy",
    ]


@pytest.mark.parametrize(("width", "blocks"), [(39, 1), (38, 2), (27, 3)])
def test_layers_that_do_not_fit_continue_below(width: int, blocks: int) -> None:
    lines = printed(drawn(3, 2, 2, 1), width=width)
    tables = [table.split("\n") for table in "\n".join(lines).split("\n\n")[:-1]]
    assert len(tables) == blocks
    assert "".join(table[0] for table in tables).count("layer") == 3
    for table in tables:
        assert [line.split()[0] for line in table] == ["writes", "▁The", "▁dog", "gy", "</s>"]
        assert max(map(len, table)) <= width


def test_tokens_and_words_are_escaped() -> None:
    lens = drawn(1, 1, 1, None)
    evil = ((("\x9b1m",),) * 4, *lens.guesses[1:])
    words = {"tokens": ("\x1b[2J", *lens.tokens[1:]), "words": ("\u202eevil", *lens.words[1:])}
    text = "\n".join(printed(replace(lens, guesses=evil, **words), width=80))
    assert not {"\x1b", "\u202e", "\x9b"} & set(text)
    assert {"␛[2J", "⟨U+202E⟩evil", "⟨U+009B⟩1m"} <= set(text.split())


def test_right_to_left_guesses_stay_in_their_columns() -> None:
    pieces = ("▁המורה", "▁קורא", "ספר(", "٣")
    guesses = (tuple((piece,) for piece in pieces),) * 3
    lens = replace(drawn(1, 2, None, 1), tokens=pieces, words=pieces[:3], guesses=guesses)
    for width in (80, 30, 20):
        assert not moved(lens_lines(lens, width=width), "0123456789*")
    assert any(line.startswith("\u2068▁המורה\u2069 ") for line in printed(lens, width=20))
