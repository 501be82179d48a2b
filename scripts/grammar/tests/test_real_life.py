"""The sentences of real life."""

import re
from collections import Counter

import pytest

from grammar.__main__ import unknown_to_tests
from grammar.phrasebook import real_life
from grammar.splits import plain
from grammar.trees import ParsedPair

pytestmark = pytest.mark.slow


def test_sentences_end_with_a_mark_and_words_do_not() -> None:
    for pair in real_life():
        marks = [bool(re.search('[.!?…][“")]?$', text)) for text in (pair.source, pair.target)]
        assert marks in ([True, True], [False, False]), pair


def test_the_english_is_spelled_out() -> None:
    spoken = re.compile(r"n't\b|'(m|re|ve|ll|d)\b|’")
    assert [pair.target for pair in real_life() if spoken.search(pair.target)] == []


def test_no_german_sentence_comes_twice() -> None:
    assert [text for text, count in Counter(plain(pair.source) for pair in real_life()).items() if count > 1] == []


def test_pairs_with_a_side_in_a_test_are_left_out() -> None:
    pairs = [ParsedPair(f"Satz {name}.", f"Sentence {name}.", None) for name in "abcd"]
    tested = [ParsedPair("Satz a!", "Other.", None), ParsedPair("Anders.", "Other.", None, ("sentence b",))]
    assert list(unknown_to_tests(pairs, {"train": pairs[3:], "test": tested})) == pairs[2:]
