"""Vocabularies with a SentencePiece model for each side, as Marian has them."""

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.marian import CODES, processor, sentencepiece_model, vocabulary
from support.small_training import PAIRS

from transformer_mt.batching.encoded_pairs import encode_pairs, fitting
from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.extensions.marian.two_models import TwoModels, TwoModelsFile
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.text.normalize import normalize
from transformer_mt.tokenizer.prepared import PreparedSentence, Preparer
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, UNK
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
MODELS = sentencepiece_model("source", 60), sentencepiece_model("target", 50)
SOURCE, TARGET = map(processor, MODELS)
TOKENS = [*SPECIAL, *(token for token in vocabulary() if token not in SPECIAL)]
TOKENIZER = TwoModels(TwoModelsFile.model_construct(source=MODELS[0], target=MODELS[1], tokens=TOKENS))
PREPARE = Preparer(TOKENIZER)


@pytest.mark.parametrize("side", ["source", "target"])
def test_each_side_is_cut_by_its_own_model(side: str) -> None:
    tokenizer, model = (TOKENIZER, SOURCE) if side == "source" else (TOKENIZER.target, TARGET)
    texts = [getattr(pair, side) for pair in PAIRS]
    expected = [model.Encode(text, out_type=str) for text in texts]
    assert [tokenizer.pieces(ids) for ids in tokenizer.encode_batch(texts)] == expected
    assert [tokenizer.encode(text) for text in texts] == tokenizer.encode_batch(texts)
    assert [tokenizer.decode(tokenizer.encode(text)) for text in texts] == texts
    other = tokenizer.target if side == "source" else TOKENIZER
    assert [other.encode(text) for text in texts] != [tokenizer.encode(text) for text in texts]


def test_the_sides_share_file_tokens_and_ids() -> None:
    target = TOKENIZER.target
    assert target.serialized == TOKENIZER.serialized
    assert target.size == TOKENIZER.size == len(TOKENS)
    assert target.pieces(range(target.size)) == TOKENIZER.pieces(range(target.size)) == TOKENS
    assert target.target.encode("the dog") == target.encode("the dog")
    assert [TOKENIZER.ids([token])[0] for token in SPECIAL] == [PAD, UNK, BOS, EOS]


def test_one_model_is_the_same_for_both_sides() -> None:
    tokenizer = Tokenizer.train([pair.source for pair in PAIRS], TokenizerConfig(vocabulary_size=300))
    assert tokenizer.target is tokenizer
    assert tokenizer.code(">>fra<< der Hund") == ""
    assert tokenizer.places("der Hund", tokenizer.encode("der Hund")) == tokenizer.target.places(
        "der Hund", tokenizer.encode("der Hund")
    )


def test_the_file_is_read_back_unchanged() -> None:
    again = Tokenizer.parse(TOKENIZER.serialized, place="x")
    assert isinstance(again, TwoModels)
    assert again.serialized == TOKENIZER.serialized
    assert again.encode("der Hund") == TOKENIZER.encode("der Hund")
    assert again.target.encode("the dog") == TOKENIZER.target.encode("the dog")


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.pop("source"),
        lambda file: file.update(target="!"),
        lambda file: file.update(target=""),
        lambda file: file.update(source=file["source"][:4_000]),
        lambda file: file.update(tokens=TOKENS[:3]),
        lambda file: file.update(tokens=TOKENS[::-1]),
        lambda file: file.update(tokens=[*TOKENS, 3]),
    ],
)
def test_damaged_file_is_refused_in_one_line(change: Callable[[dict[str, Any]], object]) -> None:
    change(file := json.loads(TOKENIZER.serialized))
    with pytest.raises(
        MachineError, match=r"^x: not a vocabulary that tmt trained, or damaged .*; restore it"
    ) as error:
        Tokenizer.parse(json.dumps(file).encode(), place="x")
    assert "\n" not in str(error.value)


def test_pieces_without_a_token_become_unknown_and_are_reported() -> None:
    text = "der Hund ½ und 北京!"
    ids = TOKENIZER.encode(text)
    assert ids.count(UNK) == sum(piece not in TOKENS for piece in SOURCE.Encode(text, out_type=str)) > 1
    found = TOKENIZER.unknown_characters([text, "北"])
    assert found["北"] == 2
    assert {"½", "北", "京", "!"} <= {*found}
    assert {*found}.isdisjoint("derHnd ▁")
    (line,) = PREPARE.lines([text], split=True)
    assert line.remarks.to_json() == {"read_as_unknown": tuple(TOKENIZER.unknown_characters([text]))}
    assert "½" not in TOKENIZER.decode(ids)


def test_text_is_normalised_by_its_model() -> None:
    assert TOKENIZER.encode("ｄｅｒ Hund") == TOKENIZER.encode("der Hund")  # NFKC
    assert TOKENIZER.decode(TOKENIZER.encode("ｄｅｒ Hund")) == "der Hund"


@given(text=st.text(st.sampled_from("deruHns ﬁ½北.\u0301ａ▁>")))
def test_every_token_has_a_word_of_the_text_as_written(text: str) -> None:
    sentence = PREPARE.sentence(text)
    assert sentence.text == normalize(text)
    assert len(sentence.words_of_piece) == len(sentence.ids) == len(sentence.pieces)
    assert all(0 <= word < len(sentence.words) for owners in sentence.words_of_piece for word in owners)
    assert all(sentence.words_of_piece) or not sentence.words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("der Hund", [("▁d", "der"), ("e", "der"), ("r", "der"), ("▁H", "Hund"), ("u", "Hund"), ("nd", "Hund")]),
        ("½ der", [("▁", "½"), ("<unk>", "½"), ("▁d", "der"), ("e", "der"), ("r", "der")]),
        ("ｄｅｒ a", [("▁d", "ｄｅｒ"), ("e", "ｄｅｒ"), ("r", "ｄｅｒ"), ("▁", "a"), ("a", "a")]),
        ("北京 der", [("▁", "北"), ("<unk>", "北 京"), ("▁d", "der"), ("e", "der"), ("r", "der")]),
        (">>fra<< der", [(">>fra<<", "> > fra < <"), ("▁d", "der"), ("e", "der"), ("r", "der")]),
        (">>fra<< 北京", [(">>fra<<", "> > fra < <"), ("▁", "北"), ("<unk>", "北 京")]),
    ],
)
def test_tokens_belong_to_the_words_that_they_come_from(text: str, expected: list[tuple[str, str]]) -> None:
    sentence = PREPARE.sentence(text)
    words = [" ".join(sentence.words[word] for word in owners) for owners in sentence.words_of_piece]
    assert list(zip(sentence.pieces, words, strict=True)) == expected


def test_generated_tokens_belong_to_the_words_they_spell() -> None:
    ids = TOKENIZER.ids(["▁d", "e", "r", "<unk>", "▁", "a", "▁H", "u", "nd"])
    text = TOKENIZER.decode(ids)
    assert text == "der a Hund"
    sentence = PreparedSentence(text, tuple(ids), TOKENIZER.target)
    assert sentence.words_of_piece == ((0,), (0,), (0,), (1,), (1,), (1,), (2,), (2,), (2,))
    ids = TOKENIZER.ids(["▁t", "e", "▁d"])  # the target's model lacks the first
    sentence = PreparedSentence("te d", tuple(ids), TOKENIZER.target)
    assert sentence.words_of_piece == ((0,), (0,), (1,))


def test_target_language_is_one_token_at_the_start() -> None:
    assert TOKENIZER.pieces(TOKENIZER.encode(f"{CODES[0]} der Hund"))[:2] == [CODES[0], "▁d"]
    assert TOKENIZER.encode(f"{CODES[0]}der Hund") == TOKENIZER.encode(f"{CODES[0]} der Hund")
    assert CODES[0] not in TOKENIZER.pieces(TOKENIZER.encode(f"der {CODES[0]} Hund"))
    assert TOKENIZER.encode(">>xyz<< der")[0] == UNK
    assert {*">>xyz<<"} <= {*TOKENIZER.unknown_characters([">>xyz<< der"])}
    assert not TOKENIZER.unknown_characters([f"{CODES[0]} der"])


def test_target_language_is_repeated_for_every_sentence_of_a_line() -> None:
    (line,) = PREPARE.lines([f"{CODES[1]} Der Hund. Die Katze."], split=True)
    assert [sentence.text for sentence in line.sentences] == [f"{CODES[1]} Der Hund.", f"{CODES[1]} Die Katze."]
    (line,) = PREPARE.lines([f"{CODES[1]} Der Hund. Die Katze."], split=False)
    assert [sentence.text for sentence in line.sentences] == [f"{CODES[1]} Der Hund. Die Katze."]
    (line,) = PREPARE.lines([CODES[1]], split=True)
    assert TOKENIZER.pieces(line.sentences[0].ids) == [CODES[1]]


def test_encoded_pairs_use_both_models() -> None:
    encoded = encode_pairs(PAIRS, TOKENIZER, max_length=99)
    for row, pair in enumerate(PAIRS):
        assert encoded.source[row].tolist() == [*TOKENIZER.encode(pair.source), EOS]
        assert encoded.target[row].tolist() == TOKENIZER.target.encode(pair.target)
    target = TOKENIZER.target.encode(pair.target)
    limits = {limit: fitting([pair], TOKENIZER, max_length=limit) for limit in (len(target), len(target) + 1)}
    source = len(TOKENIZER.encode(pair.source))
    assert [bool(limits[limit]) for limit in limits] == [False, source < len(target) + 1]


def test_vocabulary_can_be_sent_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(TOKENIZER))
    assert again.encode("der Hund") == TOKENIZER.encode("der Hund")
    assert again.target.encode("the dog") == TOKENIZER.target.encode("the dog")


def test_sampling_is_refused() -> None:
    with pytest.raises(InputError, match=r"^tokenizer.sampling: does not work with an imported vocabulary"):
        TOKENIZER.encode_batch(["der Hund"], sampling=Sampling(1, 0.1))
