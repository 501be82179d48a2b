"""`tmt heads`: where each attention head looks, the relations it finds, and the loss without it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.corpus.pairs import Pairs, SentencePair, Tree
from transformer_mt.evaluation import Interval, compare_texts
from transformer_mt.head_names import STACKS, HeadName
from transformer_mt.intervals import Estimate, estimate, estimates
from transformer_mt.links.word_weights import word_weights
from transformer_mt.models.head_mask import head_names
from transformer_mt.text.brief import Brief
from transformer_mt.text.words import is_word, words
from transformer_mt.translation.translator import Translator
from transformer_mt.views.faithfulness import kendall
from transformer_mt.views.head_importance import best_texts, normalised_gradients, sentence_losses, without_each
from transformer_mt.views.rendering import table_lines

# The fields of `HeadFigures` about where a head looks, with their headings in the text.
LOOKS = {
    "entropy": "entropy", "distance": "distance", "previous": "before", "same": "same", "next": "after",
    "aligned": "linked", "punctuation": "punct.", "symbol": "</s>",
}  # fmt: skip

# Relations with fewer cases are left out of the text: their shares mean little.
CASES = 20


class Instance(NamedTuple):
    """A case of a relation: the column that a word's row should look at; both are indices into `words(text)`.

    `kind` is the relation, of Universal Dependencies or `antecedent`, and the end to find, `head` or `dependent`.
    `offset` is the distance in words from the row's own word or, in cross-attention, from its linked source word.
    """

    kind: tuple[str, str]
    row: int
    column: int
    offset: int


def instances(pair: SentencePair, stack: str) -> Iterator[Instance]:
    """Yield the cases of a pair for a stack's matrices; none if the corpus has no dependency trees.

    The encoder has the relations of the source; the decoder has the target's relations to earlier words, since it sees
    no later ones. In cross-attention, a target word represents its linked source word.
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


@dataclass(frozen=True)
class HeadFigures:
    """A head: where it looks, and the loss without it; unknown figures are None.

    `entropy` is in bits; `distance` in words, the mean |column − row| over the weight on words. The other figures are
    shares of weight: on the word before the row's, at the same place, after it, linked with it (`aligned`), on
    punctuation marks, and on the `symbol` `</s>` (in the decoder `<s>`). `loss` is the rise of the loss without the
    head, in nats per target token, `bleu` is BLEU without it, `gradient` is from `normalised_gradients`.
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
    bleu: Interval | None = None


@dataclass(frozen=True)
class RelationFigures:
    """For each head of a stack, the share of a relation's cases in which the word with the most weight is right.

    `baseline` is the share for the best fixed `offset` from the row's word (in cross-attention, from its linked source
    word). `count` is the number of cases, `best` the head that finds the relation most often.
    """

    stack: str
    relation: str
    looked_for: str
    count: int
    offset: int
    baseline: Estimate
    best: HeadName
    found: Mapping[HeadName, Estimate]

    def lead(self) -> float:
        """The best head's share minus the baseline's."""
        return self.found[self.best].value - self.baseline.value


@dataclass(frozen=True, repr=False)
class HeadTable(Brief):
    """The heads of a model over sentence pairs, after Clark et al. 2019, §3 and §4, and Michel et al. 2019, §3.

    `loss` is that of the whole model on the references, in nats per target token; `bleu` is None unless requested.
    """

    sentences: int
    loss: Estimate
    bleu: Interval | None
    heads: tuple[HeadFigures, ...]
    relations: tuple[RelationFigures, ...]


def measure_heads(translator: Translator, pairs: Pairs, *, bleu: bool = False) -> HeadTable:
    """Measure the heads of a model over pairs, none of them too long; `bleu` translates all pairs once per head."""
    opened = translator.model
    model = translator.model.network
    names = head_names(model)
    stacks = {stack: _Stack(stack, list(own), pairs) for stack, own in groupby(names, key=lambda name: name.stack)}
    for row, weights in word_weights(model, opened.tokenizer, pairs):
        for name, stack in stacks.items():
            stack.add(row, weights[name])
    encoded = encode_pairs(pairs, opened.tokenizer, max_length=model.max_length)
    losses = sentence_losses(model, encoded)
    tokens = encoded.target_lengths.double().numpy()
    without = without_each(model, lambda: sentence_losses(model, encoded))
    gradients = normalised_gradients(model, encoded)
    scores: list[Interval | None] = [None] * (1 + len(names))
    if bleu:
        texts = [best_texts(translator, pairs), *without_each(model, lambda: best_texts(translator, pairs)).values()]
        language = opened.config.data.target_language
        scores = list(compare_texts(texts, [pair.translations for pair in pairs], language=language)["bleu"])
    looks: dict[HeadName, Any] = {}
    for stack in stacks.values():
        looks |= zip(stack.names, zip(*estimates(stack.sums, stack.totals), strict=True), strict=True)
    heads = tuple(
        HeadFigures(
            name,
            **dict(zip(LOOKS, looks[name], strict=True)),
            loss=estimate(without[name] - losses, tokens),
            gradient=gradients[name],
            bleu=score,
        )
        for name, score in zip(names, scores[1:], strict=True)
    )
    relations = tuple(relation for stack in stacks.values() for relation in stack.relations())
    return HeadTable(len(pairs), estimate(losses, tokens), scores[0], heads, relations)


class _Stack:
    """Sums over the heads of one stack, sentence by sentence."""

    def __init__(self, stack: str, names: Sequence[HeadName], pairs: Pairs) -> None:
        self.stack = stack
        self.names = names
        self.pairs = pairs
        self.sums = np.zeros((len(pairs), len(LOOKS), len(names)))
        self.totals = np.zeros_like(self.sums)
        # For each relation, its cases: sentence, number in the sentence, offset, and which heads find it.
        self.cases: dict[tuple[str, str], list[tuple[int, int, int, np.ndarray]]] = defaultdict(list)

    def add(self, row: int, over: Float[np.ndarray, "H W V"]) -> None:
        """Add the weights of a sentence over words; the last column is the symbol."""
        pair = self.pairs[row]
        weights = over[:, :, :-1]
        apart = np.arange(weights.shape[2]) - np.arange(weights.shape[1])[:, None]
        own = apart == 0
        linked = np.zeros(apart.shape, bool)
        if self.stack == "cross":
            for source, target in pair.links or ():
                linked[target, source] = True
            own = linked  # columns to exclude: the row's own word or, here, its translation
        marks = [not is_word(word) for word in words(pair.target if self.stack == "decoder" else pair.source)]
        cells = np.stack([apart == -1, apart == 0, apart == 1, linked, np.broadcast_to(marks, apart.shape)])
        rest = np.maximum(1.0 - over.sum(axis=2, keepdims=True), 0.0)  # on tokens outside words
        p = np.concatenate((over, rest), axis=2)
        self.sums[row, 0] = -(p * np.log2(np.where(p > 0.0, p, 1.0))).sum(axis=(1, 2))
        self.sums[row, 1] = (weights * np.abs(apart)).sum(axis=(1, 2))
        self.sums[row, 2:7] = np.einsum("hwv,lwv->lh", weights, cells.astype(np.float64))
        self.sums[row, 7] = over[:, :, -1].sum(axis=1)
        self.totals[row] = len(apart)
        self.totals[row, 1], self.totals[row, 5] = weights.sum(axis=(1, 2)), linked.any(axis=1).sum()
        for number, case in enumerate(instances(pair, self.stack)):
            # Excludes the word itself and symbols, as in Clark et al. 2019.
            best = (weights[:, case.row] * ~own[case.row]).argmax(axis=1)  # H V -> H
            self.cases[case.kind].append((row, number, case.offset, best == case.column))

    def relations(self) -> Iterator[RelationFigures]:
        """Yield the relations, sorted by number of cases, then by first appearance in the corpus."""
        for kind in sorted(self.cases, key=lambda kind: (-len(self.cases[kind]), min(self.cases[kind])[:2])):
            rows, _, offsets, hits = zip(*self.cases[kind], strict=True)
            offset = _commonest(Counter(offsets))
            sums = np.zeros((len(self.pairs), 1, 1 + len(self.names)))
            np.add.at(sums[:, 0], list(rows), np.column_stack((np.equal(offsets, offset), hits)))
            tries = np.zeros_like(sums) + np.bincount(rows, minlength=len(sums))[:, None, None]
            baseline, *of_heads = filter(None, estimates(sums, tries)[0])
            found = dict(zip(self.names, of_heads, strict=True))
            best = max(found, key=lambda name: found[name].value)
            yield RelationFigures(self.stack, *kind, len(rows), offset, baseline, best, found)


def _commonest(offsets: Counter[int]) -> int:
    """The most frequent offset; among ties, the nearest, then the negative one."""
    return min(offsets, key=lambda offset: (-offsets[offset], abs(offset), offset))


def head_lines(heads: HeadTable, *, width: int) -> Iterator[str]:
    """Yield all tables as lines of text."""
    whole = heads.bleu
    bleu = f", BLEU {whole.text()}" if whole else ""
    yield f"{heads.sentences} sentences, loss {heads.loss.text(3)} nats per token{bleu}"
    yield "± is the 95 % interval over sentences"
    groups = {stack: list(of) for stack, of in groupby(heads.heads, key=lambda head: head.head.stack)}
    for stack, group in groups.items():
        looks = [look for look in LOOKS if any(getattr(head, look) for head in group)]
        headings = ["<s>" if look == "symbol" and stack == "decoder" else LOOKS[look] for look in looks]
        rows = [[_short(head.head), *(_look(look, getattr(head, look)) for look in looks)] for head in group]
        yield from ("", f"{STACKS[stack]}: where each head looks")
        yield from table_lines(rows, headings=["head", *headings], right=range(1, 9), gap=1, width=width)
    yield from ("", "loss without each head, most important first")
    headings = ["head", "loss rises by", "gradient", *(["BLEU changes by"] if whole else [])]
    rows = []
    for head in sorted(heads.heads, key=lambda head: -head.loss.value):
        change = [head.bleu.change(whole.score)] if head.bleu and whole else []
        rows.append([str(head.head), head.loss.text(4), f"{head.gradient:.2f}", *change])
    yield from table_lines(rows, headings=headings, right=(1, 2, 3), width=width)
    agreements = []  # between the rankings by gradient and by loss
    for name, of_stack in ({"all": list(heads.heads)} | groups).items():
        losses, gradients = np.array([(head.loss.value, head.gradient) for head in of_stack]).T
        agreements.append(f"{name} {kendall(losses[None], gradients[None])[0]:.2f}")
    yield f"tau of gradient and loss: {', '.join(agreements)}"
    for stack in groups:
        relations = [each for each in heads.relations if each.stack == stack and each.count >= CASES]
        if relations:
            yield from ("", f"{STACKS[stack]}: which head finds a relation best")
            headings = ["relation", "cases", "head", "found, %", "at a fixed offset, %", ""]
            yield from table_lines(_relation_rows(relations), headings=headings, right=range(1, 6), width=width)


def _short(head: HeadName) -> str:
    return f"{head.layer}.{head.head}"


def _look(look: str, figure: Estimate | None) -> str:
    if figure is None:
        return "–"
    return figure.text(2) if look in ("entropy", "distance") else figure.text(0, factor=100.0)


def _relation_rows(relations: Sequence[RelationFigures]) -> list[list[str]]:
    """For each relation, the row of the direction in which a head beats the baseline by more."""
    chosen: dict[str, RelationFigures] = {}
    for each in relations:
        chosen[each.relation] = max(chosen.get(each.relation, each), each, key=RelationFigures.lead)
    rows = []
    for best in chosen.values():
        shares = (share.text(0, factor=100.0) for share in (best.found[best.best], best.baseline))
        title = f"{best.relation} → its {best.looked_for}"
        rows.append([title, str(best.count), _short(best.best), *shares, f"at {best.offset:+d}"])
    return rows
