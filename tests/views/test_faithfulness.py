"""The agreement of methods with erasure."""

import itertools
import math
from collections.abc import Collection

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.tiny import tiny_model
from support.variants import RECURRENT
from typing_extensions import override

from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.head_names import STACKS
from transformer_mt.intervals import Estimate
from transformer_mt.links.tokens import PairTokens, prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.attend import agreement, layer_matrices, view_attention
from transformer_mt.views.faithfulness import (
    Agreement,
    Faithfulness,
    compare_rows,
    faithfulness,
    faithfulness_lines,
    kendall,
)
from transformer_mt.views.maps import AttentionMaps
from transformer_mt.views.methods import METHODS, Gradient

PAIRS = [
    SentencePair("Der alte Mann liest ein gutes Buch.", "The old man is reading a good book."),
    SentencePair("Ich glaube, dass die Kinder spielen.", "I think that the children are playing."),
    SentencePair("Der Satz.", "The sentence."),
]


QUICK = ["weights", "gradient", "erasure"]


rows = st.lists(st.sampled_from([0.0, 1.0, 2.0, math.nan]), min_size=5, max_size=5)


def by_pairs(first: list[float], second: list[float]) -> float:
    """Kendall's τ_b from the signs of all pairs of columns."""
    known = [(x, y) for x, y in zip(first, second, strict=True) if not math.isnan(x + y)]
    signs = [(np.sign(x - v), np.sign(y - w)) for (x, y), (v, w) in itertools.combinations(known, 2)]
    one, other = (sum(pair[side] ** 2 for pair in signs) for side in (0, 1))
    return sum(a * b for a, b in signs) / math.sqrt(one * other) if one and other else math.nan


@given(first=rows, second=rows)
def test_kendall_counts_concordant_and_discordant_pairs(first: list[float], second: list[float]) -> None:
    found = kendall(np.array([first, second]), np.array([second, second]))
    assert found == pytest.approx([by_pairs(first, second), by_pairs(second, second)], nan_ok=True)


def test_rows_without_tau_are_ignored() -> None:
    first = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [2.0, 3.0, 1.0]])
    second = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])
    assert compare_rows(first, second) == pytest.approx(((1.0 + 1.0 / 3.0) / 2.0, 1.0))
    assert compare_rows(first[1:2], second[1:2]) is compare_rows(first[:, :1], second[:, :1]) is None
    # `first` compares only columns with numbers in both.
    first = np.array([[9.0, 2.0, 3.0, np.nan], [5.0, 6.0, 7.0, np.nan]])
    found = compare_rows(first, np.array([[1.0, 2.0, 3.0, np.nan], [-3.0, -2.0, -1.0, np.nan]]))
    assert found[1] == 0.5


def test_sentence_of_one_word_is_ignored(trained: Seq2Seq, tokenizer: Tokenizer) -> None:
    for pairs in (PAIRS[:1], [SentencePair("Hund", "dog"), PAIRS[0]]):
        found = faithfulness(trained, tokenizer, pairs, methods=["gradient"])
        (row,) = (row for row in found.agreements if row.method == "gradient")
        assert (found.sentences, row.sentences) == (len(pairs), 1)
        assert row.correlation.low == row.correlation.value == row.correlation.high
    assert not faithfulness(trained, tokenizer, [SentencePair("Hund", "dog")], methods=["gradient"]).agreements


def test_default_methods_include_new_ones(
    trained: Seq2Seq, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in set(METHODS) - set(QUICK):
        monkeypatch.delitem(METHODS, name)
    monkeypatch.setitem(METHODS, "own", METHODS["gradient"])
    found = {row.method for row in faithfulness(trained, tokenizer, PAIRS[-1:]).agreements}
    assert found == {"weights", "gradient", "own", "shuffled"}
    assert not faithfulness(trained, tokenizer, PAIRS[-1:], methods=[]).agreements[1:]


class EndsChanged(Gradient):
    """Gradient × input with changed numbers in the row and column of `</s>`."""

    @override
    def maps(self, model: Seq2Seq, tokens: PairTokens, *, stacks: Collection[str] = tuple(STACKS)) -> AttentionMaps:
        found = super().maps(model, tokens, stacks=stacks)
        for matrix in (found.stacks["cross"].weights, found.stacks["cross"].over_words):
            matrix[..., -1, :] = 0.0
            matrix[..., :, -1] = 77.0
        return found


def test_end_symbols_are_ignored(trained: Seq2Seq, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    before = faithfulness(trained, tokenizer, PAIRS, methods=["gradient"])
    monkeypatch.setitem(METHODS, "gradient", EndsChanged)
    assert faithfulness(trained, tokenizer, PAIRS, methods=["gradient"]) == before


@pytest.fixture(scope="module")
def trained(tokenizer: Tokenizer) -> Seq2Seq:
    torch.manual_seed(2)
    return tiny_model(vocabulary=tokenizer.size)


@pytest.fixture(scope="module")
def found(trained: Seq2Seq, tokenizer: Tokenizer) -> Faithfulness:
    return faithfulness(trained, tokenizer, PAIRS, methods=QUICK)


def test_every_method_layer_and_head_is_compared(found: Faithfulness) -> None:
    whole = [(name, None, None) for name in ("gradient", "shuffled")]
    every = [(layer, head) for layer in (1, 2) for head in (None, 1, 2, 3)]
    names = [(row.method, row.layer, row.head) for row in found.agreements]
    assert len(names) == len(set(names))
    assert set(names) == {*whole, *((name, *which) for name in ("weights",) for which in every)}
    assert found.sentences == 3
    for row in found.agreements:
        for figure in (row.correlation, row.first):
            assert figure.low <= figure.value <= figure.high
        assert row.sentences == 3


def test_figure_is_the_mean_over_sentences(found: Faithfulness, trained: Seq2Seq, tokenizer: Tokenizer) -> None:
    def figures(pairs: list[SentencePair]) -> list[float]:
        rows = faithfulness(trained, tokenizer, pairs, methods=["weights"]).agreements
        return [row.correlation.value for row in rows if row.method == "weights"]

    singles = [figures([pair]) for pair in PAIRS]
    rows = [row for row in found.agreements if row.method == "weights"]
    assert len({row.correlation.value for row in rows}) == len(rows) == 8
    for row, single in zip(rows, zip(*singles, strict=True), strict=True):
        assert row.correlation.value == pytest.approx(sum(single) / 3)
        assert min(single) <= row.correlation.low < row.correlation.high <= max(single)


def test_figure_compares_the_matrix_with_erasure(found: Faithfulness, trained: Seq2Seq, tokenizer: Tokenizer) -> None:
    pair = trained, prepare_pair(trained, tokenizer, PAIRS[2].source, PAIRS[2].target)
    view, erased = view_attention(*pair), view_attention(*pair, method="erasure")
    matrices = layer_matrices(view, layer="2", head="3")
    expected = agreement(matrices[0], erased)
    (row,) = (
        row
        for row in faithfulness(trained, tokenizer, PAIRS[2:], methods=["weights"]).agreements
        if (row.method, row.layer, row.head) == ("weights", 2, 3)
    )
    assert (row.correlation.value, row.first.value) == pytest.approx(expected)


def test_shuffled_rows_agree_by_chance(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    (row,) = faithfulness(model, tokenizer, PAIRS[1:] * 4, methods=[]).agreements
    assert row.method == "shuffled"
    assert row.correlation.low < 0.0 < row.correlation.high
    assert row.correlation.high - row.correlation.low < 0.5
    assert 0.0 < row.first.value < 0.5


def test_inapplicable_methods_are_left_out(tokenizer: Tokenizer) -> None:
    for score, methods in {
        "dot": {"weights", "gradient", "shuffled"},
        "none": {"gradient", "shuffled"},
    }.items():
        model = tiny_model(RECURRENT, f"model.score={score}", vocabulary=tokenizer.size)
        found = faithfulness(model, tokenizer, PAIRS[2:], methods=QUICK)
        assert {row.method for row in found.agreements} == methods


def measured(method: str, layer: int | None, head: int | None, correlation: float) -> Agreement:
    first = Estimate(0.5, 0.25, 0.75)
    return Agreement(method, layer, head, Estimate(correlation, correlation - 0.125, 1.0), first, sentences=7)


def test_table_has_layer_means_and_the_best_head() -> None:
    of_heads = [("weights", 1, None, 0.25), ("weights", 1, 1, 0.0), ("weights", 1, 2, 0.5), ("weights", 2, None, 0.125)]
    of_heads += [("weights", 2, 1, 0.25), ("weights", 2, 2, -0.25)]
    whole = [("gradient", None, None, 0.375), ("shuffled", None, None, -0.5)]
    rows = tuple(measured(*one) for one in (*of_heads, *whole))
    lines = [*faithfulness_lines(Faithfulness(11, rows), width=80)]
    assert max(map(len, lines)) <= 80
    assert "in 11 sentences" in lines[0]
    assert [" ".join(line.split()) for line in lines[lines.index("") + 1 :]] == [
        "method layer head tau interval first interval",
        "weights 1 mean 0.25 0.12 to 1.00 0.50 0.25 to 0.75",
        "weights 2 mean 0.12 0.00 to 1.00 0.50 0.25 to 0.75",
        "weights 1 best: 2 0.50 0.38 to 1.00 0.50 0.25 to 0.75",
        "gradient 0.38 0.25 to 1.00 0.50 0.25 to 0.75",
        "shuffled -0.50 -0.62 to 1.00 0.50 0.25 to 0.75",
    ]
