"""Which heads link words, and the links of a model's attention."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from support.tiny import varied_model

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.corpus.pairs import Pairs, SentencePair
from transformer_mt.errors import InputError
from transformer_mt.head_names import HeadName
from transformer_mt.links import choose_heads as module
from transformer_mt.links.align import align, linked, real_words, shares, supported
from transformer_mt.links.choose_heads import choose_heads, guess_heads
from transformer_mt.links.counts import link_counts
from transformer_mt.links.tokens import over_words, prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.text.words import words
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.align import alignment_lines
from transformer_mt.views.maps import attend_pair
from transformer_mt.views.serialise import to_arrays, to_json

PAIRS = [
    SentencePair(
        "Der alte Mann liest ein gutes Buch.",
        "The old man is reading a good book.",
        ((0, 0), (1, 1), (2, 2), (3, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8)),
    ),
    SentencePair("Kannst du mir helfen?", "Can you help me?", ((0, 0), (1, 1), (2, 3), (3, 2), (4, 4))),
    SentencePair("Ich spielen.", "I think.", None),
]
HEADS = [HeadName("cross", layer, head) for layer in (1, 2, 3) for head in (1, 2, 3, 4, 5)]


def given(*heads: HeadName) -> AlignmentHeads:
    return AlignmentHeads(heads=heads, chosen_by="given")


def shares_by_hand(model: Seq2Seq, tokenizer: Tokenizer, heads: AlignmentHeads, pair: SentencePair) -> np.ndarray:
    """From the maps of the pair alone, which are neither batched nor padded."""
    cross = attend_pair(model, tokenizer, pair.source, pair.target).stacks["cross"].weights
    mean = torch.stack([cross[head.layer - 1, head.head - 1] for head in heads.heads]).mean(dim=0)
    rows, columns = prepare_pair(model, tokenizer, pair.source, pair.target).sides("cross")
    target, source = rows.membership()[real_words(pair.target)], columns.membership()[real_words(pair.source)]
    return supported(shares(over_words(mean.numpy(), target, source)))


def links_by_hand(
    model: Seq2Seq, tokenizer: Tokenizer, heads: AlignmentHeads, pair: SentencePair
) -> set[tuple[int, int]]:
    mask = linked(shares_by_hand(model, tokenizer, heads, pair))
    return {(s, t) for t, s in zip(*map(np.ndarray.tolist, mask.nonzero()), strict=True)}


@pytest.mark.parametrize("heads", [HEADS, HEADS[3:4], [HEADS[0], HEADS[7]]])
def test_links_are_those_of_each_pair_alone(model: Seq2Seq, tokenizer: Tokenizer, heads: list[HeadName]) -> None:
    model.train()
    found = list(align(model, tokenizer, PAIRS, given(*heads)))
    assert model.training
    # All words but the last are real ones, so their indices are those of the rows.
    assert [set(one.links) for one in found] == [links_by_hand(model, tokenizer, given(*heads), pair) for pair in PAIRS]
    assert [one.shares.shape for one in found] == [(9, 8), (5, 5), (3, 3)]
    for one in found:
        np.testing.assert_allclose(one.shares.sum(axis=1), [1.0] * (len(one.shares) - 1) + [0.0], rtol=1e-5)
    by_hand = shares_by_hand(model, tokenizer, given(*heads), PAIRS[0])
    np.testing.assert_allclose(found[0].shares[:-1, :-1], by_hand, rtol=1e-4)


def test_an_alignment_as_data_and_as_lines(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    (found,) = align(model, tokenizer, PAIRS[1:2], given(HEADS[2]))
    record, arrays = to_json(found), to_arrays(found)
    assert list(record["source_words"]) == ["Kannst", "du", "mir", "helfen", "?"]
    assert record["pharaoh"] == " ".join(f"{i}-{j}" for i, j in record["links"])
    assert (list(record["heads"]), record["chosen_by"]) == (["cross.1.3"], "given")
    assert np.array(record["shares"]) == pytest.approx(arrays["shares"], rel=1e-4)
    assert arrays["links"].tolist() == record["links"]
    links, source, target = map(str, alignment_lines(found))
    assert links == record["pharaoh"]
    assert source == "0 Kannst  1 du  2 mir  3 helfen  4 ?"
    of_first = ",".join(str(i) for i, j in found.links if j == 0)
    assert target.startswith(f"0 Can ({of_first})  1 you" if of_first else "0 Can  1 you")


def test_counts_are_those_of_the_pairs_with_links_that_fit(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    too_long = SentencePair("das Buch " * 40, "the book " * 40, ((0, 0),))
    found = [links_by_hand(model, tokenizer, given(*HEADS), pair) for pair in PAIRS[:2]]
    right = sum(len(links & set(pair.links or ())) for links, pair in zip(found, PAIRS, strict=False))
    counts = link_counts(model, tokenizer, [PAIRS[2], too_long, *PAIRS], given(*HEADS))
    expected = (right, sum(map(len, found)), 12)  # without the marks at the ends
    assert (counts.right, counts.predicted, counts.gold) == expected


def test_words_that_share_a_piece_share_its_column_and_its_links(model: Seq2Seq) -> None:
    corpus = ["老师爱音乐", "学生看见大海"] * 9
    tokenizer = Tokenizer.train(corpus, TokenizerConfig(kind="bpe", vocabulary_size=9_999))
    assert tokenizer.pieces(tokenizer.encode("老师"))[-1].endswith("老师")
    (found,) = align(model, tokenizer, [SentencePair("老师", "teacher")], given(*HEADS))
    assert found.source_words == ("老", "师")
    assert found.shares.shape == (1, 2)
    np.testing.assert_allclose(found.shares, [[0.5, 0.5]], rtol=1e-6)
    assert found.links == ((0, 0), (1, 0))


def test_pairs_that_are_too_long_and_heads_that_are_not_there_are_named(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match=r"^1 of the pairs: more than 64 tokens; shorten them$"):
        list(align(model, tokenizer, [PAIRS[0], SentencePair("das Buch " * 40, "the book")], given(*HEADS)))
    with pytest.raises(InputError, match=r"no head cross.3.6; it has cross.1.1 to cross.3.5$"):
        list(align(model, tokenizer, PAIRS, given(HeadName("cross", 3, 6))))


def plant(monkeypatch: pytest.MonkeyPatch, planted: list[int]) -> None:
    """These heads together attend as the gold links of the pairs say; all others to one word after the other."""

    def word_weights(_: Seq2Seq, __: Tokenizer, pairs: Pairs) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        for number, pair in enumerate(pairs):
            columns, rows = len(words(pair.source)), range(len(words(pair.target)))
            weights = np.zeros((len(HEADS), len(rows), columns + 1), np.float32)
            weights[:, rows, [3 * row % (columns - 1) for row in rows]] = 1.0
            for row in rows:
                gold = [(column, row) in (pair.links or ()) for column in range(columns + 1)]
                if any(gold):
                    weights[planted, row] = np.array(gold) / sum(gold)
            yield number, {"cross": weights}

    monkeypatch.setattr("transformer_mt.links.align.word_weights", word_weights)


@pytest.mark.parametrize("planted", [[7], [5, 6, 7, 8, 9]])
def test_the_heads_with_the_lowest_error_rate_are_chosen(
    planted: list[int], model: Seq2Seq, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, planted)
    chosen = choose_heads(model, tokenizer, PAIRS)
    assert chosen is not None
    assert (chosen.heads, chosen.chosen_by) == (tuple(HEADS[number] for number in planted), "links")
    assert chosen.error_rate == pytest.approx(link_counts(model, tokenizer, PAIRS, chosen).error_rate)
    assert chosen.error_rate == pytest.approx(0.0, abs=0.1)


def test_heads_are_chosen_on_the_first_pairs(
    model: Seq2Seq, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHOICE_PAIRS", 1)
    chosen = choose_heads(model, tokenizer, [PAIRS[2], PAIRS[1], PAIRS[0]])
    assert chosen is not None
    assert chosen.error_rate == link_counts(model, tokenizer, PAIRS[1:2], chosen).error_rate


def test_without_links_all_heads_are_a_guess_and_without_cross_attention_there_is_none(
    model: Seq2Seq, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pairs in (PAIRS[2:], []):
        chosen = choose_heads(model, tokenizer, pairs)
        assert chosen is not None
        assert (chosen.heads, chosen.chosen_by, chosen.error_rate) == (tuple(HEADS), "guess", None)
    monkeypatch.setattr(model, "attention_stacks", dict)
    assert choose_heads(model, tokenizer, PAIRS) is None
    assert guess_heads(model) is None


def test_a_model_of_which_heads_are_masked_links_by_those_that_are_left(tokenizer: Tokenizer) -> None:
    model = varied_model("model.attention.head_mask=['cross.1.2', 'cross.2.1']", vocabulary=tokenizer.size)
    guess = guess_heads(model)
    assert guess is not None
    assert len(guess.heads) == 4
    found = list(align(model, tokenizer, PAIRS[:2], guess))
    assert [set(each.links) for each in found] == [links_by_hand(model, tokenizer, guess, pair) for pair in PAIRS[:2]]
