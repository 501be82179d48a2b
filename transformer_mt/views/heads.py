"""`tmt heads`: where each attention head looks, the relations that it finds, and the loss without it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.corpus.pairs import Pairs, words
from transformer_mt.models.head_mask import head_names
from transformer_mt.registry import STACKS, HeadName
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.translator import Translator
from transformer_mt.views.estimates import Estimate, Resampling
from transformer_mt.views.faithfulness import kendall
from transformer_mt.views.head_importance import (
    bleu_without_each,
    losses_without_each,
    normalised_gradients,
    sentence_losses,
    stack_weights,
)
from transformer_mt.views.relations import Kind, instances
from transformer_mt.views.text import rendered, table
from transformer_mt.views.words import is_word, membership, over_words

# The fields of `HeadFigures` that say where a head looks, with their headings in the text.
LOOKS = {
    "entropy": "entropy", "distance": "distance", "previous": "before", "same": "same", "next": "after",
    "aligned": "linked", "punctuation": "punct.", "symbol": "</s>",
}  # fmt: skip
_NUMBERS = ("entropy", "distance")  # the others are shares

# A relation with fewer cases is not in the text: its share says little.
CASES = 20

# The texts whose words are the rows and the columns of a stack's matrices: 0 the source, 1 the target.
_SIDES = {"encoder": (0, 0), "decoder": (1, 1), "cross": (1, 0)}
# The number of the special symbol among words; -1 is that of pieces of no word.
_SYMBOL = -2

Matrices = Float[np.ndarray, "H W V"]


@dataclass(frozen=True, slots=True)
class HeadFigures:
    """A head: where it looks, and what is lost without it; a figure that is not known is None.

    `entropy` in bits; `distance` in words, |column − row| over the weight on words; the share of weight on the word
    before the row's, on the one at the same place, on the one after it and on those that are linked with it
    (`aligned`), on punctuation marks, and on the `symbol` `</s>`, in the decoder `<s>`. `loss` is the rise of the loss
    without the head, in nats a target token, and `bleu` the change of BLEU. `gradient` is the mean of |∂L/∂ξ| of the
    head's number in the mask, normalised over its layer (Michel et al. 2019, §4.1).
    """

    head: HeadName
    entropy: Estimate | None
    distance: Estimate | None
    previous: Estimate | None
    same: Estimate | None
    next: Estimate | None
    aligned: Estimate | None
    punctuation: Estimate | None
    symbol: Estimate | None
    loss: Estimate
    gradient: float
    bleu: Estimate | None = None


@dataclass(frozen=True, slots=True)
class RelationFigures:
    """For each head of a stack the share of cases of a relation in which the word with the most weight is the right
    one.

    `baseline` is the share for one fixed `offset`, the best one, from the row's word (in cross-attention, from the
    source word linked with it). `count` is the number of cases, `best` the head that finds it most often.
    """

    stack: str
    relation: str
    looked_for: str
    count: int
    offset: int
    baseline: Estimate
    best: HeadName
    found: Mapping[HeadName, Estimate]

    def gain(self, head: HeadName) -> float:
        """The share of a head less that of the baseline."""
        return self.found[head].value - self.baseline.value


@dataclass(frozen=True, slots=True)
class HeadTable:
    """The heads of a model over a number of sentence pairs, whose references it is given (teacher forcing).

    `loss` is that of the whole model in nats a target token, `bleu` that of its translations, None where it was not
    asked for. All intervals are over sentences. Clark et al. 2019, §3 and §4, and Michel et al. 2019, §3.
    """

    sentences: int
    loss: Estimate
    bleu: Estimate | None
    heads: tuple[HeadFigures, ...]
    relations: tuple[RelationFigures, ...]

    def arrays(self) -> dict[str, Any]:
        """The relations of each stack by itself, whose heads they have."""
        by_stack = {stack: [one for one in self.relations if one.stack == stack] for stack in STACKS}
        return {"sentences": self.sentences, "loss": self.loss, "bleu": self.bleu, "heads": self.heads} | by_stack


def measure_heads(translator: Translator, pairs: Pairs, *, bleu: bool = False) -> HeadTable:
    """The table of a model over pairs of which none is too long for it; for BLEU it translates once a head."""
    model, tokenizer = translator.model, translator.tokenizer
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    assert len(encoded) == len(pairs)
    names = head_names(model)
    by_stack = {stack: [name for name in names if name.stack == stack] for stack in STACKS}
    stacks = [_Stack(stack, of_stack, pairs, tokenizer) for stack, of_stack in by_stack.items() if of_stack]
    for rows, weights in stack_weights(model, encoded):
        for stack in stacks:
            for row, matrices in zip(rows, weights[stack.stack].numpy(force=True), strict=True):
                stack.add(row, matrices)
    resampling = Resampling(len(pairs))
    losses, tokens = sentence_losses(model, encoded), encoded.target_lengths.double().numpy()
    looks = {name: figures for stack in stacks for name, figures in stack.looks(resampling).items()}
    gradients, without = normalised_gradients(model, encoded), losses_without_each(model, encoded)
    rises = {name: resampling.estimate(of_sentences - losses, tokens) for name, of_sentences in without.items()}
    whole, changes = bleu_without_each(translator, pairs) if bleu else (None, {})
    heads = (HeadFigures(name, **looks[name], loss=rises[name], gradient=gradients[name]) for name in names)
    return HeadTable(
        sentences=len(pairs),
        loss=resampling.estimate(losses, tokens),
        bleu=whole,
        heads=tuple(replace(head, bleu=changes.get(head.head)) for head in heads),
        relations=tuple(relation for stack in stacks for relation in stack.relations(resampling)),
    )


class _Stack:
    """Sums over the heads of one stack, sentence by sentence."""

    def __init__(self, stack: str, names: Sequence[HeadName], pairs: Pairs, tokenizer: Tokenizer) -> None:
        self.stack, self.names, self.pairs, self.tokenizer = stack, names, pairs, tokenizer
        self.cases = [list(instances(pair, stack)) for pair in pairs]
        offsets: dict[Kind, Counter[int]] = defaultdict(Counter)
        for case in chain.from_iterable(self.cases):
            offsets[case.kind][case.offset] += 1
        self.kinds = sorted(offsets, key=lambda kind: -offsets[kind].total())
        self.counts = [offsets[kind].total() for kind in self.kinds]
        self.offsets = [_commonest(offsets[kind]) for kind in self.kinds]
        self.sums = np.zeros((len(pairs), len(LOOKS), len(names)))
        self.totals = np.zeros_like(self.sums)
        self.hits = np.zeros((len(pairs), len(offsets), len(names) + 1))  # the baseline comes last
        self.tries = np.zeros_like(self.hits)

    def add(self, row: int, weights: Float[np.ndarray, "H Q K"]) -> None:
        """Add the weights of a sentence, which may end in padding."""
        texts = self.pairs[row].source, self.pairs[row].target
        row_text, column_text = (texts[side] for side in _SIDES[self.stack])
        down, across = ([*self.tokenizer.word_of_piece(text), _SYMBOL] for text in (row_text, column_text))
        if self.stack == "decoder":  # which reads `<s>` before the words
            across = [_SYMBOL, *across[:-1]]
        column_words = words(column_text)
        columns = membership([*range(len(column_words)), _SYMBOL], across)
        rows = membership(range(len(words(row_text))), down)
        over = over_words(weights[:, : len(down), : len(across)], rows, columns)
        linked = self._linked(row, over.shape[1], len(column_words))
        marks = np.array([not is_word(word) for word in column_words], bool)
        self._add_looks(row, over, linked, marks)
        self._add_cases(row, over[:, :, :-1], linked)

    def _linked(self, row: int, rows: int, columns: int) -> Bool[np.ndarray, "W V"]:
        """True where the word of a column is that of the row, or its translation."""
        if self.stack != "cross":
            return np.eye(rows, columns, dtype=bool)
        linked = np.zeros((rows, columns), bool)
        for source, target in self.pairs[row].links or ():
            linked[target, source] = True
        return linked

    def _add_looks(
        self, row: int, over: Matrices, linked: Bool[np.ndarray, "W U"], marks: Bool[np.ndarray, " U"]
    ) -> None:
        """The symbol has the last column, after those of the U words."""
        weights, symbol = over[:, :, :-1], over[:, :, -1]
        apart = np.arange(weights.shape[2]) - np.arange(weights.shape[1])[:, None]
        rest = np.maximum(1.0 - over.sum(axis=2), 0.0)  # on pieces of no word
        knows_links = self.stack == "cross" and self.pairs[row].links is not None
        sums = {
            "entropy": _entropy(over).sum(axis=2) + _entropy(rest),
            "distance": (weights * np.abs(apart)).sum(axis=2),
            "previous": (weights * (apart == -1)).sum(axis=2),
            "same": (weights * (apart == 0)).sum(axis=2),
            "next": (weights * (apart == 1)).sum(axis=2),
            "aligned": (weights * (linked & knows_links)).sum(axis=2),
            "punctuation": weights[:, :, marks].sum(axis=2),
            "symbol": symbol,
        }
        totals = {"distance": weights.sum(axis=(1, 2)), "aligned": knows_links * linked.any(axis=1).sum()}
        for place, look in enumerate(LOOKS):
            self.sums[row, place] = sums[look].sum(axis=1)
            self.totals[row, place] = totals.get(look, weights.shape[1])

    def _add_cases(self, row: int, weights: Matrices, linked: Bool[np.ndarray, "W V"]) -> None:
        """The word itself and symbols are left out before the largest weight is sought, as in Clark et al. 2019."""
        for case in self.cases[row]:
            place = self.kinds.index(case.kind)
            best = np.where(linked[case.row], -1.0, weights[:, case.row]).argmax(axis=1)  # H V -> H
            self.hits[row, place, :-1] += best == case.column
            self.hits[row, place, -1] += case.offset == self.offsets[place]
            self.tries[row, place] += 1

    def looks(self, resampling: Resampling) -> dict[HeadName, dict[str, Estimate | None]]:
        """Where each head looks."""
        by_head = zip(*resampling.estimates(self.sums, self.totals), strict=True)
        return {name: dict(zip(LOOKS, figures, strict=True)) for name, figures in zip(self.names, by_head, strict=True)}

    def relations(self, resampling: Resampling) -> Iterator[RelationFigures]:
        """The share of its cases that each head finds, the most frequent relation first."""
        figures = resampling.estimates(self.hits, self.tries)
        for kind, count, offset, shares in zip(self.kinds, self.counts, self.offsets, figures, strict=True):
            *of_heads, baseline = filter(None, shares)
            found = dict(zip(self.names, of_heads, strict=True))
            best = max(found, key=lambda name: found[name].value)
            yield RelationFigures(self.stack, *kind, count, offset, baseline, best, found)


def _commonest(offsets: Counter[int]) -> int:
    """The offset that occurs most often; of equally frequent ones the nearest, then the one before."""
    return min(offsets, key=lambda offset: (-offsets[offset], abs(offset), offset))


def _entropy(p: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N"]:
    """−p log₂ p, 0 where p is."""
    return -p * np.log2(np.where(p > 0.0, p, 1.0))


def head_lines(heads: HeadTable, *, width: int) -> Iterator[str]:
    """All tables, one after the other."""
    bleu = "" if heads.bleu is None else f", BLEU {heads.bleu.text(2)}"
    yield f"{heads.sentences} sentences, loss {heads.loss.text(3)} nats a token{bleu}"
    yield "± is the 95 % interval over sentences"
    groups = {stack: [head for head in heads.heads if head.head.stack == stack] for stack in STACKS}
    groups = {stack: group for stack, group in groups.items() if group}
    for stack, group in groups.items():
        yield from ("", f"{STACKS[stack]}: where each head looks")
        yield from _lines(_look_rows(group), width=width, gap=1)
    yield from ("", "what is lost without each head, the most important first")
    yield from _lines(_loss_rows(heads), width=width, left=(0, 3))
    agreements = (f"{name} {_agreement(group):.2f}" for name, group in ({"all": heads.heads} | groups).items())
    yield f"tau of gradient and loss: {', '.join(agreements)}"
    for stack in groups:
        relations = [each for each in heads.relations if each.stack == stack and each.count >= CASES]
        if relations:
            yield from ("", f"{STACKS[stack]}: which head finds a relation best")
            yield from _lines(_relation_rows(relations), width=width, left=(0, 2))


def _lines(rows: Iterator[Sequence[str]], *, width: int, gap: int = 2, left: Sequence[int] = (0,)) -> list[str]:
    """A table of headings and rows; numbers are aligned to the right."""
    headings, *others = rows
    right = [column for column in range(len(headings)) if column not in left]
    return [line.plain for line in rendered(table(others, headings=headings, right=right, gap=gap), width=width)]


def _look_rows(heads: Sequence[HeadFigures]) -> Iterator[Sequence[str]]:
    looks = [look for look in LOOKS if any(getattr(head, look) for head in heads)]
    headings = LOOKS | ({"symbol": "<s>"} if heads[0].head.stack == "decoder" else {})
    yield ["head", *(headings[look] for look in looks)]
    for head in heads:
        yield [f"{head.head.layer}.{head.head.head}", *(_look(look, getattr(head, look)) for look in looks)]


def _look(look: str, figure: Estimate | None) -> str:
    if figure is None:
        return "–"
    return figure.text(2) if look in ("entropy", "distance") else _percent(figure)


def _percent(share: Estimate) -> str:
    return share.text(0, factor=100.0)


def _loss_rows(heads: HeadTable) -> Iterator[Sequence[str]]:
    """The last column is BLEU where it was asked for, else the relation in which the head beats the baseline most."""
    relations = [each for each in heads.relations if each.count >= CASES]
    yield [
        "head",
        "loss rises by",
        "gradient",
        "BLEU changes by" if heads.bleu else "beats the baseline at" * any(relations),
    ]
    for head in sorted(heads.heads, key=lambda head: -head.loss.value):
        last = head.bleu.text(2) if head.bleu else ""
        own = [relation for relation in relations if head.head in relation.found]
        best = max(own, key=lambda relation: relation.gain(head.head), default=None)
        if best and not heads.bleu and best.gain(head.head) > 0.0:
            found, baseline = 100 * best.found[head.head].value, 100 * best.baseline.value
            last = f"{best.relation} → its {best.looked_for}: {found:.0f} %, {baseline:.0f} %"
        yield [str(head.head), head.loss.text(4), f"{head.gradient:.2f}", last]


def _agreement(heads: Sequence[HeadFigures]) -> float:
    """How far the gradient orders heads as the loss without them does: Kendall's τ_b, NaN without an order."""
    losses, gradients = ([[head.loss.value for head in heads]], [[head.gradient for head in heads]])
    return float(kendall(np.array(losses), np.array(gradients))[0])


def _relation_rows(relations: Sequence[RelationFigures]) -> Iterator[Sequence[str]]:
    """Of the two ways to look for a relation, the one in which a head beats the baseline more."""
    yield ["relation", "cases", "head", "found, %", "at a fixed offset, %", ""]
    for name in dict.fromkeys(each.relation for each in relations):
        both_ways = [each for each in relations if each.relation == name]
        best = max(both_ways, key=lambda each: max(map(each.gain, each.found)))
        title, head = f"{name} → its {best.looked_for}", f"{best.best.layer}.{best.best.head}"
        shares = _percent(best.found[best.best]), _percent(best.baseline)
        yield [title, str(best.count), head, *shares, f"at {best.offset:+d}"]
