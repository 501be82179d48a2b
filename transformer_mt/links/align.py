"""The words of a sentence and of its translation that belong together, by cross-attention.

A matrix of attention weights becomes links in these steps:

1. Pieces become words; rows and columns of punctuation and `</s>`, on which heads put their weight where they find no
   word that matters (Clark et al. 2019, §3.2), are left out (`word_weights`, `word_places`).
2. x_ts = w_ts / (Σ_t' w_t's + c), then each row is divided by its sum: target words compete for a source word, so that
   a word that every row looks at explains none (`competing_shares`).
3. Neighbours support each other, 0.1 (x_t−1,s−1 + x_t+1,s+1), because translations mostly keep the order of words
   (`supported`).
4. Every target word is linked to its largest share, if that is large enough; and every source word to the target word
   that has most of it, if that is enough of it (`linked`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from transformer_mt.corpus.pairs import Link, Pairs, format_links
from transformer_mt.errors import InputError
from transformer_mt.head_names import HeadName
from transformer_mt.links.word_weights import word_weights
from transformer_mt.models.head_mask import head_names
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.text.words import is_word, words
from transformer_mt.tokenizer.tokenizer import Tokenizer

# c: without it the only word of a target would have the whole of every source word.
_FLOOR = 0.2
_NEIGHBOUR = 0.1
# The least share of a target word's row, and of a source word's column, that makes a link.
ROW, COLUMN = 0.3, 0.4


# N matrices of T target and S source words without punctuation.
Matrices = Float[np.ndarray, "*N T S"]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The links (source word, target word) of a pair, and the share of each target word that each source word has.

    Words are those of `text.words`; rows are target words, columns source words. Punctuation marks have no
    links, and zeros; the other rows sum to 1. `heads` are averaged, `chosen_by` is that of `AlignmentHeads`.
    """

    source: str
    target: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    links: tuple[Link, ...]
    pharaoh: str
    shares: Float[np.ndarray, "T S"]
    heads: tuple[str, ...]
    chosen_by: str


def align_pairs(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, chosen: AlignmentHeads) -> Iterator[Alignment]:
    """The alignment of each normalised pair, in order, from the mean weights of the chosen heads under teacher forcing.

    Raises `InputError` for heads that the model lacks, and for a pair that is longer than it takes.
    """
    heads = tuple(map(str, chosen.heads))
    for pair, (shares,) in zip(pairs, word_shares(model, tokenizer, pairs, [chosen.heads]), strict=True):
        links = tuple(sorted(links_of(shares)))
        texts = pair.source, pair.target, tuple(words(pair.source)), tuple(words(pair.target))
        yield Alignment(*texts, links, format_links(links), shares, heads, chosen.chosen_by)


def word_places(text: str) -> list[int]:
    """The indices in `words(text)` of all but the punctuation marks."""
    return [i for i, word in enumerate(words(text)) if is_word(word)]


def competing_shares(weights: Matrices) -> Matrices:
    """Step 2: the share of each source word in each target word; rows sum to 1, or are empty."""
    return _rows_to_one(weights / (weights.sum(axis=-2, keepdims=True) + _FLOOR))


def supported(shares: Matrices) -> Matrices:
    """Step 3: shares with the support of their diagonal neighbours."""
    diagonal = np.zeros_like(shares)
    diagonal[..., 1:, 1:] += shares[..., :-1, :-1]
    diagonal[..., :-1, :-1] += shares[..., 1:, 1:]
    has_shares = shares.sum(axis=-1, keepdims=True) > 0.0  # an empty row stays empty
    return _rows_to_one(shares + _NEIGHBOUR * diagonal * has_shares)


def linked(shares: Matrices) -> Bool[np.ndarray, "*N T S"]:
    """Step 4: True where there is a link. Equal shares are linked alike."""
    if not shares.size:
        return np.zeros(shares.shape, bool)
    of_source = shares / np.maximum(shares.sum(axis=-2, keepdims=True), np.finfo(shares.dtype).tiny)
    by_row = (shares == shares.max(axis=-1, keepdims=True)) & (shares > ROW)
    return by_row | (of_source == of_source.max(axis=-2, keepdims=True)) & (of_source > COLUMN)


def _rows_to_one(numbers: Matrices) -> Matrices:
    """The numbers with each row divided by its sum; an empty row stays empty."""
    sums = numbers.sum(axis=-1, keepdims=True)
    return numbers / np.where(sums > 0.0, sums, 1.0)


def links_of(shares: Float[np.ndarray, "T S"]) -> set[Link]:
    """Step 4 for one pair: its links (source word, target word)."""
    return {(s, t) for t, s in np.argwhere(linked(shares)).tolist()}


def word_shares(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, groups: Sequence[Sequence[HeadName]]
) -> list[Float[np.ndarray, "N T S"]]:
    """Steps 1 to 3 for each pair, with the mean weights of each of N groups of heads; zeros for punctuation marks."""
    names = cross_heads(model)
    if missing := sorted({head for heads in groups for head in heads} - set(names)):
        extent = f"it has {names[0]} to {names[-1]}" if names else "it has no cross-attention"
        raise InputError("alignment", f"the model has no head {missing[0]}", extent)
    mixture = np.array([[float(name in heads) / len(heads) for name in names] for heads in groups], np.float32)
    matrices: dict[int, Float[np.ndarray, "N T S"]] = {}
    for row, weights in word_weights(model, tokenizer, pairs) if pairs else ():
        source, target = pairs[row].source, pairs[row].target
        rows, columns = np.ix_(word_places(target), word_places(source))
        means = np.einsum("nh,hts->nts", mixture, weights["cross"][:, rows, columns])
        matrices[row] = np.zeros((len(groups), len(words(target)), len(words(source))), np.float32)
        matrices[row][:, rows, columns] = supported(competing_shares(means))
    return [matrices[row] for row in range(len(pairs))]


def cross_heads(model: Seq2Seq) -> list[HeadName]:
    """The heads of the cross-attention; none for a model without."""
    return [name for name in head_names(model) if name.stack == "cross"]
