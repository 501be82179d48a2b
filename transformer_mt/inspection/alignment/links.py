"""Word links read from attention weights, and how wrong they are.

A matrix of weights becomes links in these steps:

1. Pieces become words, and columns of no word are left out (`word_weights`).
2. x_ts = w_ts / (Σ_t' w_t's + c), then each row is divided by its sum: target words compete for a source word, so that
   one that everybody looks at explains nobody (`shares`).
3. Neighbours help each other: 0.1 (x_t−1,s−1 + x_t+1,s+1) is added, for translations mostly keep words together; and
   each number is multiplied by what a dictionary says of its two words, if there is one (`supported`).
4. Every target word is linked to its largest share, if that is large enough; and every source word to the target word
   that has most of it, if that is enough of it (`linked`).
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_mt.corpus.pairs import Link, words
from transformer_mt.runs.alignment import Dictionary
from transformer_mt.tokenizer.tokenizer import Tokenizer

# What belongs to no word: special symbols and punctuation.
NO_WORD = -1

# How much of a source word is nobody's, so that the only word of a target still sees differences.
_NOBODY = 0.2
_NEIGHBOUR = 0.1
# What the dictionary says of two words that it does not have.
UNKNOWN_SHARE = 0.1

# N matrices of T target and S source words that are no punctuation marks.
Matrices = Float[np.ndarray, "*N T S"]


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Of links that were found and gold links: how many are in both, and how many there are of each."""

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

        All gold links are both sure and possible: S = P, so this is 1 − 2 |A∩S| / (|A| + |S|). Without any links it is
        0.
        """
        total = self.predicted + self.gold
        return 1.0 - 2.0 * self.right / total if total else 0.0

    @property
    def precision(self) -> float:
        """The share of what was found that is right; 1 where nothing was found."""
        return self.right / self.predicted if self.predicted else 1.0

    @property
    def recall(self) -> float:
        """The share of the gold links that was found; 1 where there are none."""
        return self.right / self.gold if self.gold else 1.0


def real_words(text: str) -> list[int]:
    """Which of `words(text)` are no punctuation marks."""
    return [i for i, word in enumerate(words(text)) if any(letter.isalnum() for letter in word)]


def between_words(links: Iterable[Link], source: str, target: str) -> frozenset[Link]:
    """The links without those of punctuation marks, which count on neither side."""
    sources, targets = set(real_words(source)), set(real_words(target))
    return frozenset((i, j) for i, j in links if i in sources and j in targets)


def piece_words(tokenizer: Tokenizer, text: str) -> list[int]:
    """For each piece of the text and the `</s>` after it, the word of `words(text)` that it belongs to.

    Punctuation marks and `</s>` are `NO_WORD`.
    """
    real = set(real_words(text))
    return [word if word in real else NO_WORD for word in tokenizer.word_of_piece(text)] + [NO_WORD]


def word_weights(
    weights: Float[Tensor, "N Q K"],
    source_pieces: Sequence[int],
    target_pieces: Sequence[int],
    *,
    sources: Sequence[int],
    targets: Sequence[int],
) -> Float[np.ndarray, "N T S"]:
    """Weights of pieces as weights of the words `sources` and `targets`; the pieces are those of `piece_words`.

    A source word gets the sum over its pieces, a target word the mean (Clark et al. 2019, §4.1). Rows and columns of no
    word are left out: heads put their weight there where they find no word that matters (Clark et al. 2019, §3.2). A
    word without a piece of its own has zeros.
    """
    rows, columns = _membership(targets, target_pieces), _membership(sources, source_pieces)
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
    # In NumPy: for matrices this small, torch's threads cost more than they do.
    return rows @ weights.numpy(force=True) @ columns.T


def shares(weights: Matrices) -> Matrices:
    """Step 2: how much of each source word a target word has of all that it looks at; rows sum to 1, or are empty."""
    return rows_to_one(weights / (weights.sum(axis=-2, keepdims=True) + _NOBODY))


def supported(found: Matrices, source: Sequence[str], target: Sequence[str], dictionary: Dictionary) -> Matrices:
    """Step 3: shares with the support of the neighbours and of the dictionary; words are in lower case."""
    diagonal = np.zeros_like(found)
    diagonal[..., 1:, 1:] += found[..., :-1, :-1]
    diagonal[..., :-1, :-1] += found[..., 1:, 1:]
    helped = found.sum(axis=-1, keepdims=True) > 0.0  # a word without any share gets none from its neighbours
    sum_of_both = found + _NEIGHBOUR * diagonal * helped
    if dictionary:
        entries = [[dictionary.get((s, t), UNKNOWN_SHARE) for s in source] for t in target]
        sum_of_both = sum_of_both * np.array(entries).reshape(len(target), len(source))
    return rows_to_one(sum_of_both)


def linked(found: Matrices, *, row: float, column: float) -> Bool[np.ndarray, "*N T S"]:
    """Step 4: where there are links. Of equal words the first has the link."""
    if not found.size:
        return np.zeros(found.shape, bool)
    of_source = found / np.maximum(found.sum(axis=-2, keepdims=True), np.finfo(found.dtype).tiny)
    by_row = _is_first_maximum(found, axis=-1) & (found > row)
    by_column = _is_first_maximum(of_source, axis=-2) & (of_source > column)
    return by_row | by_column


def _is_first_maximum(found: Matrices, *, axis: int) -> Bool[np.ndarray, "*N T S"]:
    marks = np.zeros(found.shape, bool)
    np.put_along_axis(marks, np.expand_dims(found.argmax(axis=axis), axis), True, axis=axis)
    return marks


def rows_to_one(numbers: Matrices) -> Matrices:
    """The numbers with each row divided by its sum; an empty row stays empty."""
    sums = numbers.sum(axis=-1, keepdims=True)
    return numbers / np.where(sums > 0.0, sums, 1.0)


def _membership(chosen: Sequence[int], of_pieces: Sequence[int]) -> Float[np.ndarray, "W N"]:
    """W words, N pieces: 1 where a piece belongs to the word."""
    return np.equal.outer(np.array(chosen, int), np.array(of_pieces, int)).astype(np.float32)
