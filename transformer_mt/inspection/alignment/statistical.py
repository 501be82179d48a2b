"""A statistical word aligner, without any network: IBM model 2 with a prior that favours the diagonal.

Dyer et al. 2013, "A Simple, Fast, and Effective Reparameterization of IBM Model 2", known as fast_align.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from transformer_mt.corpus.pairs import Link, Pairs, SentencePair, words
from transformer_mt.inspection.alignment.links import LinkCounts, between_words
from transformer_mt.inspection.alignment.symmetrising import SYMMETRISATIONS

# The prior of a word that comes from no word, and the concentration α of the Dirichlet prior on θ; as fast_align has
# them, like all that follows.
NULL, CONCENTRATION = 0.08, 0.01
# How often all pairs are looked at, and the tension λ before that.
ITERATIONS, TENSION = 5, 4.0
# After an iteration: gradient steps for the tension, how large they are, and the least and the most it becomes.
_STEPS, _RATE, _TENSIONS = 8, 20.0, (0.1, 14.0)
# θ of words that never were in one pair.
_UNSEEN = 1e-9
# The most training pairs of the baseline, for the memory that they take.
BASELINE_PAIRS = 100_000

Words = Sequence[str]


@dataclass(frozen=True)
class StatisticalAligner:
    """p(t_i, a_i = j | s) = δ(j | i) θ(t_i | s_j): which of m source words each of n target words comes from.

    δ(j | i) = (1 − p₀) exp(−λ |i/n − j/m|) / Z_i with positions that count from 1, and p₀ for no word at all, whose θ
    stands under `None`. λ is the `tension`.
    """

    translation: dict[tuple[str | None, str], float]
    tension: float

    @classmethod
    def train(cls, pairs: Iterable[tuple[Words, Words]], *, iterations: int = ITERATIONS) -> "StatisticalAligner":
        """Learned from sentence pairs, (source, target) each, by expectation maximisation.

        θ(t | s) ∝ exp ψ(count(s, t) + α), the variational step for a Dirichlet prior; from the second iteration on, λ
        follows the gradient of the likelihood.
        """
        found = _Cooccurrences(pairs)
        theta, tension = np.ones(len(found.words)), TENSION
        for iteration in range(iterations):
            counts, distance = found.expected(theta, tension)
            if iteration:
                tension = found.better_tension(tension, distance)
            theta = found.variational(counts)
        return cls(dict(zip(found.words, theta.tolist(), strict=True)), tension)

    def align(self, source: Words, target: Words) -> frozenset[Link]:
        """The links (source word, target word): every target word to its likeliest source word, unless that is none."""
        if not source or not target:
            return frozenset()
        columns = (None, *source)
        theta = np.array([[self.translation.get((s, t), _UNSEEN) for s in columns] for t in target])
        best = (theta * prior(len(target), len(source), self.tension)).argmax(axis=1)
        return frozenset((int(column) - 1, i) for i, column in enumerate(best) if column)


def distances(targets: int, sources: int) -> Float[np.ndarray, "N M"]:
    """|i/n − j/m| for all positions of target and source, which count from 1."""
    rows, columns = (np.arange(1, size + 1) / size for size in (targets, sources))
    return np.abs(np.subtract.outer(rows, columns))


def prior(targets: int, sources: int, tension: float) -> Float[np.ndarray, "N C"]:
    """δ: where a target word comes from before any word is known; the first of the m + 1 columns is that of no word."""
    weights = np.exp(-tension * distances(targets, sources))
    weights *= (1.0 - NULL) / weights.sum(axis=1, keepdims=True)
    return np.hstack([np.full((targets, 1), NULL), weights])


@dataclass(frozen=True)
class BaselineScores:
    """How well a statistical aligner finds the links of pairs: error rate, precision and recall, from 0 to 1.

    `name` says which of its link sets this is: of one direction or of both made one.
    """

    aer: float
    precision: float
    recall: float
    name: str


def score_baseline(training: Pairs, pairs: Pairs) -> BaselineScores:
    """A statistical aligner, trained in both directions on words in lower case, against the gold links of pairs.

    Of one direction and of all `SYMMETRISATIONS` the one with the lowest error rate on these very pairs is taken, which
    flatters the baseline.
    """
    lower = [_lower(pair) for pair in training]
    forward = StatisticalAligner.train(lower)
    backward = StatisticalAligner.train((target, source) for source, target in lower)
    counts: dict[str, LinkCounts] = {}
    for pair in (pair for pair in pairs if pair.links is not None):
        source, target = _lower(pair)
        there = forward.align(source, target)
        back = frozenset((i, j) for j, i in backward.align(target, source))
        found = {"one direction": there} | {name: made(there, back) for name, made in SYMMETRISATIONS.items()}
        gold = between_words(pair.links or (), pair.source, pair.target)
        for name, links in found.items():
            right = LinkCounts.of(between_words(links, pair.source, pair.target), gold)
            counts[name] = counts.get(name, LinkCounts()) + right
    name = min(counts, key=lambda name: counts[name].error_rate)
    return BaselineScores(counts[name].error_rate, counts[name].precision, counts[name].recall, name)


def _lower(pair: SentencePair) -> tuple[list[str], list[str]]:
    # Word by word: in lower case, some letters become two characters, which are cut apart.
    return [word.lower() for word in words(pair.source)], [word.lower() for word in words(pair.target)]


class _Cooccurrences:
    """Which words were in one pair, and the pairs by their lengths, so that each length is one array.

    `words` are the pairs of words (source or None, target), numbered from 0; `by_length[n, m]` has the numbers of the
    cells of all pairs with n target and m source words.
    """

    def __init__(self, pairs: Iterable[tuple[Words, Words]]) -> None:
        numbers: dict[tuple[str | None, str], int] = {}
        cells: dict[tuple[int, int], list[list[int]]] = {}
        for source, target in pairs:
            if source and target:
                row = [numbers.setdefault((s, t), len(numbers)) for t in target for s in (None, *source)]
                cells.setdefault((len(target), len(source)), []).append(row)
        self.words = list(numbers)
        self.by_length: dict[tuple[int, int], Int[np.ndarray, "P N C"]] = {
            (n, m): np.array(rows, np.int32).reshape(-1, n, m + 1) for (n, m), rows in cells.items()
        }
        sources = {word: number for number, word in enumerate(dict.fromkeys(word for word, _ in numbers))}
        self._source_of = np.array([sources[word] for word, _ in numbers], np.int32)

    def expected(self, theta: Float[np.ndarray, " W"], tension: float) -> tuple[Float[np.ndarray, " W"], float]:
        """How often each word comes from each, in expectation, and the mean distance that a target word comes from."""
        counts, distance = np.zeros(len(theta)), 0.0
        for (n, m), cells in self.by_length.items():
            posterior = theta[cells] * prior(n, m, tension)
            posterior /= posterior.sum(axis=2, keepdims=True)
            counts += np.bincount(cells.ravel(), posterior.ravel(), minlength=len(theta))
            distance += float((posterior[:, :, 1:].sum(axis=0) * distances(n, m)).sum())
        return counts, distance / self._target_words

    def better_tension(self, tension: float, distance: float) -> float:
        """λ after some steps of gradient ascent: up where words come from nearer than the prior expects."""
        for _ in range(_STEPS):
            expected = 0.0
            for (n, m), cells in self.by_length.items():
                weights = np.exp(-tension * distances(n, m))
                weights /= weights.sum(axis=1, keepdims=True)
                expected += len(cells) * float((weights * distances(n, m)).sum())
            step = _RATE * (expected / self._target_words - distance)
            tension = float(np.clip(tension + step, *_TENSIONS))
        return tension

    def variational(self, counts: Float[np.ndarray, " W"]) -> Float[np.ndarray, " W"]:
        """θ(t | s) = exp(ψ(c(s, t) + α) − ψ(Σ_t (c(s, t) + α))), over the words t that s was in a pair with."""
        smooth = counts + CONCENTRATION
        totals = np.bincount(self._source_of, smooth)
        return np.exp(_digamma(smooth) - _digamma(totals)[self._source_of])

    @property
    def _target_words(self) -> int:
        return sum(len(cells) * n for (n, _), cells in self.by_length.items())


def _digamma(numbers: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    return torch.digamma(torch.from_numpy(numbers)).numpy()
