"""Models that link words: which heads, what their dictionary says, and both directions together."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from transformer_mt.corpus.pairs import Pairs, SentencePair, words
from transformer_mt.errors import InputError
from transformer_mt.inspection import aligners
from transformer_mt.inspection.aligners import (
    AligningModel,
    align,
    attention_dictionary,
    candidates,
    choose_by_agreement,
    choose_heads,
    cross_heads,
    find_aligner,
    guessed,
    link_counts,
)
from transformer_mt.inspection.alignment import linked, piece_words, real_words, shares, supported, word_weights
from transformer_mt.inspection.maps import attend_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.names import HeadName
from transformer_mt.runs.alignment import Aligner
from transformer_mt.tokenizer import Tokenizer

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


@pytest.fixture
def subject(model: Seq2Seq, tokenizer: Tokenizer) -> AligningModel:
    found = guessed(model, tokenizer)
    assert found is not None
    return found


def links_by_hand(subject: AligningModel, pair: SentencePair) -> set[tuple[int, int]]:
    """From the maps of the pair alone, which are not batched, padded or shifted by tensors."""
    aligner = subject.aligner
    cross = attend_pair(subject.model, subject.tokenizer, pair.source, pair.target).stacks["cross"].weights
    mean = torch.stack([cross[head.layer - 1, head.head - 1] for head in aligner.heads]).mean(dim=0)
    if aligner.shift:
        mean = torch.cat([mean[1:], torch.zeros_like(mean[:1])])
    source, target = (piece_words(subject.tokenizer, text) for text in (pair.source, pair.target))
    numbers = {"sources": real_words(pair.source), "targets": real_words(pair.target)}
    (weights,) = word_weights(mean[None], source, target, **numbers)
    real = [[word.lower() for word in words(text) if word.isalnum()] for text in (pair.source, pair.target)]
    mask = linked(supported(shares(weights), *real, aligner.dictionary), row=aligner.row, column=aligner.column)
    return {(s, t) for t, s in zip(*map(np.ndarray.tolist, mask.nonzero()), strict=True)}


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("heads", [HEADS, HEADS[3:4], [HEADS[0], HEADS[7]]])
def test_links_are_those_of_each_pair_alone(subject: AligningModel, heads: list[HeadName], shift: int) -> None:
    subject.model.train()
    chosen = replace(subject, aligner=Aligner(tuple(heads), "given", shift, dictionary={("mann", "man"): 0.9}))
    found = list(align(chosen, PAIRS))
    assert subject.model.training
    # All words but the last are real ones, so their numbers are those of the rows.
    assert [set(one.links) for one in found] == [links_by_hand(chosen, pair) for pair in PAIRS]
    assert [one.shares.shape for one in found] == [(9, 8), (5, 5), (3, 3)]
    for one in found:
        np.testing.assert_allclose(one.shares.sum(axis=1), [1.0] * (len(one.shares) - 1) + [0.0], rtol=1e-5)


def test_an_alignment_as_data(subject: AligningModel) -> None:
    (found,) = align(subject, PAIRS[1:2])
    record = found.to_json()
    assert record["source_words"] == ["Kannst", "du", "mir", "helfen", "?"]
    assert record["pharaoh"] == " ".join(f"{i}-{j}" for i, j in record["links"])
    assert (record["heads"], record["shift"], record["chosen_by"]) == (list(map(str, HEADS)), 0, "guess")
    assert np.array(record["shares"]) == pytest.approx(found.arrays()["shares"], abs=1e-4)
    assert found.arrays()["links"].tolist() == record["links"]


def test_counts_are_those_of_the_pairs_with_links_that_fit(subject: AligningModel) -> None:
    too_long = SentencePair("das Buch " * 40, "the book " * 40, ((0, 0),))
    right = predicted = 0
    for pair in PAIRS[:2]:
        found = links_by_hand(subject, pair)
        right, predicted = right + len(found & set(pair.links or ())), predicted + len(found)
    counts = link_counts(subject, [PAIRS[2], too_long, *PAIRS])
    assert (counts.right, counts.predicted, counts.gold) == (right, predicted, 12)  # without the marks at the ends


def test_a_word_that_shares_its_piece_with_another_has_no_share(
    subject: AligningModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aligners, "piece_words", lambda _, text: [0] * len(subject.tokenizer.encode(text)) + [-1])
    (found,) = align(subject, PAIRS[1:2])
    assert found.shares.shape == (5, 5)
    assert found.shares.sum() == found.shares[0, 0] == 1.0
    assert found.links == ((0, 0),)


def test_a_pair_that_is_too_long_is_named(subject: AligningModel) -> None:
    with pytest.raises(InputError, match=r"^pair 2: more than 64 tokens; shorten it$"):
        list(align(subject, [PAIRS[0], SentencePair("das Buch " * 40, "the book")]))


def test_heads_that_the_model_lacks_are_named(subject: AligningModel) -> None:
    lacking = replace(subject, aligner=Aligner((HeadName("cross", 3, 6),), "given"))
    message = r"^alignment: the model has no head cross.3.6; it has cross.1.1 to cross.3.5$"
    with pytest.raises(InputError, match=message):
        list(align(lacking, PAIRS))


def test_candidates_are_all_heads_each_layer_and_each_head_with_and_without_shift(model: Seq2Seq) -> None:
    found = candidates(model)
    assert len(found) == len(set(map(str, found))) == 2 * (1 + 3 + 15)
    assert (found[0].heads, found[0].shift, found[0].chosen_by) == (tuple(HEADS), 0, "guess")
    assert {len(one.heads) for one in found} == {15, 5, 1}
    assert sum(one.shift for one in found) == 19


def plant(monkeypatch: pytest.MonkeyPatch, planted: int, shift: int = 0) -> None:
    """The head with this number attends as the gold links of the pairs say; all others to one word after the other."""

    def head_weights(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs) -> Iterator[tuple[list[int], Tensor]]:
        for position, pair in enumerate(pairs):
            source, target = piece_words(tokenizer, pair.source), piece_words(tokenizer, pair.target)
            weights = torch.zeros(1, len(cross_heads(model)), len(target), len(source))
            weights[0, :, range(len(target)), [3 * row % (len(source) - 2) for row in range(len(target))]] = 1.0
            for row, word in enumerate(target[:-1]):
                columns = [(column, word) in (pair.links or ()) for column in source]
                if any(columns):
                    weights[0, planted, row + shift] = torch.tensor(columns).float() / sum(columns)
            yield [position], weights

    monkeypatch.setattr(aligners, "_head_weights", head_weights)


@pytest.mark.parametrize("shift", [0, 1])
def test_the_heads_with_the_lowest_error_rate_are_chosen(
    shift: int, model: Seq2Seq, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, 7, shift)
    found = choose_heads(model, tokenizer, PAIRS)
    assert (found.heads, found.shift, found.chosen_by) == ((HEADS[7],), shift, "links")
    assert found.error_rate == pytest.approx(0.0, abs=0.1)


def test_without_links_all_heads_are_a_guess_and_without_cross_attention_there_is_nothing(
    model: Seq2Seq, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pairs in (PAIRS[2:], []):
        found = find_aligner(model, tokenizer, validation=pairs, training=PAIRS)
        assert found is not None
        assert (found.heads, found.shift, found.chosen_by, found.error_rate) == (tuple(HEADS), 0, "guess", None)
    monkeypatch.setattr(model, "attention_stacks", dict)
    assert find_aligner(model, tokenizer, validation=PAIRS, training=PAIRS) is None
    assert guessed(model, tokenizer) is None


def test_the_dictionary_is_the_mean_share_of_two_words(subject: AligningModel, tokenizer: Tokenizer) -> None:
    pairs = [*PAIRS, PAIRS[1]]
    found = attention_dictionary(subject.model, tokenizer, subject.aligner, pairs)
    plain = [one.shares for one in align_without_neighbours(subject, pairs)]
    assert found
    assert all(share >= 0.2 for share in found.values())
    # Only the words of the second pair met twice.
    source, target = (text.lower().rstrip("?").split() for text in (PAIRS[1].source, PAIRS[1].target))
    expected = {
        (s, t): (0.2 + 2 * plain[1][j, i]) / 3 for (i, s), (j, t) in product(enumerate(source), enumerate(target))
    }
    assert found == pytest.approx({entry: share for entry, share in expected.items() if share >= 0.2}, rel=1e-4)


def align_without_neighbours(subject: AligningModel, pairs: Pairs) -> list[aligners.Alignment]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transformer_mt.inspection.alignment._NEIGHBOUR", 0.0)
        return list(align(subject, pairs))


def test_a_dictionary_that_does_harm_is_left_out(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    wrong = {(s.lower(), "man"): 1.0 for s in words(PAIRS[0].source)}
    aligner = replace(candidates(model)[0], dictionary=wrong)
    found = aligners.measured(model, tokenizer, aligner, PAIRS)
    rates = [
        link_counts(AligningModel(model, tokenizer, one), PAIRS).error_rate
        for one in (aligner, replace(aligner, dictionary={}))
    ]
    assert found.error_rate == min(rates)
    assert (found.dictionary == wrong) == (rates[0] <= rates[1])


def test_both_directions_say_the_mean_of_what_each_says(subject: AligningModel) -> None:
    pair = PAIRS[1]
    back = replace(subject, aligner=Aligner(tuple(HEADS[:5]), "given"))
    (ours,), (theirs,) = align(subject, [pair]), align(back, [pair.reversed()])
    (both,) = align(subject, [pair], reverse=back)
    turned = theirs.shares.T
    turned = turned / np.maximum(turned.sum(axis=1, keepdims=True), 1e-9)
    np.testing.assert_allclose(both.shares, (ours.shares + turned) / 2, rtol=1e-5)
    counts = link_counts(subject, [pair], reverse=back)
    assert (counts.predicted, counts.gold) == (len(both.links), 4)


def test_heads_are_chosen_where_both_directions_agree(subject: AligningModel, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, 4)
    ours, theirs = choose_by_agreement(subject, subject, PAIRS[:2])
    assert ours.aligner.heads == theirs.aligner.heads == (HEADS[4],)
    assert {ours.aligner.chosen_by, theirs.aligner.chosen_by} == {"agreement"}
