"""Lines as a model reads them: sentences, words, tokens, and how they relate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small_training import TEXTS

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.word_counts import words_of_pairs
from transformer_mt.text.normalize import normalize
from transformer_mt.text.words import word_spans
from transformer_mt.tokenizer.prepared import PreparedSentence, Preparer, words_of_places
from transformer_mt.tokenizer.tokenizer import Tokenizer

SIZES = {"unigram": 400, "bpe": 400}
TOKENIZERS = {kind: Tokenizer.train(TEXTS, TokenizerConfig(kind=kind, vocabulary_size=SIZES[kind])) for kind in SIZES}
TOKENIZER = TOKENIZERS["unigram"]
# Training capitalises Haus, Straße and Mann within a sentence.
SEEN = [SentencePair("Der Mann geht durch die Straße in das Haus, das der Mann gut kennt.", "x")] * 40
PREPARE = Preparer(TOKENIZER, words_of_pairs(SEEN).seen("de"), "de")


def read(text: str, *, split: bool = True) -> list[str]:
    (line,) = PREPARE.lines([text], split=split)
    return [sentence.text for sentence in line.sentences]


@given(text=st.text(max_size=40))
@pytest.mark.parametrize("kind", SIZES)
def test_every_token_overlaps_a_word_and_every_word_has_a_token(kind: str, text: str) -> None:
    sentence = Preparer(TOKENIZERS[kind]).sentence(text)
    count = len(sentence.words)
    assert len(sentence.words_of_piece) == len(sentence.ids) == len(sentence.pieces)
    assert all(0 <= word < count for owners in sentence.words_of_piece for word in owners)
    assert all(sentence.words_of_piece) or not sentence.text
    assert {word for owners in sentence.words_of_piece for word in owners} == set(range(count))


@given(text=st.text(max_size=40))
def test_words_are_spans_of_the_normalised_text(text: str) -> None:
    (line,) = PREPARE.lines([text], split=True)
    for sentence in line.sentences:
        assert normalize(sentence.text) == sentence.text
        assert [sentence.text[start:end] for start, end in sentence.spans] == list(sentence.words)


@pytest.mark.parametrize(
    ("text", "places", "owners"),
    [
        ('sagt: "ja".', [(0, 1), (1, 4), (4, 5), (5, 7), (7, 9), (9, 11)], [(0,), (0,), (1,), (2,), (3,), (4, 5)]),
        ("老师 ja", [(0, 0), (0, 2), (2, 5)], [(0,), (0, 1), (2,)]),
        ("a🙂 b", [(0, 1), (1, 1), (1, 1), (1, 1), (1, 2), (2, 3), (3, 4)], [(0,), *[(1,)] * 4, (2,), (2,)]),
        ("a b", [(0, 1), (1, 3), (3, 3)], [(0,), (1,), (1,)]),
    ],
)
def test_a_token_belongs_to_the_words_it_overlaps(
    text: str, places: list[tuple[int, int]], owners: list[object]
) -> None:
    assert list(words_of_places(places, word_spans(text))) == owners


def test_a_blank_before_generated_tokens_moves_none_of_them() -> None:
    tokens = ["▁", "▁d", "e", "r", "▁", "a"]
    ids = TOKENIZER.ids(tokens)
    text = TOKENIZER.decode(ids)
    assert text == "der a"
    sentence = PreparedSentence(text, tuple(ids), TOKENIZER)
    assert sentence.words_of_piece == ((0,), (0,), (0,), (0,), (1,), (1,))


def test_splits_a_line_into_sentences_only_on_request() -> None:
    text = "Der Mann geht. Das Haus ist gut."
    assert read(text) == ["Der Mann geht.", "Das Haus ist gut."]
    assert read(text, split=False) == [text]
    assert read("  ") == [""]


@pytest.mark.parametrize(
    ("given_text", "expected", "case"),
    [
        ("der mann geht in das haus", ["der Mann geht in das Haus"], "restored"),
        ("Der mann geht", ["Der mann geht"], None),
        ("DER MANN GEHT DURCH DIE STRASSE.", ["Der Mann geht durch die Straße."], "lowered"),
        ("DER MANN GEHT! kennt der mann das haus?", ["Der Mann geht!", "kennt der Mann das Haus?"], "lowered"),
        ("HAUS", ["HAUS"], None),  # one word may be an abbreviation
        ("NATO UNO EU", ["NATO UNO EU"], None),  # mostly unknown words
    ],
)
def test_restores_the_capitals_of_training(given_text: str, expected: list[str], case: str | None) -> None:
    (line,) = PREPARE.lines([given_text], split=True)
    assert [sentence.text for sentence in line.sentences if sentence.text] == expected
    assert line.remarks.case == case


def test_remarks_cover_each_sentence_of_a_line() -> None:
    (line,) = PREPARE.lines(["Der Mann geht. DER MANN GEHT! kennt der mann das haus?"], split=True)
    assert line.remarks.case == "lowered"
    assert [line.only(number).remarks.case for number in (1, 2, 3)] == [None, "lowered", "restored"]


def test_keeps_capitals_outside_translation() -> None:
    assert PREPARE.sentence("DER MANN GEHT").text == "DER MANN GEHT"


def test_turkish_has_a_dotted_and_a_dotless_i() -> None:
    pairs = [SentencePair("Işık bize iyi geldi, İstanbul da iyi.", "x")] * 40
    prepare = Preparer(TOKENIZER, words_of_pairs(pairs).seen("tur"), "tur")
    (line,) = prepare.lines(["IŞIK İYİ GELDİ"], split=True)
    assert line.text == "Işık iyi geldi"
    (line,) = prepare.lines(["istanbul iyi"], split=True)
    assert line.text == "İstanbul iyi"


def test_remarks_report_unusual_input() -> None:
    (line,) = PREPARE.lines(["Das HAUS ist Ωμέγα Ж."], split=True)
    assert line.never_seen == ["ist", "Ωμέγα", "Ж"]
    assert {*"ΩμέγαЖ"} <= {*line.remarks.spelled_as_bytes} <= {*"ΩμέγαЖHAUSD"}
    assert line.remarks.other_case == ("HAUS",)
    assert line.remarks.new_scripts == ("Greek", "Cyrillic")
    for text, length in (("das ist gut und " * 5, 20), (SEEN[0].source, None), (f"{SEEN[0].source} Ja", 17)):
        assert PREPARE.lines([text], split=False)[0].remarks.longer_than_training == length
    plain = Preparer(Tokenizer.train([SEEN[0].source], TokenizerConfig(vocabulary_size=290)), PREPARE.known, "de")
    assert plain.lines(["Der Mann geht."], split=True)[0].remarks.to_json() == {}


def test_remarks_cover_characters_without_training_words() -> None:
    (line,) = Preparer(TOKENIZER).lines(["der Ω"], split=True)
    assert line.never_seen is line.word_counts is None
    assert line.remarks.to_json() == {"spelled_as_bytes": ("Ω",)}
