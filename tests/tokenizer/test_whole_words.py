"""Frequent words are one token each, and other words keep their segmentation."""

import math
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small_training import TRAIN

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.corpus.builtin import builtin_corpus
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.word_counts import words_of_pairs
from transformer_mt.text.words import words
from transformer_mt.tokenizer.prepared import Preparer
from transformer_mt.tokenizer.sentencepiece_model import (
    learned_scores,
    load_model,
    score_of_parts,
    with_whole_words,
    write_model,
)
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer
from transformer_mt.training.batch_stream import WeightedCorpus, train_tokenizer

SIZE = 1_200


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    """Pairs of the built-in corpus, with far more words than the vocabulary can hold whole."""
    return builtin_corpus(train=1_500, validation=11, test=7)["train"]


@pytest.fixture(scope="module")
def tokenizer(pairs: list[SentencePair]) -> Tokenizer:
    return trained(pairs)


def trained(pairs: list[SentencePair], **settings: object) -> Tokenizer:
    config = TokenizerConfig.model_validate({"vocabulary_size": SIZE, "whole_words": 150, **settings})
    return train_tokenizer([WeightedCorpus(pairs, "pairs")], config)


def scores_of(tokenizer: Tokenizer) -> dict[str, float]:
    return learned_scores(load_model(tokenizer.serialized))


def test_frequent_words_of_each_side_are_one_token(tokenizer: Tokenizer, pairs: list[SentencePair]) -> None:
    counts = words_of_pairs(pairs)
    for side, counter in (("source", counts.source), ("target", counts.target)):
        common = {word for word, count in counter.items() if count > sorted(counter.values())[-151]}
        assert len(common) > 130
        seen = set()
        for pair in pairs:
            text = getattr(pair, side)
            sentence = Preparer(tokenizer).sentence(text)
            for number, word in enumerate(words(text)):
                if word in common:
                    both = zip(sentence.pieces, sentence.words_of_piece, strict=True)
                    cut = [piece for piece, of in both if of == (number,)]
                    assert cut == [f"▁{word}"], text
                    seen.add(word)
        assert seen == common


def test_keeps_the_requested_size_and_decodes_every_text(tokenizer: Tokenizer, pairs: list[SentencePair]) -> None:
    assert (tokenizer.size, tokenizer.note) == (SIZE, None)
    for pair in pairs:
        for text in (pair.source, pair.target):
            assert tokenizer.decode(tokenizer.encode(text)) == text


def test_segments_a_longer_word_as_the_model_finds_best(tokenizer: Tokenizer, pairs: list[SentencePair]) -> None:
    scores, counts = scores_of(tokenizer), words_of_pairs(pairs)
    common = set(counts.commonest(150))
    rest = [word for word in counts.source | counts.target if word not in common]
    assert sum(any(word.startswith(prefix) for prefix in common) for word in rest) > 20
    for word in rest:
        ours = sum(scores[piece] for piece in tokenizer.pieces(tokenizer.encode(word)))
        best = max(scores.get(f"▁{word}", -math.inf), score_of_parts(f"▁{word}", scores))
        assert ours == pytest.approx(best, abs=1e-4)


def test_a_bpe_vocabulary_has_no_whole_words(pairs: list[SentencePair]) -> None:
    without, with_words = (trained(pairs, kind="bpe", whole_words=count) for count in (0, 150))
    assert (with_words.serialized, with_words.note) == (without.serialized, None)


def test_samples_whole_words_that_spell_the_text(tokenizer: Tokenizer, pairs: list[SentencePair]) -> None:
    texts = [pair.source for pair in pairs[:99]]
    sampled = tokenizer.encode_batch(texts, sampling=Sampling(seed=5, alpha=0.3))
    assert [tokenizer.decode(ids) for ids in sampled] == texts
    assert sampled != tokenizer.encode_batch(texts)


def test_whole_words_take_half_of_a_tiny_vocabulary(pairs: list[SentencePair]) -> None:
    tokenizer = trained(pairs, vocabulary_size=371)
    subwords = [piece for piece in scores_of(tokenizer) if len(piece) > 1]
    assert tokenizer.size == 371
    most = len(subwords) // 2
    assert most > 3
    assert all(len(tokenizer.encode(word)) == 1 for word in list(words_of_pairs(pairs).commonest(150))[:most])
    longer = [word for word in list(words_of_pairs(pairs).commonest(150))[most:] if len(tokenizer.encode(word)) > 1]
    assert len(longer) > 30


def test_split_digits_gives_each_digit_its_token(pairs: list[SentencePair]) -> None:
    years = [SentencePair(f"Das war {1990 + number % 5}. {one.source}", f"That was {1990 + number % 5}. {one.target}")
             for number, one in enumerate(pairs)]  # fmt: skip
    assert any(re.search(r"\d\d", piece) for piece in scores_of(trained(years)))
    split = trained(years, split_digits=True)
    assert split.pieces(split.encode("Das war 1999.")) == ["▁Das", "▁war", "▁", *"1999", "."]
    assert not any(re.search(r"\d.|.\d", piece) for piece in scores_of(split))


def test_no_word_is_whole_if_characters_fill_the_vocabulary() -> None:
    tokenizer = trained(list(TRAIN), vocabulary_size=7)
    assert tokenizer.note is not None
    assert tokenizer.note.startswith(f"tokenizer.vocabulary_size: {tokenizer.size} instead of 7; the characters and ")
    assert all(len(piece) == 1 for piece in scores_of(tokenizer))
    assert tokenizer.decode(tokenizer.encode(TRAIN[0].source)) == TRAIN[0].source


CHARACTERS = dict.fromkeys("▁inot", -9.0)


def test_a_whole_word_scores_by_frequency_and_above_its_parts() -> None:
    learned = write_model(CHARACTERS, "unigram")
    model = with_whole_words(learned, {"not": 0.5, "in": 1e-30}, size=300)
    scores = scores_of(Tokenizer(model))
    assert scores["▁not"] == pytest.approx(math.log(0.5))
    assert -27 < scores["▁in"] < -26.5
    assert {text: scores[text] for text in "▁inot"} == CHARACTERS


def test_words_within_words_stay_whole_in_any_order() -> None:
    learned = write_model({"to": -1.0, **CHARACTERS}, "unigram")
    for chosen in ({"into": 1e-6, "in": 0.9}, {"in": 0.9, "into": 1e-6}):
        model = with_whole_words(learned, chosen, size=300)
        assert [len(Tokenizer(model).encode(word)) for word in chosen] == [1, 1]


def test_the_most_frequent_words_of_both_sides_alternate() -> None:
    counts = words_of_pairs([SentencePair("der der in", "in the the"), SentencePair("der Hund in", "the dog 7 .")])
    assert counts.commonest(2) == {"der": 3 / 11, "the": 3 / 11, "in": 3 / 11, "dog": 1 / 11}
    assert list(counts.commonest(2)) == ["der", "the", "in", "dog"]
    assert counts.commonest(0) == {}
    assert len(counts.commonest(99)) == 5


PIECES = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.floats(-9, -1), min_size=3)


@given(scores=PIECES, word=st.text("abc", max_size=6))
def test_the_score_of_parts_is_the_best_segmentation(scores: dict[str, float], word: str) -> None:
    def segmentations(text: str) -> list[list[str]]:
        if not text:
            return [[]]
        ends = range(1, len(text) + 1)
        return [[text[:end], *rest] for end in ends if text[:end] in scores for rest in segmentations(text[end:])]

    for text in (word, *scores):
        several = [sum(map(scores.__getitem__, parts)) for parts in segmentations(text) if len(parts) > 1]
        if text:
            assert score_of_parts(text, scores) == pytest.approx(max(several, default=-math.inf))


def test_a_word_over_sentencepieces_limit_can_be_whole() -> None:
    word = "Donaudampfschifffahrtsgesellschaft"
    draw = random.Random(3)
    pairs = [SentencePair(f"{word} {''.join(draw.choices(word, k=5))}", "ja") for _ in range(30)]
    tokenizer = trained(pairs, vocabulary_size=400, whole_words=1)
    assert tokenizer.pieces(tokenizer.encode(f"{word}!"))[0] == f"▁{word}"
    assert Tokenizer.parse(tokenizer.serialized, place="x").encode(word) == tokenizer.encode(word)
