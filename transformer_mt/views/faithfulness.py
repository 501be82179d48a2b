"""`tmt heads --faithful`: how far a picture of attention agrees with what happens when words are taken out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.intervals import Estimate, Resampling
from transformer_mt.links.tokens import prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.progress import advance
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.methods import METHODS
from transformer_mt.views.rendering import rendered, table, wrapped

REFERENCE = "erasure"
# The name of the baseline beside the methods: the rows of erasure itself, shuffled.
SHUFFLED = "shuffled"
_SEED = 1

Matrix = Float[np.ndarray, "W V"]


class Scores(NamedTuple):
    """Kendall's τ_b between two rows, and whether they have the same column first; or the means of both."""

    correlation: float
    first: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of a method with erasure, in the `sentences` in which a τ_b is defined.

    `correlation` is Kendall's τ_b, from −1 over 0, chance, to 1; `first` the share of target words that have the same
    source word first. Without a layer the matrix is of the whole model, without a head the mean over the layer's.
    """

    method: str
    layer: int | None
    head: int | None
    correlation: Estimate
    first: Estimate
    sentences: int


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """The agreement of every method with erasure over a set of sentences; the method `shuffled` is chance."""

    sentences: int
    agreements: tuple[Agreement, ...]


def faithfulness(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, *, methods: Iterable[str] = METHODS
) -> Faithfulness:
    """The agreement of each method's cross-attention matrix with erasure, over pairs with given targets.

    Each target word's row over the source's words, without `</s>`, is compared with that of erasure by Kendall's τ_b,
    as Jain and Wallace (2019, §4.1) compare attention weights with the effect of leaving a word out. Their change of
    the whole distribution has no sign; here it is the fall of ln p of the word that is written, and signs count. The
    mean over a sentence's words is its figure. Rows in which all numbers are equal, or that have one word, have no τ.

    The methods are all that apply to the model, unless some are named. Raises `InputError` for a text that is too long.
    """
    names = dict.fromkeys((REFERENCE, *methods))
    has_cross = "cross" in model.attention_stacks()
    applied = {
        name: method for name in names if (method := METHODS[name]()).applies_to(model) and (method.whole or has_cross)
    }
    random = np.random.default_rng(_SEED)
    rows = []
    for pair in pairs:
        tokens = prepare_pair(model, tokenizer, pair.source, pair.target)
        # By method, layer (None: of the whole model) and head (None: the mean), from 1; NaN where a head is off.
        matrices: dict[tuple[str, int | None, int | None], Matrix] = {}
        for name, method in applied.items():
            maps = method.maps(model, tokens, stacks=["cross"]).by_words().stacks["cross"]
            layers, heads = (1, 0) if method.whole else maps.weights.shape[:2]
            for layer, head in product(range(layers), (None, *range(heads))):
                key = name, None if method.whole else layer + 1, None if head is None else head + 1
                matrices[key] = np.array(maps.matrix(layer, head), dtype=np.float64)[:-1, :-1]
        reference = matrices.pop((REFERENCE, None, None))
        matrices[SHUFFLED, None, None] = random.permuted(reference, axis=1)
        rows.append([compare(matrix, reference) or Scores(np.nan, np.nan) for matrix in matrices.values()])
        advance()
    scores = np.array(rows)  # N pairs, M matrices, 2
    is_defined = ~np.isnan(scores)
    estimates = Resampling(len(pairs)).estimates(np.nan_to_num(scores), is_defined.astype(float))
    counts = is_defined[:, :, 0].sum(axis=0).tolist()
    agreements = (
        Agreement(*key, correlation, first, count)
        for key, (correlation, first), count in zip(matrices, estimates, counts, strict=True)
        if correlation and first
    )
    return Faithfulness(len(pairs), tuple(agreements))


def compare(first: Matrix, second: Matrix) -> Scores | None:
    """The scores of the rows of two matrices, the means over those that have a τ_b; None without any."""
    correlations = kendall(first, second)
    rows = ~np.isnan(correlations)
    if not rows.any():
        return None
    firsts = [np.nanargmax(matrix[rows], axis=1) for matrix in (first, second)]
    return Scores(float(correlations[rows].mean()), float((firsts[0] == firsts[1]).mean()))


def kendall(first: Matrix, second: Matrix) -> Float[np.ndarray, " W"]:
    """Kendall's τ_b of each row: pairs of columns in the same order less those in opposite order, over √(n₁ n₂).

    n₁ and n₂ are the numbers of pairs that differ in the first and in the second, so ties count for neither (Kendall
    1945). Columns that are NaN in either are left out; a row without pairs that differ is NaN.
    """
    left_out = np.isnan(first) | np.isnan(second)
    # W V V: the order of each pair of columns, 1, 0 or −1; 0 where either is NaN.
    kept = [np.where(left_out, np.nan, matrix) for matrix in (first, second)]
    a, b = (np.nan_to_num(np.sign(matrix[:, :, None] - matrix[:, None, :])) for matrix in kept)
    with np.errstate(invalid="ignore"):
        return (a * b).sum(axis=(1, 2)) / np.sqrt((a * a).sum(axis=(1, 2)) * (b * b).sum(axis=(1, 2)))


def faithfulness_lines(found: Faithfulness, *, width: int) -> Iterator[str]:
    """For each method the mean over the heads of each layer, and its best head."""
    explanation = (
        f"Agreement with erasure in {found.sentences} sentences: a target word's row over the source words, beside the "
        "fall of its ln p without each of them. tau is Kendall's, 0 is chance; first: how often both have the same "
        "word first. Intervals of 95 % over sentences; best heads are the best on these very sentences."
    )
    yield from (*wrapped(explanation, width=width), "")
    cells = []
    for method in dict.fromkeys(agreement.method for agreement in found.agreements):
        of_method = [agreement for agreement in found.agreements if agreement.method == method]
        heads = sorted((each for each in of_method if each.head), key=lambda each: -each.correlation.value)
        for row in [each for each in of_method if not each.head] + heads[:1]:
            head = f"best: {row.head}" if row.head else "mean" if row.layer else ""
            cells.append([row.method, str(row.layer or ""), head])
            for one in (row.correlation, row.first):
                cells[-1] += [f"{one.value:.2f}", f"{one.low:.2f} to {one.high:.2f}"]
    headings = ("method", "layer", "head", "tau", "interval", "first", "interval")
    yield from (line.plain for line in rendered(table(cells, headings=headings, right=(1, 3, 5)), width=width))
