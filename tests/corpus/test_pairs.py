from transformer_mt.corpus.pairs import Node, SentencePair


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
