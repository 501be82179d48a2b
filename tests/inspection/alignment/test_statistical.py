"""The statistical aligner against expectation maximisation written out one number at a time."""

import math
import random
from collections import defaultdict

import numpy as np
import pytest
import torch

from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.inspection.alignment.statistical import (
    CONCENTRATION,
    NULL,
    StatisticalAligner,
    prior,
    score_baseline,
)

Corpus = list[tuple[list[str], list[str]]]


def corpus(pairs: int = 40) -> Corpus:
    """Sentences of a language of letters, and the same in capitals with the last word first."""
    draw = random.Random(3)
    sources = [[draw.choice("abcdefg") for _ in range(draw.randint(2, 5))] for _ in range(pairs)]
    return [(source, [source[-1].upper(), *map(str.upper, source[:-1])]) for source in sources]


def delta(i: int, j: int, n: int, m: int, tension: float) -> float:
    weights = [math.exp(-tension * abs(i / n - k / m)) for k in range(1, m + 1)]
    return (1 - NULL) * weights[j - 1] / sum(weights)


def digamma(number: float) -> float:
    return float(torch.digamma(torch.tensor(number, dtype=torch.float64)))


def by_hand(pairs: Corpus, iterations: int) -> tuple[dict[tuple[str | None, str], float], float]:
    together = {(s, t) for source, target in pairs for s in (None, *source) for t in target}
    theta: dict[tuple[str | None, str], float] = dict.fromkeys(together, 1.0)
    tension, words = 4.0, sum(len(target) for _, target in pairs)
    for iteration in range(iterations):
        counts: defaultdict[tuple[str | None, str], float] = defaultdict(float)
        distance = 0.0
        for source, target in pairs:
            n, m = len(target), len(source)
            for i, word in enumerate(target, start=1):
                scores = [NULL * theta[None, word]]
                scores += [delta(i, j, n, m, tension) * theta[source[j - 1], word] for j in range(1, m + 1)]
                for j, (given, score) in enumerate(zip((None, *source), scores, strict=True)):
                    counts[given, word] += score / sum(scores)
                    distance += abs(i / n - j / m) * score / sum(scores) if j else 0.0
        if iteration:
            for _ in range(8):
                expected = sum(
                    abs(i / len(target) - j / len(source))
                    * delta(i, j, len(target), len(source), tension) / (1 - NULL)
                    for source, target in pairs
                    for i in range(1, len(target) + 1)
                    for j in range(1, len(source) + 1)
                )  # fmt: skip
                tension = min(14.0, max(0.1, tension + 20.0 * (expected - distance) / words))
        for given, word in theta:
            row = sum(counts[entry] + CONCENTRATION for entry in together if entry[0] == given)
            theta[given, word] = math.exp(digamma(counts[given, word] + CONCENTRATION) - digamma(row))
    return theta, tension


def test_training_equals_expectation_maximisation_by_hand() -> None:
    pairs = corpus(13)
    aligner = StatisticalAligner.train(pairs, iterations=3)
    theta, tension = by_hand(pairs, 3)
    assert aligner.tension == pytest.approx(tension)
    assert aligner.tension != 4.0
    assert aligner.translation == pytest.approx(theta)


@pytest.mark.parametrize(("targets", "sources"), [(1, 1), (2, 5), (7, 3)])
def test_the_prior_is_that_of_the_formula_and_sums_to_one(targets: int, sources: int) -> None:
    found = prior(targets, sources, 2.5)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert found[:, 0] == pytest.approx(NULL)
    for i in range(1, targets + 1):
        for j in range(1, sources + 1):
            assert found[i - 1, j] == pytest.approx(delta(i, j, targets, sources, 2.5))


def test_words_are_linked_with_those_that_they_translate() -> None:
    aligner = StatisticalAligner.train(corpus())
    source, target = list("abcd"), list("DABC")
    assert aligner.align(source, target) == {(3, 0), (0, 1), (1, 2), (2, 3)}


def test_empty_sentences_and_words_never_seen_have_no_links() -> None:
    aligner = StatisticalAligner.train([*corpus(), ([], ["X"]), (["x"], [])])
    assert aligner.align([], ["A"]) == aligner.align(["a"], []) == frozenset()
    assert all("x" not in entry and "X" not in entry for entry in aligner.translation)


def test_a_word_that_nothing_explains_better_comes_from_no_word() -> None:
    table = {("a", "A"): 0.9, (None, "A"): 0.5, ("a", "OH"): 0.01, (None, "OH"): 0.9, ("a", "B"): 0.1, (None, "B"): 0.1}
    aligner = StatisticalAligner(table, tension=4.0)
    assert aligner.align(["a"], ["OH", "A", "B"]) == {(0, 1), (0, 2)}
    assert StatisticalAligner({("a", "OH"): 0.08, (None, "OH"): 0.93}, tension=4.0).align(["a"], ["OH"]) == frozenset()


def test_the_baseline_is_scored_in_lower_case_and_without_punctuation() -> None:
    pairs = [SentencePair(" ".join(source) + " .", " ".join(target) + " .") for source, target in corpus()]
    gold = SentencePair("A b C .", "c a B .", ((0, 1), (1, 2), (2, 0), (3, 3)))
    scores = score_baseline(pairs, [gold, pairs[0]])
    assert (scores.aer, scores.precision, scores.recall) == (0.0, 1.0, 1.0)
    wrong = score_baseline(pairs, [SentencePair(gold.source, gold.target, ((0, 1), (1, 1), (2, 1)))])
    assert (wrong.precision, wrong.recall) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
