"""Word alignment by cross-attention.

A matrix of attention weights becomes links in these steps:

1. Tokens are merged into words. Rows and columns of punctuation and `</s>` are dropped: heads put their weight there if
   they find no word that matters (Clark et al. 2019, §3.2) (`word_weights`, `word_places`).
2. x_ts = w_ts / (Σ_t' w_t's + c), then each row is divided by its sum. Target words compete for a source word, so that
   a word that every row looks at explains none (`competing_shares`).
3. Diagonal neighbours support each other, 0.1 (x_t−1,s−1 + x_t+1,s+1), because translation mostly preserves word order
   (`supported`).
4. Every target word is linked to the source word with its largest share, if that is large enough, and every source word
   to the target word with most of it, if that is enough (`links_of`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transformer_mt.corpus.pairs import Link, Pairs, format_links
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.links.word_weights import word_weights
from transformer_mt.models.head_mask import head_names
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.text.brief import Brief
from transformer_mt.text.words import is_word, words
from transformer_mt.tokenizer.tokenizer import Tokenizer

# c: without it, a one-word target would get all of every source word.
_FLOOR = 0.2
_NEIGHBOUR = 0.1
# The minimum share of a target word's row, and of a source word's column, for a link.
ROW = 0.3
COLUMN = 0.4


# N matrices of T target and S source words, without punctuation.
Matrices = Float[np.ndarray, "*N T S"]


@dataclass(frozen=True, repr=False)
class Alignment(Brief):
    """The word links (source, target) of a pair, and the share of each source word in each target word.

    Words are `text.words`. Rows are target words, columns source words. Punctuation marks have no links and shares of
    0; the other rows sum to 1. `heads` were averaged, `chosen_by` is `AlignmentHeads.chosen_by`.
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
    """Align normalised pairs, in order, by the mean weights of the chosen heads under teacher forcing.

    Raises `InputError` for heads that the model lacks, and for a pair that is too long for it.
    """
    heads = tuple(map(str, chosen.heads))
    for pair, (shares,) in zip(pairs, word_shares(model, tokenizer, pairs, [chosen.heads]), strict=True):
        links = tuple(sorted(links_of(shares)))
        texts = pair.source, pair.target, tuple(words(pair.source)), tuple(words(pair.target))
        yield Alignment(*texts, links, format_links(links), shares, heads, chosen.chosen_by)


def word_places(text: str) -> list[int]:
    """The indices in `words(text)` of everything except punctuation marks."""
    return [i for i, word in enumerate(words(text)) if is_word(word)]


def competing_shares(weights: Matrices) -> Matrices:
    """Step 2: the share of each source word in each target word. Rows sum to 1 or are empty."""
    return _rows_to_one(weights / (weights.sum(axis=-2, keepdims=True) + _FLOOR))


def supported(shares: Matrices) -> Matrices:
    """Step 3: shares with support from diagonal neighbours."""
    diagonal = np.zeros_like(shares)
    diagonal[..., 1:, 1:] += shares[..., :-1, :-1]
    diagonal[..., :-1, :-1] += shares[..., 1:, 1:]
    has_shares = shares.sum(axis=-1, keepdims=True) > 0.0  # an empty row stays empty
    return _rows_to_one(shares + _NEIGHBOUR * diagonal * has_shares)


def _rows_to_one(numbers: Matrices) -> Matrices:
    """Divide each row by its sum; an empty row stays empty."""
    sums = numbers.sum(axis=-1, keepdims=True)
    return numbers / np.where(sums > 0.0, sums, 1.0)


def links_of(shares: Float[np.ndarray, "T S"]) -> set[Link]:
    """Step 4: the links (source word, target word) of a pair. Ties are all linked."""
    if not shares.size:
        return set()
    of_source = shares / np.maximum(shares.sum(axis=0), np.finfo(shares.dtype).tiny)
    by_row = (shares == shares.max(axis=1, keepdims=True)) & (shares > ROW)
    by_column = (of_source == of_source.max(axis=0)) & (of_source > COLUMN)
    return {(s, t) for t, s in np.argwhere(by_row | by_column).tolist()}


def word_shares(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, groups: Sequence[Sequence[HeadName]]
) -> list[Float[np.ndarray, "N T S"]]:
    """Steps 1 to 3 for each pair, from the mean weights of N groups of heads; zeros for punctuation marks."""
    names = cross_heads(model)
    if missing := sorted({head for heads in groups for head in heads} - set(names)):
        extent = f"it has {names[0]} to {names[-1]}" if names else "it has no cross-attention"
        raise InputError("alignment", f"the model has no head {missing[0]}", extent)
    mixture = np.array([[float(name in heads) / len(heads) for name in names] for heads in groups], np.float32)
    found = {}
    for row, weights in word_weights(model, tokenizer, pairs) if pairs else ():
        cross = weights["cross"][:, :, :-1]  # without `</s>`
        rows, columns = np.ix_(word_places(pairs[row].target), word_places(pairs[row].source))
        means = np.einsum("nh,hts->nts", mixture, cross[:, rows, columns])
        found[row] = np.zeros((len(groups), *cross.shape[1:]), np.float32)
        found[row][:, rows, columns] = supported(competing_shares(means))
    return [found[row] for row in range(len(pairs))]


def cross_heads(model: Seq2Seq) -> list[HeadName]:
    """The cross-attention heads; empty for a model without cross-attention."""
    return [name for name in head_names(model) if name.stack == "cross"]
