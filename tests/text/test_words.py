"""Words with offsets, in every script."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.text.normalize import normalize
from transformer_mt.text.words import count_words, is_unspaced, is_word, script_of, word_spans, words


@given(st.text(max_size=40))
def test_words_and_gaps_rebuild_the_text(text: str) -> None:
    text = normalize(text)
    spans = word_spans(text)
    assert [text[start:end] for start, end in spans] == words(text)
    ends = [(0, 0), *spans, (len(text), len(text))]
    gaps = [text[end:start] for (_, end), (start, _) in pairwise(ends)]
    assert all(start < end for start, end in spans)
    assert not "".join(gaps).strip(" \u200b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop... well-known 3,5 z.B.", "Don't stop ... well-known 3 , 5 z . B ."),
        ("हिन्दी में", "हिन्दी में"),
        ("日本のテレビ", "日 本 の テレビ"),
        ("北京2024年", "北 京 2024 年"),
        ("น้ำ ก็", "น้ำ ก็"),
        ("๑๒๓บาท", "๑๒๓ บ า ท"),
        ("👨‍👩‍👧 🇩🇪 ¡!", "👨‍👩‍👧 🇩🇪 ¡ !"),
        ("한국어는", "한국어는"),
        ("„Don't“, sagt's der Süd-Ost-Wind… 3 ½ mal!", "„ Don't “ , sagt's der Süd-Ost-Wind … 3 ½ mal !"),
    ],
)
def test_finds_words(text: str, expected: str) -> None:
    assert words(text) == expected.split()


def test_classifies_words_and_letters() -> None:
    assert [is_word(word) for word in ("a", "3", "年", "…", "👍", "'")] == [True, True, True, False, False, False]
    assert [is_unspaced(word) for word in ("年", "の", "ไ", "テレビ", "ja", "!")] == [True] * 3 + [False] * 3
    assert count_words("Ja, 老师 3!") == 4
    assert [script_of(letter) for letter in "aЖの漢ไ3!"] == [
        "Latin",
        "Cyrillic",
        "Chinese or Japanese",
        "Chinese or Japanese",
        "Thai",
        "",
        "",
    ]


def test_many_flags_take_linear_time() -> None:
    start = time.perf_counter()
    assert words(f"{'🇩🇪' * 20_000}🇫🏽") == [*["🇩🇪"] * 20_000, "🇫🏽"]
    assert time.perf_counter() - start < 2.0
