"""`tmt heads`: where each attention head looks, the relations that it finds, and the loss without it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.corpus.pairs import Pairs, SentencePair, Tree
from transformer_mt.head_names import STACKS, HeadName
from transformer_mt.intervals import Estimate, Resampling
from transformer_mt.links.word_weights import word_weights
from transformer_mt.models.head_mask import head_names
from transformer_mt.text.words import is_word, words
from transformer_mt.translation.translator import Translator
from transformer_mt.views.faithfulness import kendall
from transformer_mt.views.head_importance import bleu_without_each, normalised_gradients, sentence_losses, without_each
from transformer_mt.views.rendering import rendered, table

# The fields of `HeadFigures` that say where a head looks, with their headings in the text.
LOOKS = {
    "entropy": "entropy", "distance": "distance", "previous": "before", "same": "same", "next": "after",
    "aligned": "linked", "punctuation": "punct.", "symbol": "</s>",
}  # fmt: skip

# A relation with fewer cases is not in the text: its share says little.
CASES = 20


class Instance(NamedTuple):
    """A case of a relation: the column that the row of a word should look at; both are counted over `words(text)`.

    `kind` is the relation, of Universal Dependencies or `antecedent`, and the end that is looked for, `head` or
    `dependent`. `offset` is the distance in words from the row's own word or, in cross-attention, from the source word
    that it is linked with.
    """

    kind: tuple[str, str]
    row: int
    column: int
    offset: int


def instances(pair: SentencePair, stack: str) -> Iterator[Instance]:
    """The cases in a stack's matrix of a pair; none where the corpus does not know them.

    In the encoder these are the relations of the source, in the decoder those of the target to words before, which have
    been read. In cross-attention a word of the target stands for the source word that it is linked with.
    """
    if pair.structure is None:
        return
    source, target = pair.structure
    if stack == "encoder":
        yield from _of_tree(source)
    elif stack == "decoder":
        yield from (case for case in _of_tree(target) if case.column < case.row)
    else:
        links = set(pair.links or ())
        for case in _of_tree(source):
            for own, row in sorted(links):
                if own == case.row and (case.column, row) not in links:
                    yield case._replace(row=row)


def _of_tree(tree: Tree) -> Iterator[Instance]:
    for place, node in enumerate(tree):
        for relation, head in ((node.relation, node.head), ("antecedent", node.antecedent)):
            if head is not None and head >= 0:
                yield Instance((relation, "head"), place, head, head - place)
                yield Instance((relation, "dependent"), head, place, place - head)


@dataclass(frozen=True, slots=True)
class HeadFigures:
    """A head: where it looks, and what is lost without it; a figure that is not known is None.

    `entropy` in bits; `distance` in words, |column − row| over the weight on words; the share of weight on the word
    before the row's, at the same place, after it, linked with it (`aligned`), on punctuation marks, and on the `symbol`
    `</s>`, in the decoder `<s>`. `loss` is the rise of the loss without the head, in nats a target token, `bleu` the
    change of BLEU, `gradient` the head's in `normalised_gradients`.
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
    """For each head of a stack the share of a relation's cases in which the word with the most weight is right.

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


@dataclass(frozen=True, slots=True)
class HeadTable:
    """The heads of a model over sentence pairs, by Clark et al. 2019, §3 and §4, and Michel et al. 2019, §3.

    `loss` is the whole model's in nats a target token, given the references; `bleu` None where it was not asked for.
    """

    sentences: int
    loss: Estimate
    bleu: Estimate | None
    heads: tuple[HeadFigures, ...]
    relations: tuple[RelationFigures, ...]


def measure_heads(translator: Translator, pairs: Pairs, *, bleu: bool = False) -> HeadTable:
    """The table of a model over pairs of which none is too long for it; for BLEU it translates once a head."""
    model, names = translator.model.network, head_names(translator.model.network)
    encoded = encode_pairs(pairs, translator.model.tokenizer, max_length=model.max_length)
    stacks = [_Stack(stack, list(of_stack), pairs) for stack, of_stack in groupby(names, key=lambda name: name.stack)]
    for row, weights in word_weights(model, translator.model.tokenizer, pairs):
        for stack in stacks:
            stack.add(row, weights[stack.stack])
    resampling = Resampling(len(pairs))
    looks = {name: figures for stack in stacks for name, figures in stack.looks(resampling).items()}
    losses, tokens = sentence_losses(model, encoded), encoded.target_lengths.double().numpy()
    without = without_each(model, lambda: sentence_losses(model, encoded))
    rises = {name: resampling.estimate(after - losses, tokens) for name, after in without.items()}
    gradients = normalised_gradients(model, encoded)
    whole, changes = bleu_without_each(translator, pairs) if bleu else (None, {})
    return HeadTable(
        sentences=len(pairs),
        loss=resampling.estimate(losses, tokens),
        bleu=whole,
        heads=tuple(
            HeadFigures(name, **looks[name], loss=rises[name], gradient=gradients[name], bleu=changes.get(name))
            for name in names
        ),
        relations=tuple(relation for stack in stacks for relation in stack.relations(resampling)),
    )


class _Stack:
    """Sums over the heads of one stack, sentence by sentence."""

    def __init__(self, stack: str, names: Sequence[HeadName], pairs: Pairs) -> None:
        self.stack, self.names, self.pairs = stack, names, pairs
        self.cases = [list(instances(pair, stack)) for pair in pairs]
        offsets: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        for case in chain.from_iterable(self.cases):
            offsets[case.kind][case.offset] += 1
        self.kinds = sorted(offsets, key=lambda kind: -offsets[kind].total())
        self.counts = [offsets[kind].total() for kind in self.kinds]
        self.offsets = [_commonest(offsets[kind]) for kind in self.kinds]
        self.sums = np.zeros((len(pairs), len(LOOKS), len(names)))
        self.totals = np.zeros_like(self.sums)
        self.hits = np.zeros((len(pairs), len(offsets), len(names) + 1))  # the baseline comes last
        self.tries = np.zeros_like(self.hits)

    def add(self, row: int, over: Float[np.ndarray, "H W V"]) -> None:
        """Add the weights of a sentence over words; the symbol has the last column."""
        pair, weights = self.pairs[row], over[:, :, :-1]
        aligned = np.zeros(weights.shape[1:], bool)
        for source, target in (pair.links or ()) if self.stack == "cross" else ():
            aligned[target, source] = True
        apart = np.arange(weights.shape[2]) - np.arange(weights.shape[1])[:, None]
        # True where the word of a column is that of the row, or its translation.
        own = aligned if self.stack == "cross" else apart == 0
        rest = np.maximum(1.0 - over.sum(axis=2, keepdims=True), 0.0)  # on pieces of no word
        column_words = words(pair.target if self.stack == "decoder" else pair.source)
        sums = {
            "entropy": _entropy(np.concatenate((over, rest), axis=2)),
            "distance": weights * np.abs(apart),
            "previous": weights * (apart == -1),
            "same": weights * (apart == 0),
            "next": weights * (apart == 1),
            "aligned": weights * aligned,
            "punctuation": weights * np.array([not is_word(word) for word in column_words], bool),
            "symbol": over[:, :, -1:],
        }
        totals = {"distance": weights.sum(axis=(1, 2)), "aligned": aligned.any(axis=1).sum()}
        for place, look in enumerate(LOOKS):
            self.sums[row, place] = sums[look].sum(axis=(1, 2))
            self.totals[row, place] = totals.get(look, weights.shape[1])
        for case in self.cases[row]:
            # Without the word itself and symbols, as in Clark et al. 2019.
            best = (weights[:, case.row] * ~own[case.row]).argmax(axis=1)  # H V -> H
            place = self.kinds.index(case.kind)
            self.hits[row, place, :-1] += best == case.column
            self.hits[row, place, -1] += case.offset == self.offsets[place]
            self.tries[row, place] += 1

    def looks(self, resampling: Resampling) -> dict[HeadName, dict[str, Estimate | None]]:
        by_head = zip(*resampling.estimates(self.sums, self.totals), strict=True)
        return dict(zip(self.names, (dict(zip(LOOKS, of_head, strict=True)) for of_head in by_head), strict=True))

    def relations(self, resampling: Resampling) -> Iterator[RelationFigures]:
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
    groups = {stack: list(of) for stack, of in groupby(heads.heads, key=lambda head: head.head.stack)}
    for stack, group in groups.items():
        looks = [look for look in LOOKS if any(getattr(head, look) for head in group)]
        headings = ["<s>" if look == "symbol" and stack == "decoder" else LOOKS[look] for look in looks]
        rows = [[_short(head.head), *(_look(look, getattr(head, look)) for look in looks)] for head in group]
        yield from ("", f"{STACKS[stack]}: where each head looks")
        yield from _lines([["head", *headings], *rows], width=width, gap=1)
    yield from ("", "what is lost without each head, the most important first")
    rows = [["head", "loss rises by", "gradient", *(["BLEU changes by"] if heads.bleu else [])]]
    for head in sorted(heads.heads, key=lambda head: -head.loss.value):
        change = [head.bleu.text(2)] if head.bleu else []
        rows.append([str(head.head), head.loss.text(4), f"{head.gradient:.2f}", *change])
    yield from _lines(rows, width=width)
    agreements = []  # how far the gradient orders heads as the loss without them does
    for name, of_stack in ({"all": [*heads.heads]} | groups).items():
        losses, gradients = np.array([(head.loss.value, head.gradient) for head in of_stack]).T
        agreements.append(f"{name} {kendall(losses[None], gradients[None])[0]:.2f}")
    yield f"tau of gradient and loss: {', '.join(agreements)}"
    for stack in groups:
        relations = [each for each in heads.relations if each.stack == stack and each.count >= CASES]
        if relations:
            yield from ("", f"{STACKS[stack]}: which head finds a relation best")
            yield from _lines(_relation_rows(relations), width=width)


def _lines(rows: Sequence[Sequence[str]], *, width: int, gap: int = 2) -> list[str]:
    right = range(1, len(rows[0]))
    return [line.plain for line in rendered(table(rows[1:], headings=rows[0], right=right, gap=gap), width=width)]


def _short(head: HeadName) -> str:
    return f"{head.layer}.{head.head}"


def _look(look: str, figure: Estimate | None) -> str:
    if figure is None:
        return "–"
    return figure.text(2) if look in ("entropy", "distance") else figure.text(0, factor=100.0)


def _relation_rows(relations: Sequence[RelationFigures]) -> list[list[str]]:
    """Of the two ways to look for a relation, the one in which a head beats the baseline more."""
    rows = [["relation", "cases", "head", "found, %", "at a fixed offset, %", ""]]
    for name in dict.fromkeys(each.relation for each in relations):
        both = [each for each in relations if each.relation == name]
        best = max(both, key=lambda each: each.found[each.best].value - each.baseline.value)
        shares = (share.text(0, factor=100.0) for share in (best.found[best.best], best.baseline))
        title = f"{name} → its {best.looked_for}"
        rows.append([title, str(best.count), _short(best.best), *shares, f"at {best.offset:+d}"])
    return rows
