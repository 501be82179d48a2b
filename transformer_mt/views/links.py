"""Word links read from attention weights, and their error rate.

A matrix of weights becomes links in these steps:

1. Pieces become words; rows and columns of no word are left out (`word_membership`, `words.over_words`).
2. x_ts = w_ts / (Σ_t' w_t's + c), then each row is divided by its sum: target words compete for a source word, so that
   a word that every row looks at explains none (`shares`).
3. Neighbours support each other, 0.1 (x_t−1,s−1 + x_t+1,s+1), because translations mostly keep the order of words
   (`supported`).
4. Every target word is linked to its largest share, if that is large enough; and every source word to the target word
   that has most of it, if that is enough of it (`linked`).
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from transformer_mt.corpus.pairs import Link, words
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.words import is_word, membership

# c: without it the only word of a target would have the whole of every source word.
_FLOOR = 0.2
_NEIGHBOUR = 0.1
# The least share of a target word's row, and of a source word's column, that makes a link.
ROW, COLUMN = 0.3, 0.4

# N matrices of T target and S source words without punctuation.
Matrices = Float[np.ndarray, "*N T S"]


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts of predicted links, of gold links, and of those in both."""

    right: int = 0
    predicted: int = 0
    gold: int = 0

    def __add__(self, other: "LinkCounts") -> "LinkCounts":
        return LinkCounts(self.right + other.right, self.predicted + other.predicted, self.gold + other.gold)

    @classmethod
    def of(cls, predicted: Set[Link], gold: Set[Link]) -> "LinkCounts":
        """The counts of one pair."""
        return cls(len(predicted & gold), len(predicted), len(gold))

    @property
    def error_rate(self) -> float:
        """AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|), from 0, the best, to 1 (Och and Ney 2003).

        All gold links are both sure and possible: S = P, so this is 1 − 2 |A∩S| / (|A| + |S|); 0 without any links.
        """
        total = self.predicted + self.gold
        return 1.0 - 2.0 * self.right / total if total else 0.0

    @property
    def precision(self) -> float:
        """The share of the predicted links that is right; 1 without any."""
        return self.right / self.predicted if self.predicted else 1.0

    @property
    def recall(self) -> float:
        """The share of the gold links that is predicted; 1 without any."""
        return self.right / self.gold if self.gold else 1.0


def real_words(text: str) -> list[int]:
    """The indices in `words(text)` of all but the punctuation marks."""
    return [i for i, word in enumerate(words(text)) if is_word(word)]


def between_words(links: Iterable[Link], source: str, target: str) -> frozenset[Link]:
    """The links without those of punctuation marks, which count on neither side."""
    sources, targets = set(real_words(source)), set(real_words(target))
    return frozenset((i, j) for i, j in links if i in sources and j in targets)


def word_membership(tokenizer: Tokenizer, text: str) -> Float[np.ndarray, "W N"]:
    """A row for each of `real_words`, a column for each piece and for `</s>` after them: 1 where it is part of it.

    Heads put their weight on punctuation and `</s>` where they find no word that matters (Clark et al. 2019, §3.2).
    """
    return membership(real_words(text), [*tokenizer.word_of_piece(text), -1])


def shares(weights: Matrices) -> Matrices:
    """Step 2: the share of each source word in each target word; rows sum to 1, or are empty."""
    return rows_to_one(weights / (weights.sum(axis=-2, keepdims=True) + _FLOOR))


def supported(shares: Matrices) -> Matrices:
    """Step 3: shares with the support of their diagonal neighbours."""
    diagonal = np.zeros_like(shares)
    diagonal[..., 1:, 1:] += shares[..., :-1, :-1]
    diagonal[..., :-1, :-1] += shares[..., 1:, 1:]
    has_shares = shares.sum(axis=-1, keepdims=True) > 0.0  # an empty row stays empty
    return rows_to_one(shares + _NEIGHBOUR * diagonal * has_shares)


def linked(shares: Matrices) -> Bool[np.ndarray, "*N T S"]:
    """Step 4: True where there is a link. The first of equal words has the link."""
    if not shares.size:
        return np.zeros(shares.shape, bool)
    of_source = shares / np.maximum(shares.sum(axis=-2, keepdims=True), np.finfo(shares.dtype).tiny)
    by_row = _is_first_maximum(shares, axis=-1) & (shares > ROW)
    by_column = _is_first_maximum(of_source, axis=-2) & (of_source > COLUMN)
    return by_row | by_column


def rows_to_one(numbers: Matrices) -> Matrices:
    """The numbers with each row divided by its sum; an empty row stays empty."""
    sums = numbers.sum(axis=-1, keepdims=True)
    return numbers / np.where(sums > 0.0, sums, 1.0)


def _is_first_maximum(numbers: Matrices, *, axis: int) -> Bool[np.ndarray, "*N T S"]:
    marks = np.zeros(numbers.shape, bool)
    np.put_along_axis(marks, np.expand_dims(numbers.argmax(axis=axis), axis), True, axis=axis)
    return marks
