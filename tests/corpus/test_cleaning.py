from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.corpus.cleaning import CleaningReport, SplitReport, filter_pairs, normalize


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
