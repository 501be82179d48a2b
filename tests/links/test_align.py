"""Which heads link words, and the links of a model's attention."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from support.tiny import varied_model

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.corpus.pairs import Link, Pairs, SentencePair
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.links import choose_heads as module
from transformer_mt.links.align import align_pairs, competing_shares, links_of, supported, word_places
from transformer_mt.links.choose_heads import choose_heads, guess_heads
from transformer_mt.links.counts import link_counts
from transformer_mt.links.tokens import over_words, prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.text.words import words
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.maps import attend_pair
from transformer_mt.views.serialise import to_json

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
    """From the maps of this pair only, without batching, padding and punctuation marks."""
    cross = attend_pair(model, tokenizer, pair.source, pair.target).stacks["cross"].weights
    mean = torch.stack([cross[head.layer - 1, head.head - 1] for head in heads.heads]).mean(dim=0)
    rows, columns = prepare_pair(model, tokenizer, pair.source, pair.target).sides("cross")
    target, source = rows.membership()[word_places(pair.target)], columns.membership()[word_places(pair.source)]
    return supported(competing_shares(over_words(mean.numpy(), target, source)))


def links_by_hand(model: Seq2Seq, tokenizer: Tokenizer, heads: AlignmentHeads, pair: SentencePair) -> set[Link]:
    # All words except the last are real, so their indices equal row indices.
    return links_of(shares_by_hand(model, tokenizer, heads, pair))


@pytest.mark.parametrize("heads", [HEADS, HEADS[3:4], [HEADS[0], HEADS[7]]])
def test_links_do_not_depend_on_the_batch(model: Seq2Seq, tokenizer: Tokenizer, heads: list[HeadName]) -> None:
    model.train()
    found = list(align_pairs(model, tokenizer, PAIRS, given(*heads)))
    assert model.training
    assert [set(one.links) for one in found] == [links_by_hand(model, tokenizer, given(*heads), pair) for pair in PAIRS]
    assert [one.shares.shape for one in found] == [(9, 8), (5, 5), (3, 3)]
    for one, pair in zip(found, PAIRS, strict=True):
        by_hand = shares_by_hand(model, tokenizer, given(*heads), pair)
        np.testing.assert_allclose(one.shares, np.pad(by_hand, (0, 1)), rtol=1e-4)


def test_an_alignment_as_data(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    """tests/cli/test_align.py covers the lines and the arrays."""
    (found,) = align_pairs(model, tokenizer, PAIRS[1:2], given(HEADS[2]))
    record = to_json(found)
    assert list(record["source_words"]) == ["Kannst", "du", "mir", "helfen", "?"]
    assert record["pharaoh"] == " ".join(f"{i}-{j}" for i, j in record["links"])
    assert (list(record["heads"]), record["chosen_by"]) == (["cross.1.3"], "given")


def test_counts_cover_the_pairs_with_links_that_fit(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    too_long = SentencePair("das Buch " * 40, "the book " * 40, ((0, 0),))
    found = [links_by_hand(model, tokenizer, given(*HEADS), pair) for pair in PAIRS[:2]]
    right = sum(len(links & set(pair.links or ())) for links, pair in zip(found, PAIRS, strict=False))
    counts = link_counts(model, tokenizer, [PAIRS[2], too_long, *PAIRS], given(*HEADS))
    # Without the marks at the ends.
    assert (counts.right, counts.predicted, counts.gold) == (right, sum(map(len, found)), 12)


def test_words_that_share_a_token_share_its_column_and_links(model: Seq2Seq) -> None:
    tokenizer = Tokenizer.train(["老师爱音乐", "学生看见大海"] * 9, TokenizerConfig(kind="bpe", vocabulary_size=9_999))
    assert tokenizer.pieces(tokenizer.encode("老师"))[-1].endswith("老师")
    (found,) = align_pairs(model, tokenizer, [SentencePair("老师", "teacher")], given(*HEADS))
    assert found.source_words == ("老", "师")
    np.testing.assert_allclose(found.shares, [[0.5, 0.5]], rtol=1e-6)
    assert found.links == ((0, 0), (1, 0))


def test_overlong_pairs_and_unknown_heads_are_errors(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match=r"^1 of the pairs: more than 64 tokens; shorten them$"):
        list(align_pairs(model, tokenizer, [PAIRS[0], SentencePair("das Buch " * 40, "the book")], given(*HEADS)))
    with pytest.raises(InputError, match=r"no head cross.3.6; it has cross.1.1 to cross.3.5$"):
        list(align_pairs(model, tokenizer, PAIRS, given(HeadName("cross", 3, 6))))


@pytest.mark.parametrize("planted", [[7], [5, 6, 7, 8, 9]])
def test_chooses_the_heads_with_the_lowest_error_rate(
    planted: list[int], model: Seq2Seq, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def word_weights(_: Seq2Seq, __: Tokenizer, pairs: Pairs) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """Together, the planted heads attend as the gold links say; the others attend to one word after another."""
        for number, pair in enumerate(pairs):
            columns, rows = len(words(pair.source)), len(words(pair.target))
            weights = np.zeros((len(HEADS), rows, columns + 1), np.float32)
            gold = np.zeros((rows, columns + 1), np.float32)
            for source, target in pair.links or ():
                gold[target, source] = 1.0
            weights[:, range(rows), [3 * row % (columns - 1) for row in range(rows)]] = 1.0
            weights[planted] = gold / gold.sum(axis=1, keepdims=True)
            yield number, {"cross": weights}

    monkeypatch.setattr("transformer_mt.links.align.word_weights", word_weights)
    chosen = choose_heads(model, tokenizer, PAIRS)
    assert chosen is not None
    assert (chosen.heads, chosen.chosen_by) == (tuple(HEADS[number] for number in planted), "links")
    assert chosen.error_rate == pytest.approx(link_counts(model, tokenizer, PAIRS, chosen).error_rate)
    assert chosen.error_rate == pytest.approx(0.0, abs=0.1)


def test_chooses_heads_on_the_first_pairs(
    model: Seq2Seq, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHOICE_PAIRS", 1)
    chosen = choose_heads(model, tokenizer, [PAIRS[2], PAIRS[1], PAIRS[0]])
    assert chosen is not None
    assert chosen.error_rate == link_counts(model, tokenizer, PAIRS[1:2], chosen).error_rate


def test_guesses_all_heads_without_links(model: Seq2Seq, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    for pairs in (PAIRS[2:], []):
        assert choose_heads(model, tokenizer, pairs) == AlignmentHeads(heads=tuple(HEADS), chosen_by="guess")
    monkeypatch.setattr(model, "attention_stacks", dict)
    assert choose_heads(model, tokenizer, PAIRS) is guess_heads(model) is None


def test_links_by_the_heads_that_are_not_masked(tokenizer: Tokenizer) -> None:
    model = varied_model("model.attention.head_mask=['cross.1.2', 'cross.2.1']", vocabulary=tokenizer.size)
    guess = guess_heads(model)
    assert guess is not None
    assert len(guess.heads) == 4
    found = list(align_pairs(model, tokenizer, PAIRS[:2], guess))
    assert [set(each.links) for each in found] == [links_by_hand(model, tokenizer, guess, pair) for pair in PAIRS[:2]]
