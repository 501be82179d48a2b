from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.corpus import word_counts
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.word_counts import LONGEST_KEPT, SeenWords, real_words, words_of_pairs
from transformer_mt.text.words import words

PAIRS = [SentencePair("Der Hund sieht den Hund.", "The dog sees the dog."), SentencePair("Der Zug!", "The 3 trains")]


def test_counts_words_as_written_on_each_side() -> None:
    found = words_of_pairs(PAIRS)
    assert found.source == {"Hund": 2, "Der": 2, "sieht": 1, "den": 1, "Zug": 1}
    assert found.target == {"The": 2, "dog": 2, "sees": 1, "the": 1, "trains": 1}
    assert (found.complete, found.longest) == (True, 6)


def test_the_most_frequent_words_exclude_scripts_without_spaces() -> None:
    found = words_of_pairs([SentencePair("老师爱 Otto.", "Otto loves"), *PAIRS]).commonest(9)
    assert {"Otto", "Hund", "The"} <= set(found)
    assert not set("老师爱") & set(found)


def test_numbers_and_marks_are_not_words() -> None:
    text = "Am 3. Mai 1990 kostete's ½ € — und «99,5» 3-mal … 北京 ไทย ドイツ!"
    assert real_words(text) == ["Am", "Mai", "kostete's", "und", "3-mal", *"北京", "ไ", "ท", "ย", "ドイツ"]
    assert real_words(f"{'x' * LONGEST_KEPT} {'y' * (LONGEST_KEPT + 1)}") == ["x" * LONGEST_KEPT]


@given(st.lists(st.text("aB1 .,-'\u00a0\t\u0301e", max_size=12), max_size=6))
def test_counting_by_blanks_equals_counting_words(texts: list[str]) -> None:
    expected = Counter(word for text in texts for word in words(text) if any(map(str.isalpha, word)))
    found = words_of_pairs([SentencePair(text, "") for text in texts]).source
    assert sum(found.values()) == sum(expected.values())
    assert words_of_pairs([SentencePair("", " ".join(texts))]).target == found


def seen(text: str) -> SeenWords:
    return words_of_pairs([SentencePair(text, "x")]).seen("de")


def test_a_word_is_known_in_any_case() -> None:
    known = seen("Der HUND läuft auf Straße")
    expected = {"Der": 1, "Hund": 1, "LÄUFT": 1, "die": 0, "STRASSE": 1, "hinab": 0}
    assert known.counts(words("Der Hund LÄUFT die STRASSE hinab, der")) == expected


def test_restores_capitals_that_training_almost_always_used() -> None:
    texts = ["Du hast den Satz, Anna.", "hast du eine E-Mail? Hast du ihn?", *["Ein Satz. Komm!"] * 40, "komm", "komm"]
    texts += ["Die Straße, die Übung"]
    known = words_of_pairs([SentencePair(text, "a") for text in texts]).seen("de")
    assert known.with_capitals("du hast den satz, anna, und die e-mail") == "du hast den Satz, Anna, und die E-Mail"
    assert known.with_capitals("auf der straße, die übung") == "auf der Straße, die Übung"
    assert known.with_capitals("komm, hast du das wort?") == "komm, hast du das wort?"  # training has it both ways
    assert known.with_capitals("Du hast den satz") == "Du hast den satz"  # has capitals already
    assert seen("").with_capitals("satz") == "satz"


@pytest.mark.parametrize("text", ["https://satz.de/satz", "satz@straße.de", "(satz.txt)", "www.satz.de?satz=satz"])
def test_addresses_and_files_keep_their_case(text: str) -> None:
    known = seen("Der Satz ist in der Straße.")
    assert known.with_capitals(f"der satz, {text}, die straße.") == f"der Satz, {text}, die Straße."
    assert known.without_capitals(f"DER SATZ, {text}, DIE STRASSE.") == f"Der Satz, {text}, die Straße."


def test_counts_each_word_once_in_order_without_numbers() -> None:
    known = seen(" ".join(pair.source for pair in PAIRS))
    assert list(known.counts(words("Zwei Züge, 17 Züge: zwei ZÜGE sieht der Hund.")).items()) == [
        ("Zwei", 0), ("Züge", 0), ("sieht", 1), ("der", 2), ("Hund", 2),
    ]  # fmt: skip
    assert known.counts(words("12 € …")) == {}


def test_adds_the_words_of_two_trainings() -> None:
    one, two = words_of_pairs(PAIRS[:1]), words_of_pairs(PAIRS[1:])
    assert one + two == words_of_pairs(PAIRS)
    assert not (one + replace(two, complete=False)).complete
    assert not (replace(one, complete=False) + two).complete


def test_keeps_the_most_frequent_of_very_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_counts, "_PAIRS_AT_A_TIME", 5)
    monkeypatch.setattr(word_counts, "MOST_WORDS", 10)
    letters = [chr(ord("a") + number) for number in range(26)]
    common = ["immer oft"] * 9
    found = words_of_pairs([SentencePair(text, "x") for text in (*common, *letters)])
    assert not found.complete
    assert len(found.source) <= 10 + 6
    assert (found.source["immer"], found.source["oft"]) == (9, 9)
    assert words_of_pairs([SentencePair(text, "x") for text in (*common, *letters[:8])]).complete
    assert not words_of_pairs([SentencePair("x", text) for text in (*common, *letters)]).complete
