"""Vocabularies with a SentencePiece model for each side, as Marian has them."""

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.marian import CODES, processor, sentencepiece_model, vocabulary
from support.small_training import PAIRS

from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.extensions.marian.two_models import TwoModels, TwoModelsFile
from transformer_mt.ground.errors import MachineError
from transformer_mt.text.normalize import normalize
from transformer_mt.tokenizer.prepared import PreparedSentence, Preparer
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, UNK
from transformer_mt.tokenizer.tokenizer import Tokenizer

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
MODELS = sentencepiece_model("source", 60), sentencepiece_model("target", 50)
SOURCE, TARGET = map(processor, MODELS)
TOKENS = [*SPECIAL, *(token for token in vocabulary() if token not in SPECIAL)]
TOKENIZER = TwoModels(TwoModelsFile.model_construct(source=MODELS[0], target=MODELS[1], tokens=TOKENS))
PREPARE = Preparer(TOKENIZER)


def test_each_side_is_cut_by_its_own_model() -> None:
    assert TOKENIZER.target.target.encode("the dog") == TOKENIZER.target.encode("the dog")
    assert TOKENIZER.ids(SPECIAL) == [PAD, UNK, BOS, EOS]
    assert TOKENIZER.encode("ｄｅｒ Hund") == TOKENIZER.encode("der Hund")  # NFKC, by the model
    for side, tokenizer, model in (("source", TOKENIZER, SOURCE), ("target", TOKENIZER.target, TARGET)):
        assert (tokenizer.serialized, tokenizer.size) == (TOKENIZER.serialized, len(TOKENS))
        texts = [getattr(pair, side) for pair in PAIRS]
        ids = tokenizer.encode_batch(texts)
        assert [tokenizer.pieces(row) for row in ids] == [model.Encode(text, out_type=str) for text in texts]
        assert [tokenizer.decode(row) for row in ids] == texts
        assert [getattr(encode_pairs(PAIRS, TOKENIZER, max_length=99), side)[row].tolist() for row in range(9)] == [
            [*row, EOS] if side == "source" else row for row in ids[:9]
        ]


def test_the_file_is_read_back_unchanged() -> None:
    read = Tokenizer.parse(TOKENIZER.serialized, place="x")
    for again in (read, pickle.loads(pickle.dumps(TOKENIZER))):
        assert again.serialized == TOKENIZER.serialized
        assert again.encode("der Hund") == TOKENIZER.encode("der Hund")
        assert again.target.encode("the dog") == TOKENIZER.target.encode("the dog")


@pytest.mark.parametrize(
    "change", [{"source": None}, {"target": "!"}, {"target": ""}, {"tokens": TOKENS[::-1]}, {"tokens": [*TOKENS, 3]}]
)
def test_damaged_file_is_refused_in_one_line(change: dict[str, Any]) -> None:
    file = json.dumps(json.loads(TOKENIZER.serialized) | change).encode()
    with pytest.raises(MachineError, match=r"^x: not a vocabulary that tmt trained, or damaged [^\n]*$"):
        Tokenizer.parse(file, place="x")


def test_pieces_without_a_token_become_unknown_and_are_reported() -> None:
    text = "der Hund ½ und 北京!"
    ids = TOKENIZER.encode(text)
    assert ids.count(UNK) == sum(piece not in TOKENS for piece in SOURCE.Encode(text, out_type=str)) > 1
    found = TOKENIZER.unknown_characters([text, "北"])
    assert found["北"] == 2
    assert {"½", "北", "京", "!"} <= {*found}
    assert {*found}.isdisjoint("derHnd ▁")
    assert "½" not in TOKENIZER.decode(ids)


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
        ("½ der", [("▁", "½"), ("<unk>", "½"), ("▁d", "der"), ("e", "der"), ("r", "der")]),
        ("ｄｅｒ a", [("▁d", "ｄｅｒ"), ("e", "ｄｅｒ"), ("r", "ｄｅｒ"), ("▁", "a"), ("a", "a")]),
        (">>fra<< 北京", [(">>fra<<", "> > fra < <"), ("▁", "北"), ("<unk>", "北 京")]),
    ],
)
def test_tokens_belong_to_the_words_that_they_come_from(text: str, expected: list[tuple[str, str]]) -> None:
    sentence = PREPARE.sentence(text)
    words = [" ".join(sentence.words[word] for word in owners) for owners in sentence.words_of_piece]
    assert list(zip(sentence.pieces, words, strict=True)) == expected


@pytest.mark.parametrize(
    ("pieces", "text", "words"),
    [
        ("▁d e r <unk> ▁ a ▁H u nd", "der a Hund", [0, 0, 0, 1, 1, 1, 2, 2, 2]),
        ("▁t e ▁d", "te d", [0, 0, 1]),  # the target's model lacks the first
    ],
)
def test_generated_tokens_belong_to_the_words_they_spell(pieces: str, text: str, words: list[int]) -> None:
    ids = TOKENIZER.ids(pieces.split())
    assert TOKENIZER.decode(ids) == text
    assert PreparedSentence(text, tuple(ids), TOKENIZER.target).words_of_piece == tuple((word,) for word in words)


def test_target_language_is_one_token_at_the_start() -> None:
    assert TOKENIZER.pieces(TOKENIZER.encode(f"{CODES[0]} der Hund"))[:2] == [CODES[0], "▁d"]
    assert TOKENIZER.encode(f"{CODES[0]}der Hund") == TOKENIZER.encode(f"{CODES[0]} der Hund")
    assert CODES[0] not in TOKENIZER.pieces(TOKENIZER.encode(f"der {CODES[0]} Hund"))
    assert TOKENIZER.encode(">>xyz<< der")[0] == UNK
    assert {*">>xyz<<"} <= {*TOKENIZER.unknown_characters([">>xyz<< der"])}
    assert not TOKENIZER.unknown_characters([f"{CODES[0]} der"])


@pytest.mark.parametrize(
    ("text", "split", "sentences"),
    [
        (" Der Hund. Die Katze.", True, [" Der Hund.", " Die Katze."]),
        (" Der Hund. Die Katze.", False, [" Der Hund. Die Katze."]),
        ("", True, [""]),
    ],
)
def test_target_language_is_repeated_for_every_sentence_of_a_line(text: str, split: bool, sentences: list[str]) -> None:
    (line,) = PREPARE.lines([CODES[1] + text], split=split)
    assert [sentence.text for sentence in line.sentences] == [CODES[1] + sentence for sentence in sentences]
    assert TOKENIZER.pieces(line.sentences[0].ids)[0] == CODES[1]
