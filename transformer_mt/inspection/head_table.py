"""What each head of a model does, measured over sentences: where it looks, what it finds, and whether it matters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from torch import nn

from transformer_mt.corpus.pairs import Pairs, SentencePair, words
from transformer_mt.encoded_pairs import encode_pairs
from transformer_mt.inspection.ablation import HeadImportance, batches, normalised_gradients
from transformer_mt.inspection.gates import head_names, head_numbers
from transformer_mt.inspection.intervals import Estimate, Resampling, estimate, sure
from transformer_mt.inspection.recording import record_attention
from transformer_mt.inspection.relations import Instance, Kind, instances
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.names import HeadName
from transformer_mt.tokenizer import Tokenizer

# What is measured of the places where a head looks, in the order of the table.
ENTROPY, DISTANCE, PREVIOUS, SAME, NEXT, ALIGNED, PUNCTUATION, SYMBOL = LOOKS = (
    "entropy", "distance", "previous", "same", "next", "aligned", "punctuation", "symbol",
)  # fmt: skip

# What a stack's rows and columns are words of: 0 the source, 1 the target.
_SIDES = {"encoder": (0, 0), "decoder": (1, 1), "cross": (1, 0)}

Matrices = Float[np.ndarray, "LH W V"]


@dataclass(frozen=True, slots=True)
class HeadFigures:
    """A head: where it looks, and what is lost without it.

    `looks` has for each of `LOOKS` an estimate, None where it was not known: `entropy` in bits; `distance` in words,
    |column − row| over the weight on words; the share of weight on the word before the row's, on the one at the same
    place, on the one after it and on those that are linked with it (`aligned`), on punctuation marks, and on the symbol
    `</s>`, in the decoder `<s>`. `loss` is by how much the loss rises without the head, in nats a target token, and
    `bleu` by how much BLEU changes, None where it was not asked for. `gradient` is the mean of |∂L/∂ξ| of the head's
    gate, normalised over its layer (Michel et al. 2019, §4.1).
    """

    name: HeadName
    looks: Mapping[str, Estimate | None]
    loss: Estimate
    gradient: float
    bleu: Estimate | None = None


@dataclass(frozen=True, slots=True)
class RelationFigures:
    """How often a relation is found in a stack: for each head, the share of cases in which the word with the most
    weight is the right one.

    `baseline` is the share that one always finds at the same `offset`, the best one, from the row's word (in
    cross-attention, from the source word linked with it). `count` says how many cases there are.
    """

    stack: str
    kind: Kind
    count: int
    offset: int
    baseline: Estimate
    found: Mapping[HeadName, Estimate]

    @property
    def best(self) -> HeadName:
        """The head that finds it most often."""
        return max(self.found, key=lambda name: self.found[name].value)

    def gain(self, name: HeadName) -> float:
        """By how much a head is better than the baseline."""
        return self.found[name].value - self.baseline.value


@dataclass(frozen=True, slots=True)
class HeadTable:
    """What the heads of a model do over so many sentence pairs, whose references it is given (teacher forcing).

    `loss` is that of the whole model in nats a target token, `bleu` that of its translations, None where it was not
    asked for. All intervals are over sentences. Clark et al. 2019, §3 and §4, and Michel et al. 2019, §3.
    """

    sentences: int
    loss: Estimate
    bleu: Estimate | None
    heads: tuple[HeadFigures, ...]
    relations: tuple[RelationFigures, ...]

    def specialities(self, *, cases: int) -> dict[HeadName, RelationFigures]:
        """For each head the relation in which it beats the baseline most, of those that have at least so many cases."""
        found: dict[HeadName, RelationFigures] = {}
        for relation in (one for one in self.relations if one.count >= cases):
            for name in relation.found:
                if name not in found or relation.gain(name) > found[name].gain(name):
                    found[name] = relation
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain lists and numbers. Each estimate is an object of value, low and high, or null."""
        return {
            "sentences": self.sentences,
            "loss": self.loss.to_json(),
            "bleu": _plain(self.bleu),
            "heads": [
                {
                    "head": str(head.name),
                    **{look: _plain(value) for look, value in head.looks.items()},
                    "loss": head.loss.to_json(),
                    "gradient": head.gradient,
                    "bleu": _plain(head.bleu),
                }
                for head in self.heads
            ],
            "relations": [
                {
                    "stack": one.stack,
                    "relation": one.kind.relation,
                    "looked_for": one.kind.looked_for,
                    "count": one.count,
                    "offset": one.offset,
                    "baseline": one.baseline.to_json(),
                    "best": str(one.best),
                    "found": {str(name): found.to_json() for name, found in one.found.items()},
                }
                for one in self.relations
            ],
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """For `numpy.savez`: `heads`, the names; one array a figure, `loss`, `entropy`, …, with value, low and high of
        each head, NaN where it is not known; of each stack with relations `cross.relations`, `cross.baseline` and
        `cross.found[relation, head]`."""
        found = {
            "heads": np.array([str(head.name) for head in self.heads]),
            "gradient": np.array([head.gradient for head in self.heads]),
            "loss": np.array([_numbers(head.loss) for head in self.heads]),
            "bleu": np.array([_numbers(head.bleu) for head in self.heads]),
        }
        found |= {look: np.array([_numbers(head.looks[look]) for head in self.heads]) for look in LOOKS}
        for stack, group in groupby(self.relations, key=lambda one: one.stack):
            rows = list(group)
            found[f"{stack}.relations"] = np.array([".".join(one.kind) for one in rows])
            found[f"{stack}.baseline"] = np.array([_numbers(one.baseline) for one in rows])
            found[f"{stack}.found"] = np.array([[_numbers(each) for each in one.found.values()] for one in rows])
        return found


def measure_heads(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs) -> HeadTable:
    """The table of a model over pairs of which none is too long for it."""
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    kept = list(pairs)
    assert len(encoded) == len(kept)
    resampling = Resampling(len(kept))
    collected = {stack: _Stack(stack, modules, kept) for stack, modules in model.attention_stacks().items() if modules}
    for rows, batch in batches(encoded, model):
        with evaluating(model), record_attention(model) as recording:
            model(batch.source, batch.target_in)
        layers = {stack: [layer.float().cpu().numpy() for layer in recording[stack]] for stack in collected}
        for place, row in enumerate(rows.tolist()):
            sides = _Side.of(tokenizer, kept[row].source), _Side.of(tokenizer, kept[row].target)
            for stack, part in collected.items():
                part.add(row, [layer[place] for layer in layers[stack]], sides)
    looks = {name: one for part in collected.values() for name, one in part.looks(resampling).items()}
    work = HeadImportance(model, encoded)
    losses, tokens = work.losses(), work.tokens
    gradients = normalised_gradients(work)
    without = {
        name: sure(resampling.ratios(each - losses, tokens)) for name, each in work.losses_without_each().items()
    }
    return HeadTable(
        sentences=len(kept),
        loss=sure(resampling.ratios(losses, tokens)),
        bleu=None,
        heads=tuple(HeadFigures(name, looks[name], without[name], gradients[name]) for name in head_names(model)),
        relations=tuple(one for part in collected.values() for one in part.relations(resampling)),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """One text of a pair: the word of each of its pieces, −1 for none; which of its words are punctuation marks."""

    word_of_piece: Sequence[int]
    punctuation: Bool[np.ndarray, " W"]

    @classmethod
    def of(cls, tokenizer: Tokenizer, text: str) -> "_Side":
        marks = [not any(letter.isalnum() for letter in word) for word in words(text)]
        return cls(tokenizer.word_of_piece(text), np.array(marks, bool))

    def membership(self, *, begin: bool = False) -> Float[np.ndarray, "W N"]:
        """W words, N pieces with the symbol before or after them: 1 where a piece belongs to the word."""
        pieces = [-1, *self.word_of_piece] if begin else [*self.word_of_piece, -1]
        return np.equal.outer(np.arange(len(self.punctuation)), pieces).astype(np.float32)


class _Stack:
    """What is summed up of the heads of one stack, sentence by sentence."""

    def __init__(self, stack: str, modules: Sequence[nn.Module], pairs: Sequence[SentencePair]) -> None:
        self.stack, self.pairs = stack, pairs
        self.cases = [list(instances(pair, stack)) for pair in pairs]
        counts: dict[Kind, int] = {}
        offsets: dict[Kind, dict[int, int]] = {}
        for case in (case for cases in self.cases for case in cases):
            counts[case.kind] = counts.get(case.kind, 0) + 1
            at = offsets.setdefault(case.kind, {})
            at[case.offset] = at.get(case.offset, 0) + 1
        self.counts = dict(sorted(counts.items(), key=lambda item: -item[1]))
        self.place = {kind: place for place, kind in enumerate(self.counts)}
        self.offsets = {kind: _commonest(at) for kind, at in offsets.items()}
        self.names = _names(stack, modules)
        heads, kinds = len(self.names), len(self.counts)
        self.sums = np.zeros((len(pairs), len(LOOKS), heads), np.float32)
        self.totals = np.zeros_like(self.sums)
        self.hits = np.zeros((len(pairs), kinds, heads + 1), np.float32)  # the baseline comes last
        self.tries = np.zeros((len(pairs), kinds, 1), np.float32)

    def add(self, row: int, layers: Sequence[Float[np.ndarray, "_ Q K"]], sides: tuple[_Side, _Side]) -> None:
        """Take the weights of a sentence, which may end in padding."""
        across, down = (sides[number] for number in reversed(_SIDES[self.stack]))
        begin = self.stack == "decoder"
        columns, rows = across.membership(begin=begin), down.membership()
        symbol = 0 if begin else columns.shape[1] - 1
        pieces = np.concatenate([layer[:, : rows.shape[1], : columns.shape[1]] for layer in layers])
        rows /= np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
        by_row = rows @ pieces  # LH Q K -> LH W K
        by_word = by_row @ columns.T  # LH W K -> LH W V
        linked = self._linked(row, by_word.shape[1:])
        self._add_looks(row, by_word, by_row[:, :, symbol], linked, across.punctuation)
        self._add_cases(row, by_word, linked)

    def _linked(self, row: int, shape: tuple[int, ...]) -> Bool[np.ndarray, "W V"]:
        """Where the word of a column is that of the row, or its translation."""
        if self.stack != "cross":
            return np.eye(*shape, dtype=bool)
        found = np.zeros(shape, bool)
        for source, target in self.pairs[row].links or ():
            found[target, source] = True
        return found

    def _add_looks(
        self,
        row: int,
        weights: Matrices,
        symbol: Float[np.ndarray, "LH W"],
        linked: Bool[np.ndarray, "W V"],
        punctuation: Bool[np.ndarray, " V"],
    ) -> None:
        apart = np.arange(weights.shape[2]) - np.arange(weights.shape[1])[:, None]
        rest = np.maximum(1.0 - weights.sum(axis=2) - symbol, 0.0)  # on pieces of no word
        sums = {
            ENTROPY: _entropy(weights).sum(axis=2) + _entropy(symbol) + _entropy(rest),
            DISTANCE: (weights * np.abs(apart)).sum(axis=2),
            PREVIOUS: (weights * (apart == -1)).sum(axis=2),
            SAME: (weights * (apart == 0)).sum(axis=2),
            NEXT: (weights * (apart == 1)).sum(axis=2),
            PUNCTUATION: weights[:, :, punctuation].sum(axis=2),
            SYMBOL: symbol,
        }
        for look, values in sums.items():
            self.sums[row, LOOKS.index(look)] = values.sum(axis=1)
            self.totals[row, LOOKS.index(look)] = weights.shape[1]
        self.totals[row, LOOKS.index(DISTANCE)] = weights.sum(axis=(1, 2))
        if self.stack == "cross" and self.pairs[row].links is not None:
            self.sums[row, LOOKS.index(ALIGNED)] = (weights * linked).sum(axis=(1, 2))
            self.totals[row, LOOKS.index(ALIGNED)] = linked.any(axis=1).sum()

    def _add_cases(self, row: int, weights: Matrices, linked: Bool[np.ndarray, "W V"]) -> None:
        """The word itself and symbols are left out before the largest weight is sought, as in Clark et al. 2019."""
        cases = self.cases[row]
        if not cases:
            return
        best = np.where(linked, -1.0, weights).argmax(axis=2)  # LH W V -> LH W
        for case in cases:
            kind = self.place[case.kind]
            self.hits[row, kind, :-1] += best[:, case.row] == case.column
            self.hits[row, kind, -1] += self._at_the_offset(case)
            self.tries[row, kind] += 1

    def _at_the_offset(self, case: Instance) -> bool:
        return case.offset == self.offsets[case.kind]

    def looks(self, resampling: Resampling) -> dict[HeadName, dict[str, Estimate | None]]:
        """Where each head looks."""
        found = resampling.ratios(self.sums, self.totals)
        return {
            name: {look: estimate(found[:, place, head]) for place, look in enumerate(LOOKS)}
            for head, name in enumerate(self.names)
        }

    def relations(self, resampling: Resampling) -> list[RelationFigures]:
        """What each head finds, the most frequent relation first."""
        if not self.names or not self.counts:
            return []
        found = resampling.ratios(self.hits, np.broadcast_to(self.tries, self.hits.shape))
        return [
            RelationFigures(
                self.stack,
                kind,
                count,
                self.offsets[kind],
                sure(found[:, place, -1]),
                {name: sure(found[:, place, head]) for head, name in enumerate(self.names)},
            )
            for place, (kind, count) in enumerate(self.counts.items())
        ]


def _names(stack: str, modules: Sequence[nn.Module]) -> list[HeadName]:
    return [
        HeadName(stack, layer, head) for layer, module in enumerate(modules, start=1) for head in head_numbers(module)
    ]


def _commonest(offsets: Mapping[int, int]) -> int:
    """The offset that occurs most often; of equally frequent ones the nearest, then the one before."""
    return min(offsets, key=lambda offset: (-offsets[offset], abs(offset), offset))


def _entropy(p: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N"]:
    """−p log₂ p, 0 where p is."""
    return -p * np.log2(np.where(p > 0.0, p, 1.0))


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's ρ, equal numbers sharing their ranks; 0 where all numbers of a side are equal."""
    ranks = [(x[:, None] > x).sum(axis=1) + (x[:, None] == x).sum(axis=1) / 2 for x in map(np.array, (one, other))]
    a, b = (rank - rank.mean() for rank in ranks)
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale else 0.0


def _plain(value: Estimate | None) -> dict[str, float] | None:
    return None if value is None else value.to_json()


def _numbers(value: Estimate | None) -> tuple[float, float, float]:
    return (np.nan, np.nan, np.nan) if value is None else value.numbers
