"""Models that link words: which heads, what their dictionary says, and both directions together."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from transformer_mt.corpus.pairs import SentencePair, words
from transformer_mt.errors import InputError
from transformer_mt.inspection.alignment import aligners
from transformer_mt.inspection.alignment.aligners import AligningModel, align, link_counts
from transformer_mt.inspection.alignment.choice import (
    guessed,
)
from transformer_mt.inspection.alignment.links import linked, piece_words, real_words, shares, supported, word_weights
from transformer_mt.inspection.maps import attend_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import HeadName
from transformer_mt.runs.alignment import Aligner
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
