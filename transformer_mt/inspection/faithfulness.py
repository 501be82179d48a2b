"""How far a picture of attention agrees with what happens when words are taken out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from transformer_mt.batching.encoded_pairs import fitting
from transformer_mt.corpus.pairs import Pairs, SentencePair
from transformer_mt.errors import InputError
from transformer_mt.inspection.intervals import Estimate, Resampling, sure
from transformer_mt.inspection.maps import StackMaps
from transformer_mt.inspection.methods import METHODS, Erasure, Method
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import lookup
from transformer_mt.tokenizer.tokenizer import Tokenizer

REFERENCE = "erasure"
# The name of the baseline beside the methods: the rows of erasure itself, shuffled.
SHUFFLED = "shuffled"

_SEED = 1

Matrix = Float[np.ndarray, "W V"]


class Which(NamedTuple):
    """A matrix of a sentence: its method, the layer (None: of the whole model) and head (None: the mean), from 1."""

    method: str
    layer: int | None
    head: int | None


class Scores(NamedTuple):
    """How far two matrices of a sentence agree: the means over target words."""

    correlation: float
    first: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a method agrees with erasure.

    `correlation` is Kendall's τ_b, from −1 over 0, chance, to 1; `first` the share of target words that have the same
    source word first. `layer` and `head` count from 1; without a layer the matrix is of the whole model, without a head
    it is the mean over the layer's. `sentences` are those in which a τ_b is defined.
    """

    method: str
    layer: int | None
    head: int | None
    correlation: Estimate
    first: Estimate
    sentences: int


_ESTIMATES = ("correlation", "first")


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """The agreement of every method with erasure over a set of sentences; the method `shuffled` is chance."""

    agreements: tuple[Agreement, ...]
    sentences: int

    def to_json(self) -> dict[str, Any]:
        """Ready for `json.dumps`: `sentences`, and `agreements` with the fields of `Agreement`; an estimate is an
        object of value, low and high."""
        agreements = [
            {field.name: getattr(agreement, field.name) for field in fields(agreement)}
            | {name: getattr(agreement, name).to_json() for name in _ESTIMATES}
            for agreement in self.agreements
        ]
        return {"sentences": self.sentences, "agreements": agreements}

    def arrays(self) -> dict[str, np.ndarray]:
        """A column for each field of `Agreement`, for `numpy.savez`: 0 for no layer or head; value, low and high of an
        estimate side by side."""
        columns = {field.name: [getattr(row, field.name) for row in self.agreements] for field in fields(Agreement)}
        columns |= {name: [number or 0 for number in columns[name]] for name in ("layer", "head")}
        columns |= {name: [one.numbers for one in columns[name]] for name in _ESTIMATES}
        return {f"agreements.{name}": np.array(column) for name, column in columns.items()}


def faithfulness(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, *, methods: Sequence[str] | None = None
) -> Faithfulness:
    """How far each method's cross-attention matrix agrees with erasure, over pairs of which the target is given.

    Of every target word its row over the source's words, punctuation among both, `</s>` in neither, is compared with
    the row of erasure by Kendall's τ_b, as Jain and Wallace (2019, §4.1) compare attention weights with what leaving a
    word out changes. Their change of the whole distribution has no sign; here it is the fall of ln p of the word that
    is written, and signs count. The mean over a sentence's words is the sentence's figure. Rows in which all numbers
    are equal, or that have one word, have no τ.

    The methods are all of `METHODS` unless some are named. Those that do not apply to the model are left out, and so
    are pairs longer than its `max_length`. Raises `InputError` for a method that there is not, and where no pair is
    left.
    """
    names = METHODS if methods is None else methods
    chosen = {name: lookup(METHODS, name, key="methods")() for name in names if name != REFERENCE}
    applied = {name: method for name, method in chosen.items() if method.applies_to(model)}
    kept = fitting(pairs, tokenizer, max_length=model.max_length)
    if not kept:
        raise InputError(f"faithfulness: no pair is within the model's {model.max_length} tokens; give shorter ones")
    found: dict[Which, list[Scores | None]] = {}
    random = np.random.default_rng(_SEED)
    for pair in kept:
        reference, matrices = _matrices_of(model, tokenizer, pair, applied)
        matrices[Which(SHUFFLED, None, None)] = random.permuted(reference, axis=1)
        for which, matrix in matrices.items():
            found.setdefault(which, []).append(compare(matrix, reference))
    return Faithfulness(tuple(_agreements(found, Resampling(len(kept)))), len(kept))


def compare(first: Matrix, second: Matrix) -> Scores | None:
    """Kendall's τ_b between the rows of two matrices, and how often they have the same column first: the means over
    the rows that have a τ_b; None without any."""
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
    orders = [_order(np.where(left_out, np.nan, matrix)) for matrix in (first, second)]
    agreeing, *differing = [(a * b).sum(axis=(1, 2)) for a, b in (orders, orders[:1] * 2, orders[1:] * 2)]
    with np.errstate(invalid="ignore"):
        return agreeing / np.sqrt(differing[0] * differing[1])


def _order(matrix: Matrix) -> Float[np.ndarray, "W V V"]:
    """For each row and pair of its columns 1, 0 or −1; 0 where either is NaN."""
    return np.nan_to_num(np.sign(matrix[:, :, None] - matrix[:, None, :]))


def _matrices_of(
    model: Seq2Seq, tokenizer: Tokenizer, pair: SentencePair, methods: Mapping[str, Method]
) -> tuple[Matrix, dict[Which, Matrix]]:
    """The cross-attention matrices of a pair over words: that of erasure, and all those of the methods."""

    def words(method: Method) -> StackMaps:
        maps = method.maps(model, tokenizer, pair.source, pair.target, stacks=["cross"])
        return maps.by_words().stacks["cross"]

    matrices = {}
    for name, method in methods.items():
        maps = words(method)
        for which in _all(name, maps, whole=method.whole):
            matrices[which] = _without_ends(maps, layer=which.layer or 1, head=which.head)
    return _without_ends(words(Erasure()), layer=1, head=None), matrices


def _all(method: str, maps: StackMaps, *, whole: bool) -> list[Which]:
    """The names of all matrices of a stack, the mean over heads of each layer before its heads."""
    if whole:
        return [Which(method, None, None)]
    layers, heads = maps.weights.shape[:2]
    return [Which(method, layer, head or None) for layer in range(1, layers + 1) for head in range(heads + 1)]


def _without_ends(maps: StackMaps, *, layer: int, head: int | None) -> Matrix:
    """A matrix over words without the row and the column of `</s>`; NaN where the model lacks the head.

    Layer and head count from 1.
    """
    return np.array(maps.matrix(layer - 1, None if head is None else head - 1), dtype=np.float64)[:-1, :-1]


def _agreements(found: Mapping[Which, Sequence[Scores | None]], resampling: Resampling) -> Iterator[Agreement]:
    """Of each matrix that has a score in any sentence."""
    for which, scores in found.items():
        numbers = np.array([score or (np.nan, np.nan) for score in scores])
        is_defined = ~np.isnan(numbers)
        if sentences := int(is_defined[:, 0].sum()):
            correlation, first = map(sure, resampling.ratios(np.nan_to_num(numbers), is_defined.astype(float)).T)
            yield Agreement(*which, correlation=correlation, first=first, sentences=sentences)
