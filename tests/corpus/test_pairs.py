from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.corpus.pairs import Node, SentencePair
from transformer_mt.text.words import words


def test_words_and_marks_are_counted_one_by_one() -> None:
    assert words("„Don't“, sagt's der Süd-Ost-Wind… 3 ½ mal!") == [
        *("„", "Don't", "“", ",", "sagt's", "der", "Süd-Ost-Wind", "…", "3", "½", "mal", "!"),
    ]


@given(st.text())
def test_only_white_space_is_outside_words(text: str) -> None:
    assert "".join(words(text)) == "".join(text.split())


def test_a_reversed_pair_has_its_links_turned_round_and_sorted() -> None:
    pair = SentencePair("ich sehe sie", "her I see", ((0, 1), (1, 2), (2, 0)))
    assert pair.reversed() == SentencePair("her I see", "ich sehe sie", ((0, 2), (1, 0), (2, 1)))
    assert pair.reversed().reversed() == pair


def test_a_reversed_pair_has_references_and_trees_of_the_other_side() -> None:
    german = (Node("ADV", "root", -1), Node("PUNCT", "punct", 0))
    english = (Node("INTJ", "root", -1),)
    pair = SentencePair("Ja!", "Yes", None, ("Yep", "Aye"), ("Jawohl!",), (german, english))
    assert pair.reversed() == SentencePair("Yes", "Ja!", None, ("Jawohl!",), ("Yep", "Aye"), (english, german))
    assert pair.reversed().reversed() == pair
    assert pair.translations == ("Yes", "Yep", "Aye")
    assert pair.reversed().translations == ("Ja!", "Jawohl!")
