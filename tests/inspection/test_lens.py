import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.tiny import sentences, targets, tiny_model
from support.variants import RECURRENT, VARIANTS, Variant

from transformer_mt.errors import InputError
from transformer_mt.inspection.lens import GUESSES, Lens, decided_at, look_through
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.models.transformer import Transformer
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.words import Tokens

SOURCE, TARGET = "Der alte Mann liest ein gutes Buch.", "The old man reads."


@pytest.fixture
def lens(model: Seq2Seq, tokenizer: Tokenizer) -> Lens:
    return look_through(model, tokenizer, SOURCE, TARGET)


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_the_last_layer_says_what_the_model_says(variant: Variant) -> None:
    model = tiny_model(*variant)
    source, target = sentences(5, 3), targets(7, 2)
    layers = model.layer_logits(target, model.start(source))
    assert len(layers) == (1 if RECURRENT in variant else 2)
    torch.testing.assert_close(layers[-1], model(source, target))


@pytest.mark.parametrize("residual", ["pre_norm", "post_norm"])
def test_a_layer_says_what_the_model_without_the_layers_above_it_says(residual: str) -> None:
    model = tiny_model(f"model.residual={residual}")
    source, target = sentences(5), targets(7)
    first, _ = model.layer_logits(target, model.start(source))
    assert isinstance(model, Transformer)
    del model.decoder[1]
    torch.testing.assert_close(first, model(source, target))


def test_layers_go_on_from_what_has_been_read() -> None:
    model, source, target = tiny_model(), sentences(5), targets(7)
    _, state = model.decode(target[:, :3], model.start(source))
    first, _ = model.layer_logits(target[:, 3:], state)
    torch.testing.assert_close(first, model.layer_logits(target, model.start(source))[0][:, 3:])


def test_probabilities_are_those_of_the_written_pieces(model: Seq2Seq, tokenizer: Tokenizer, lens: Lens) -> None:
    ids = torch.tensor([[*tokenizer.encode(TARGET), EOS]])
    source = torch.tensor([[*tokenizer.encode(SOURCE), EOS]])
    read = torch.cat((torch.tensor([[BOS]]), ids[:, :-1]), dim=1)
    model.eval()
    following = model(source, read).softmax(dim=-1)
    torch.testing.assert_close(lens.probabilities[-1], following.gather(2, ids[:, :, None])[0, :, 0])
    best, guesses = following[0].topk(GUESSES)
    torch.testing.assert_close(lens.top_probabilities[-1], best)
    for place, expected in enumerate(guesses.tolist()):
        assert [guess.piece for guess in lens.guesses[-1][place]] == tokenizer.pieces(expected)
        assert [guess.probability for guess in lens.guesses[-1][place]] == pytest.approx(best[place].tolist(), rel=1e-5)


def test_looking_leaves_the_model_training(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    model.train()
    first = look_through(model, tokenizer, SOURCE, TARGET)
    assert model.training
    assert torch.equal(first.probabilities, look_through(model, tokenizer, SOURCE, TARGET).probabilities)


def test_a_position_is_decided_where_it_stays_right_to_the_end() -> None:
    likeliest = torch.tensor([[7, 7, 0, 7, 0], [7, 0, 7, 0, 7], [7, 7, 7, 0, 0]])
    assert decided_at(likeliest, torch.tensor([7, 7, 7, 7, 7])) == (1, 3, 2, None, None)


def test_a_word_is_decided_with_the_last_of_its_pieces(lens: Lens) -> None:
    written = Tokens((5, 6, 7, 8, 9), ("▁a", "b", "c", "▁d", "</s>"), ("abc", "d", "</s>"), (0, 0, 0, 1, 2))
    assert replace(lens, written=written, decided=(1, 3, 2, None, 2)).words_decided == (3, None, 2)
    assert replace(lens, written=written, decided=(1, None, 2, 1, 2)).words_decided == (None, 1, 2)


def test_json_and_arrays_say_the_same(lens: Lens, tmp_path: Path) -> None:
    found = json.loads(json.dumps(lens.to_json()))
    np.savez(tmp_path / "lens.npz", **lens.arrays())  # type: ignore[arg-type]
    arrays = np.load(tmp_path / "lens.npz")
    assert found["layers"] == 3
    assert [one["piece"] for one in found["positions"]] == arrays["pieces"].tolist()
    assert [one["decided"] or 0 for one in found["positions"]] == arrays["decided"].tolist()
    assert [one["word"] for one in found["words"]] == arrays["words"].tolist()
    for place, position in enumerate(found["positions"]):
        for layer, said in enumerate(position["layers"]):
            assert said["probability"] == pytest.approx(float(arrays["probabilities"][layer, place]), rel=1e-4)
            assert [piece for piece, _ in said["guesses"]] == arrays["guesses"][layer, place].tolist()
            numbers = [number for _, number in said["guesses"]]
            assert numbers == pytest.approx(arrays["guess_probabilities"][layer, place].tolist(), rel=1e-4)


def test_a_text_that_is_too_long_is_refused(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match=r"^--target: \d+ tokens, the model takes at most 64; shorten it$"):
        look_through(model, tokenizer, SOURCE, TARGET * 9)
