"""Which heads of a model link words, what their dictionary says, and heads that both directions agree on."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor

from transformer_mt.corpus.pairs import Pairs, SentencePair, words
from transformer_mt.inspection.alignment import aligners
from transformer_mt.inspection.alignment.aligners import AligningModel, align, cross_heads, link_counts
from transformer_mt.inspection.alignment.choice import (
    attention_dictionary,
    candidates,
    choose_by_agreement,
    choose_heads,
    find_aligner,
    guessed,
    measured,
)
from transformer_mt.inspection.alignment.links import piece_words
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import HeadName
from transformer_mt.tokenizer.tokenizer import Tokenizer

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
        patch.setattr("transformer_mt.inspection.alignment.links._NEIGHBOUR", 0.0)
        return list(align(subject, pairs))


def test_a_dictionary_that_does_harm_is_left_out(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    wrong = {(s.lower(), "man"): 1.0 for s in words(PAIRS[0].source)}
    aligner = replace(candidates(model)[0], dictionary=wrong)
    found = measured(model, tokenizer, aligner, PAIRS)
    rates = [
        link_counts(AligningModel(model, tokenizer, one), PAIRS).error_rate
        for one in (aligner, replace(aligner, dictionary={}))
    ]
    assert found.error_rate == min(rates)
    assert (found.dictionary == wrong) == (rates[0] <= rates[1])


def test_heads_are_chosen_where_both_directions_agree(subject: AligningModel, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, 4)
    ours, theirs = choose_by_agreement(subject, subject, PAIRS[:2])
    assert ours.aligner.heads == theirs.aligner.heads == (HEADS[4],)
    assert {ours.aligner.chosen_by, theirs.aligner.chosen_by} == {"agreement"}
