from transformer_mt.corpus.pairs import Node, SentencePair


def test_reversing_a_pair_reverses_and_sorts_its_links() -> None:
    pair = SentencePair("ich sehe sie", "her I see", ((0, 1), (1, 2), (2, 0)))
    assert pair.reversed() == SentencePair("her I see", "ich sehe sie", ((0, 2), (1, 0), (2, 1)))
    assert pair.reversed().reversed() == pair


def test_reversing_a_pair_swaps_references_and_trees() -> None:
    german = (Node("ADV", "root", -1), Node("PUNCT", "punct", 0))
    english = (Node("INTJ", "root", -1),)
    pair = SentencePair("Ja!", "Yes", None, ("Yep", "Aye"), ("Jawohl!",), (german, english))
    assert pair.reversed() == SentencePair("Yes", "Ja!", None, ("Jawohl!",), ("Yep", "Aye"), (english, german))
    assert pair.reversed().reversed() == pair
    assert pair.translations == ("Yes", "Yep", "Aye")
    assert pair.reversed().translations == ("Ja!", "Jawohl!")
