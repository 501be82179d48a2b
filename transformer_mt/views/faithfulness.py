"""`tmt heads --faithful`: the agreement of attention with the effect of erasing words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from jaxtyping import Float

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.intervals import Estimate, estimates
from transformer_mt.links.tokens import PairTokens, prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.progress import advance
from transformer_mt.text.brief import Brief
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.methods import METHODS, REFERENCE
from transformer_mt.views.rendering import table_lines, wrapped

# The name of the baseline: the rows of erasure itself, shuffled.
SHUFFLED = "shuffled"
_SEED = 1

WordMatrix = Float[np.ndarray, "W V"]
# Method, layer (None: the whole model) and head (None: the mean over the layer).
MatrixKey = tuple[str, int | None, int | None]


@dataclass(frozen=True)
class Agreement:
    """The agreement of a method with erasure, over the `sentences` with a defined τ_b.

    `correlation` is Kendall's τ_b, from −1 to 1, 0 being chance; `first` is the share of target words for which both
    rank the same source word first. `layer` is None for a matrix of the whole model, `head` for the layer's mean.
    """

    method: str
    layer: int | None
    head: int | None
    correlation: Estimate
    first: Estimate
    sentences: int


@dataclass(frozen=True, repr=False)
class Faithfulness(Brief):
    """The agreement of every method with erasure over a set of sentences; the method `shuffled` is chance."""

    sentences: int
    agreements: tuple[Agreement, ...]


def faithfulness(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, *, methods: Iterable[str] = METHODS
) -> Faithfulness:
    """Measure the agreement of each method's cross-attention matrices with erasure, over pairs with given targets.

    Kendall's τ_b compares each target word's row over the source words, without `</s>`, with the row of erasure, as
    Jain and Wallace (2019, §4.1) compare attention weights with leaving a word out. They use the unsigned change of the
    whole distribution; we use the signed fall of ln p of the target word. A sentence's figure is the mean over its
    words. Rows with one word, or with all numbers equal, have no τ.

    `methods` defaults to all that apply to the model. Raises `InputError` for a text that is too long.
    """
    names = dict.fromkeys((REFERENCE, *methods))
    applied = [name for name in names if METHODS[name]().applies_to(model)]
    if "cross" not in model.attention_stacks():
        applied = [name for name in applied if METHODS[name].whole]
    random = np.random.default_rng(_SEED)
    rows = []
    for pair in pairs:
        tokens = prepare_pair(model, tokenizer, pair.source, pair.target)
        matrices = {key: matrix for name in applied for key, matrix in _matrices(name, model, tokens)}
        reference = matrices.pop((REFERENCE, None, None))
        matrices[SHUFFLED, None, None] = random.permuted(reference, axis=1)
        rows.append([compare_rows(matrix, reference) or (np.nan, np.nan) for matrix in matrices.values()])
        advance()
    scores = np.array(rows)  # N pairs, M matrices, 2
    is_defined = ~np.isnan(scores)
    found = estimates(np.nan_to_num(scores), is_defined.astype(float))
    agreements = []
    for (method, layer, head), (tau, first), (count, _) in zip(matrices, found, is_defined.sum(axis=0), strict=True):
        if tau and first:
            agreements.append(Agreement(method, layer, head, tau, first, int(count)))
    return Faithfulness(len(pairs), tuple(agreements))


def _matrices(name: str, model: Seq2Seq, tokens: PairTokens) -> Iterator[tuple[MatrixKey, np.ndarray]]:
    """Yield the matrices of a method over words, without `</s>`."""
    method = METHODS[name]()
    maps = method.maps(model, tokens, stacks=["cross"]).by_words().stacks["cross"]
    for layer, names in groupby(maps.heads("cross"), lambda one: one.layer):
        of_layer = list(names)
        yield (name, None if method.whole else layer, None), maps.mean(of_layer)[:-1, :-1]
        for one in () if method.whole else of_layer:
            yield (name, layer, one.head), maps.mean([one])[:-1, :-1]


def compare_rows(first: WordMatrix, second: WordMatrix) -> tuple[float, float] | None:
    """Kendall's τ_b between the rows of two matrices, and the share of rows with the same largest column.

    Both are means over the rows with a τ_b; None if there are none.
    """
    correlations = kendall(first, second)
    rows = ~np.isnan(correlations)
    if not rows.any():
        return None
    firsts = [np.nanargmax(matrix[rows], axis=1) for matrix in (first, second)]
    return float(correlations[rows].mean()), float((firsts[0] == firsts[1]).mean())


def kendall(first: WordMatrix, second: WordMatrix) -> Float[np.ndarray, " W"]:
    """Kendall's τ_b of each row: (concordant − discordant pairs of columns) / √(n₁ n₂).

    n₁ and n₂ count the pairs that are not tied in the first and in the second matrix (Kendall 1945). Columns that are
    NaN in either are ignored; a row with only ties is NaN.
    """
    correlations = []
    for row in zip(first, second, strict=True):
        advance(0)
        kept = ~np.isnan(row).any(axis=0)
        # V V: the order of each pair of columns, 1, 0 or −1.
        a, b = (np.sign(numbers[kept][:, None] - numbers[kept]) for numbers in row)
        with np.errstate(invalid="ignore"):
            correlations.append((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))
    return np.array(correlations)


def faithfulness_lines(found: Faithfulness, *, width: int) -> Iterator[str]:
    """Yield a table with the mean over the heads of each layer, and the best head, for each method."""
    explanation = (
        f"Agreement with erasure in {found.sentences} sentences: compares each target word's row over the source words "
        "with the fall of its ln p without each of them. tau is Kendall's, 0 is chance; first: how often both rank the "
        "same word first. Intervals are 95 % over sentences; best heads are chosen on these same sentences."
    )
    yield from (*wrapped(explanation, width=width), "")
    rows = []
    for method in dict.fromkeys(each.method for each in found.agreements):
        of_method = [each for each in found.agreements if each.method == method]
        heads = sorted((each for each in of_method if each.head), key=lambda each: -each.correlation.value)
        for one in [each for each in of_method if not each.head] + heads[:1]:
            head = f"best: {one.head}" if one.head else "mean" if one.layer else ""
            tau, first = ([f"{of.value:.2f}", f"{of.low:.2f} to {of.high:.2f}"] for of in (one.correlation, one.first))
            rows.append([method, str(one.layer or ""), head, *tau, *first])
    headings = ("method", "layer", "head", "tau", "interval", "first", "interval")
    yield from table_lines(rows, headings=headings, right=(1, 3, 5), width=width)
