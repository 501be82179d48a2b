"""How far a picture of attention agrees with what happens when words are taken out."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.errors import InputError
from transformer_mt.inspection.maps import AttentionMaps, StackMaps
from transformer_mt.inspection.methods import METHODS, Erasure
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.names import lookup
from transformer_mt.tokenizer import Tokenizer

REFERENCE = "erasure"
# The name of the baseline beside the methods: the rows of erasure itself, shuffled.
SHUFFLED = "shuffled"

_RESAMPLES = 1_000
_SEED = 1

Matrix = Float[np.ndarray, "W V"]


class Which(NamedTuple):
    """A matrix of a sentence: its method, the layer (None: of the whole model) and head (None: the mean), from 1."""

    method: str
    layer: int | None
    head: int | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a method agrees with erasure, from −1 over 0, chance, to 1: the mean over sentences of Kendall's τ_b.

    `low` and `high` are the ends of its 95 % interval over sentences (percentiles of the bootstrap); `sentences` says
    over how many: those in which it is defined. `layer` and `head` count from 1; without a layer the matrix is of the
    whole model, without a head it is the mean over the layer's.
    """

    method: str
    layer: int | None
    head: int | None
    correlation: float
    low: float
    high: float
    sentences: int


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """The agreement of every method with erasure over a set of sentences; the method `shuffled` is chance."""

    agreements: tuple[Agreement, ...]
    sentences: int

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for `json.dumps`: `sentences`, and `agreements` as in `Agreement`."""
        return {"sentences": self.sentences, "agreements": [asdict(agreement) for agreement in self.agreements]}

    def arrays(self) -> dict[str, np.ndarray]:
        """A column for every field of `Agreement`, for `numpy.savez`; a layer or head that is None is 0."""
        rows = [asdict(agreement) for agreement in self.agreements]
        columns = {name: np.array([row[name] or 0 for row in rows]) for name in ("layer", "head")}
        columns |= {name: np.array([row[name] for row in rows]) for name in rows[0] if name not in columns}
        return {f"agreements.{name}": column for name, column in columns.items()}

    def lines(self) -> list[str]:
        """A table of the methods and of their layers, the mean over heads; a method's best head where it has heads."""
        title = f"Agreement with erasure over {self.sentences} sentences: Kendall's tau between a target word's row and"
        explained = "how far its ln p falls without each source word; 0 is chance. Intervals: 95 %, over sentences."
        shown = [agreement for agreement in self.agreements if agreement.head is None]
        shown += [self._best_head(method) for method in dict.fromkeys(a.method for a in self.agreements if a.head)]
        shown.sort(key=lambda agreement: self._order(agreement.method))
        return [title, explained, "", f"{'method':12}{'layer':>6}{'head':>6}{'tau':>7}   interval", *map(_line, shown)]

    def _best_head(self, method: str) -> Agreement:
        return max((a for a in self.agreements if a.method == method and a.head), key=lambda a: a.correlation)

    def _order(self, method: str) -> int:
        return [agreement.method for agreement in self.agreements].index(method)


def faithfulness(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, *, methods: Sequence[str] = tuple(METHODS)
) -> Faithfulness:
    """How far each method's cross-attention matrix agrees with erasure, over pairs of which the target is given.

    Of every target word its row over the source's words, punctuation among both, `</s>` in neither, is compared with
    the row of erasure by Kendall's τ_b, as Jain and Wallace (2019, §4.1) compare attention weights with what leaving a
    word out changes. Their change of the whole distribution has no sign; here it is the fall of ln p of the word that
    is written, and signs count. The mean over a sentence's words is the sentence's figure. Rows in which all numbers
    are equal, or that have one word, have no τ.

    Methods that do not apply to the model are left out, and so are pairs longer than its `max_length`. Raises
    `InputError` for a method that there is not, and where no pair is left.
    """
    chosen = {name: lookup(METHODS, name, key="methods")() for name in methods if name != REFERENCE}
    applied = {name: method for name, method in chosen.items() if method.applies_to(model)}
    found: dict[Which, list[float]] = {}
    random, sentences = np.random.default_rng(_SEED), 0
    for pair in pairs:
        if max(len(tokenizer.encode(text)) for text in (pair.source, pair.target)) >= model.max_length:
            continue
        sentences += 1
        (reference,) = (matrix for _, matrix in _matrices(Erasure().maps(model, tokenizer, pair.source, pair.target)))
        matrices = {Which(SHUFFLED, None, None): random.permuted(reference, axis=1)}
        for name, method in applied.items():
            for (layer, head), matrix in _matrices(method.maps(model, tokenizer, pair.source, pair.target)):
                whole = method.whole
                matrices[Which(name, None if whole else layer, None if whole else head)] = matrix
        for which, matrix in matrices.items():
            found.setdefault(which, []).append(mean_correlation(matrix, reference))
    if not sentences:
        raise InputError(f"methods: no pair is within the model's {model.max_length} tokens; give shorter sentences")
    return Faithfulness(tuple(_agreement(which, np.array(values)) for which, values in found.items()), sentences)
