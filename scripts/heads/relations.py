"""Which head finds a grammatical relation (Clark et al. 2019, §4.2)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
from grammar.trees import ParsedPair, Tree

from transformer_mt.evaluation.intervals import Estimate, estimate
from transformer_mt.ground.head_names import STACKS, HeadName
from transformer_mt.links.word_weights import word_weights
from transformer_mt.models.head_mask import head_names
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.rendering import table_lines

CASES = 20  # the shares of relations with fewer cases mean little


class Case(NamedTuple):
    """A case of a relation: the column that a word's row should look at; both are indices into `words(text)`.

    `kind` is the relation, of Universal Dependencies or `antecedent`, and the end to find, `head` or `dependent`.
    `offset` is the distance in words from the row's own word or, in cross-attention, from its linked source word.
    """

    kind: tuple[str, str]
    row: int
    column: int
    offset: int


def cases(pair: ParsedPair, stack: str) -> Iterator[Case]:
    """Yield the cases of a pair with trees for a stack's matrices.

    The encoder has the relations of the source; the decoder has the target's relations to earlier words, since it sees
    no later ones. In cross-attention, a target word represents its linked source word.
    """
    assert pair.structure
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


def _of_tree(tree: Tree) -> Iterator[Case]:
    for place, node in enumerate(tree):
        for relation, head in ((node.relation, node.head), ("antecedent", node.antecedent)):
            if head is not None and head >= 0:
                yield Case((relation, "head"), place, head, head - place)
                yield Case((relation, "dependent"), head, place, place - head)


@dataclass(frozen=True)
class RelationFigures:
    """The share of a relation's cases in which the word with the most weight is right, for the `best` head of a stack.

    `baseline` is the share for the best fixed `offset` from the row's word (in cross-attention, from its linked source
    word).
    """

    stack: str
    kind: tuple[str, str]
    count: int
    offset: int
    baseline: Estimate
    best: HeadName
    found: Estimate


def measure_relations(model: Seq2Seq, tokenizer: Tokenizer, pairs: Sequence[ParsedPair]) -> list[RelationFigures]:
    """The relations of each stack, the most frequent first."""
    seen = defaultdict[tuple[str, tuple[str, str]], list[tuple[int, int, np.ndarray]]](list)
    for number, weights in word_weights(model, tokenizer, pairs):
        for stack, of_heads in weights.items():
            for case in cases(pairs[number], stack):
                # Excludes the word itself (in cross-attention, its translations) and symbols, as in Clark et al. 2019.
                own = [i for i, j in pairs[number].links or () if j == case.row] if stack == "cross" else [case.row]
                row = of_heads[:, case.row, :-1].copy()
                row[:, own] = 0.0
                seen[stack, case.kind].append((number, case.offset, row.argmax(axis=1) == case.column))
    names = {stack: list(of) for stack, of in groupby(head_names(model), key=lambda name: name.stack)}
    figures = []
    for stack, kind in sorted(seen, key=lambda key: -len(seen[key])):
        rows, offsets, hits = map(np.array, zip(*seen[stack, kind], strict=True))
        counts = Counter(offsets.tolist())
        offset = min(counts, key=lambda offset: (-counts[offset], abs(offset), offset))
        best = int(hits.mean(axis=0).argmax())
        tries = np.bincount(rows, minlength=len(pairs)).astype(float)
        baseline, found = (
            estimate(np.bincount(rows, weights=right, minlength=len(pairs)), tries)
            for right in (offsets == offset, hits[:, best])
        )
        figures.append(RelationFigures(stack, kind, len(rows), offset, baseline, names[stack][best], found))
    return figures


def relation_lines(figures: Sequence[RelationFigures], *, width: int) -> Iterator[str]:
    """Yield a table per stack: for each relation, the direction in which a head beats the baseline by more."""
    for stack, title in STACKS.items():
        chosen: dict[str, RelationFigures] = {}
        for each in figures:
            if each.stack == stack and each.count >= CASES:
                chosen[each.kind[0]] = max(chosen.get(each.kind[0], each), each, key=_lead)
        if chosen:
            yield f"{title}: which head finds a relation best"
            headings = ("relation", "cases", "head", "found, %", "at a fixed offset, %", "")
            yield from (*table_lines(map(_row, chosen.values()), headings=headings, right=range(1, 6), width=width), "")


def _lead(figures: RelationFigures) -> float:
    return figures.found.value - figures.baseline.value


def _row(of: RelationFigures) -> list[str]:
    shares = (share.text(0, factor=100.0) for share in (of.found, of.baseline))
    relation, looked_for = of.kind
    return [f"{relation} → its {looked_for}", str(of.count), str(of.best), *shares, f"at {of.offset:+d}"]
