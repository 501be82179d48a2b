import time
import unicodedata
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.corpus.cleaning import CleaningReport, SplitReport, compose, filter_pairs, normalize

ACUTE, DOT_BELOW, RING = "\u0301", "\u0323", "\u030a"


def test_blanks_and_control_characters_become_one_space() -> None:
    assert normalize("\ufeff  Ein\tHund \u00a0\x00\r\n bellt\u3000.\x07\n") == "Ein Hund bellt ."


def test_joiners_inside_words_stay() -> None:
    assert normalize("👩\u200d🍳") == "👩\u200d🍳"


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once == " ".join(once.split())


def test_pairs_with_an_empty_or_long_side_are_left_out_and_counted() -> None:
    pairs = [
        ("a b c", "d"),
        ("", "d"),
        ("a", " \t\n"),
        ("a b c d", "e"),
        ("a", "b c d e"),
        ("", "b c d e"),
        ("a", "b c d"),
        ("\x00", "b"),
    ]
    kept, report = filter_pairs(pairs, max_words=3)
    assert list(kept) == [0, 6]
    assert report == SplitReport(kept=2, empty=4, too_long=2)
    assert report.read == len(pairs)


def test_a_report_adds_up_what_all_splits_lost() -> None:
    splits = {"train": SplitReport(kept=5, empty=2, too_long=1), "test": SplitReport(kept=3, empty=0, too_long=4)}
    assert CleaningReport(splits, max_words=9).removed == 7


@given(st.text())
def test_composed_text_is_nfc(text: str) -> None:
    assert compose(text) == unicodedata.normalize("NFC", text)


@given(st.text(alphabet=f"ae{ACUTE}{DOT_BELOW}{RING}가ᄀ", max_size=30))
def test_long_text_is_composed_as_short_text(text: str) -> None:
    text = f"{text}b" * (1_100 // (len(text) + 1) + 1)
    assert compose(text) == unicodedata.normalize("NFC", text)


def test_composing_a_long_run_of_marks_is_quick_and_done_once() -> None:
    start = time.perf_counter()
    composed = compose(f"a{f'{ACUTE}{DOT_BELOW}' * 500_000}b")
    assert time.perf_counter() - start < 10  # what takes half a second would else take an hour
    assert unicodedata.is_normalized("NFC", composed)
    assert compose(composed) == composed
    assert composed.startswith("ạ")
    assert composed.endswith("b")
    assert composed.count(ACUTE) == 500_000
    runs = (len(list(run)) for marks, run in groupby(composed, key=lambda c: unicodedata.combining(c) > 0) if marks)
    assert max(runs) == 30


@pytest.mark.parametrize("side", [0, 1])
def test_characters_without_end_count_as_words(side: int) -> None:
    def pair(length: int) -> tuple[str, str]:
        return ("a" * length, "b") if side == 0 else ("b", "a" * length)

    kept, report = filter_pairs([pair(300), pair(301)], max_words=3)
    assert list(kept) == [0]
    assert report == SplitReport(kept=1, empty=0, too_long=1)
