from transformer_mt.corpus.pairs import SentencePair


def test_reversing_a_pair_reverses_and_sorts_its_links() -> None:
    pair = SentencePair("ich sehe sie", "her I see", ((0, 1), (1, 2), (2, 0)))
    assert pair.reversed() == SentencePair("her I see", "ich sehe sie", ((0, 2), (1, 0), (2, 1)))
    assert pair.reversed().reversed() == pair


def test_reversing_a_pair_swaps_references() -> None:
    pair = SentencePair("Ja!", "Yes", None, ("Yep", "Aye"), ("Jawohl!",))
    assert pair.reversed() == SentencePair("Yes", "Ja!", None, ("Jawohl!",), ("Yep", "Aye"))
    assert pair.reversed().reversed() == pair
    assert pair.translations == ("Yes", "Yep", "Aye")
    assert pair.reversed().translations == ("Ja!", "Jawohl!")
