"""Measuring over sentences what the heads of a model do: the table is filled here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_mt.attention.multihead import MaskedHeads
from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.corpus.pairs import Pairs, SentencePair, words
from transformer_mt.inspection.ablation import HeadImportance, batches, normalised_gradients
from transformer_mt.inspection.head_table import (
    ALIGNED,
    DISTANCE,
    ENTROPY,
    LOOKS,
    NEXT,
    PREVIOUS,
    PUNCTUATION,
    SAME,
    SYMBOL,
    HeadFigures,
    HeadTable,
    RelationFigures,
)
from transformer_mt.inspection.intervals import Estimate, Resampling, estimate, sure
from transformer_mt.inspection.relations import Instance, Kind, instances
from transformer_mt.models.head_mask import active_heads, head_names
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.registry import HeadName
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.recording import record_attention

# What a stack's rows and columns are words of: 0 the source, 1 the target.
_SIDES = {"encoder": (0, 0), "decoder": (1, 1), "cross": (1, 0)}

Matrices = Float[np.ndarray, "LH W V"]


def measure_heads(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs) -> HeadTable:
    """The table of a model over pairs of which none is too long for it."""
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    kept = list(pairs)
    assert len(encoded) == len(kept)
    resampling = Resampling(len(kept))
    collected = {stack: _Stack(stack, modules, kept) for stack, modules in model.attention_stacks().items() if modules}
    for rows, batch in batches(encoded, model):
        with evaluating(model), record_attention(model) as recording:
            require_finite(model(batch.source, batch.decoder_input))
        layers = {stack: _active(recording[stack], model.attention_stacks()[stack]) for stack in collected}
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

    def __init__(self, stack: str, modules: Sequence[MaskedHeads], pairs: Sequence[SentencePair]) -> None:
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


def _active(layers: Sequence[Tensor], modules: Sequence[MaskedHeads]) -> list[Float[np.ndarray, "B H Q K"]]:
    """The weights of the heads that are not masked."""
    return [
        weights[:, [number - 1 for number in active_heads(module)]].float().cpu().numpy()
        for weights, module in zip(layers, modules, strict=True)
    ]


def _names(stack: str, modules: Sequence[MaskedHeads]) -> list[HeadName]:
    return [
        HeadName(stack, layer, head) for layer, module in enumerate(modules, start=1) for head in active_heads(module)
    ]


def _commonest(offsets: Mapping[int, int]) -> int:
    """The offset that occurs most often; of equally frequent ones the nearest, then the one before."""
    return min(offsets, key=lambda offset: (-offsets[offset], abs(offset), offset))


def _entropy(p: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N"]:
    """−p log₂ p, 0 where p is."""
    return -p * np.log2(np.where(p > 0.0, p, 1.0))
