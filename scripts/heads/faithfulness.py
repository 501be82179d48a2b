"""The agreement of attention with the effect of erasing words."""

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.evaluation.intervals import Estimate, estimates
from transformer_mt.links.tokens import PairTokens, prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.agreement import compare_rows
from transformer_mt.views.methods import METHODS, REFERENCE
from transformer_mt.views.rendering import table_lines, wrapped

# The name of the baseline: the rows of erasure itself, shuffled.
SHUFFLED = "shuffled"

# Method, layer (None: the whole model) and head (None: the mean over the layer).
MatrixKey = tuple[str, int | None, int | None]
# Kendall's τ_b, and the share of target words for which both rank the same source word first.
Agreement = tuple[Estimate, Estimate]


def faithfulness(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs) -> dict[MatrixKey, Agreement]:
    """Measure the agreement of each method's cross-attention matrices with erasure, over pairs with given targets.

    Kendall's τ_b compares each target word's row over the source words, without `</s>`, with the row of erasure, as
    Jain and Wallace (2019, §4.1) compare attention weights with leaving a word out. They use the unsigned change of the
    whole distribution; we use the signed fall of ln p of the target word. A sentence's figure is the mean over its
    words. Rows with one word, or with all numbers equal, have no τ.
    """
    names = [name for name in dict.fromkeys((REFERENCE, *METHODS)) if METHODS[name]().applies_to(model)]
    if "cross" not in model.attention_stacks():
        names = [name for name in names if METHODS[name].whole]
    random = np.random.default_rng(1)
    rows = []
    for pair in pairs:
        tokens = prepare_pair(model, tokenizer, pair.source, pair.target)
        matrices = {key: matrix for name in names for key, matrix in _matrices(name, model, tokens)}
        reference = matrices.pop((REFERENCE, None, None))
        matrices[SHUFFLED, None, None] = random.permuted(reference, axis=1)
        rows.append([compare_rows(matrix, reference) or (np.nan, np.nan) for matrix in matrices.values()])
    scores = np.array(rows)  # N pairs, M matrices, 2
    found = estimates(np.nan_to_num(scores), (~np.isnan(scores)).astype(float))
    return {key: (tau, first) for key, (tau, first) in zip(matrices, found, strict=True) if tau and first}


def _matrices(name: str, model: Seq2Seq, tokens: PairTokens) -> Iterator[tuple[MatrixKey, np.ndarray]]:
    """Yield the matrices of a method over words, without `</s>`."""
    method = METHODS[name]()
    maps = method.maps(model, tokens, stacks=["cross"]).by_words().stacks["cross"]
    for layer, names in groupby(maps.heads("cross"), lambda one: one.layer):
        of_layer = list(names)
        yield (name, None if method.whole else layer, None), maps.mean(of_layer)[:-1, :-1]
        for one in () if method.whole else of_layer:
            yield (name, layer, one.head), maps.mean([one])[:-1, :-1]


def faithfulness_lines(found: dict[MatrixKey, Agreement], *, sentences: int, width: int) -> Iterator[str]:
    """Yield a table with the mean over the heads of each layer, and the best head, for each method."""
    explanation = (
        f"Agreement with erasure in {sentences} sentences: compares each target word's row over the source words "
        "with the fall of its ln p without each of them. tau is Kendall's, 0 is chance; first: how often both rank the "
        "same word first. Intervals are 95 % over sentences; best heads are chosen on these same sentences."
    )
    yield from (*wrapped(explanation, width=width), "")
    rows = []
    for method, keys in groupby(found, key=lambda key: key[0]):
        of_method = list(keys)
        heads = sorted((key for key in of_method if key[2]), key=lambda key: -found[key][0].value)
        for key in [key for key in of_method if not key[2]] + heads[:1]:
            _, layer, head = key
            title = f"best: {head}" if head else "mean" if layer else ""
            figures = (text for of in found[key] for text in (f"{of.value:.2f}", f"{of.low:.2f} to {of.high:.2f}"))
            rows.append([method, str(layer or ""), title, *figures])
    headings = ("method", "layer", "head", "tau", "interval", "first", "interval")
    yield from table_lines(rows, headings=headings, right=(1, 3, 5), width=width)
