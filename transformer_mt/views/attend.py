"""`tmt attend`: the matrices of a sentence pair by a method, chosen and drawn, or as graphs."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, zip_longest
from typing import Any

import numpy as np
from rich.text import Text

from transformer_mt.errors import InputError
from transformer_mt.head_names import STACKS, HeadName
from transformer_mt.links.tokens import PairTokens
from transformer_mt.models.head_mask import ALL, EVERY, MEAN, heads_at
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import lookup
from transformer_mt.views.faithfulness import Scores, compare
from transformer_mt.views.maps import AttentionMaps, StackMaps
from transformer_mt.views.matrix import Blocks, Matrix, Scale, is_convex, legend, matrix_lines
from transformer_mt.views.methods import METHODS
from transformer_mt.views.rendering import label, rendered, table, wrapped

# The sides of a stack's matrices.
SIDES = {"encoder": "source against source", "decoder": "target against target", "cross": "target against source"}


def view_attention(
    model: Seq2Seq,
    tokens: PairTokens,
    *,
    method: str = "weights",
    words: bool = True,
    stacks: Collection[str] = tuple(STACKS),
) -> AttentionMaps:
    """The matrices of a pair by a method, over words or pieces, of those of the stacks that the method covers.

    Raises `InputError` for an unknown method, or one that does not apply to the model.
    """
    maps = lookup(METHODS, method, key="method")().maps(model, tokens, stacks=stacks)
    return maps.by_words() if words else maps


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """The maps by the weights of one validation, its loss if it is known, and the translation that they gave."""

    step: int
    loss: float | None
    translation: str
    stacks: dict[str, StackMaps]


def explaining_matrix(maps: AttentionMaps, *, heads: Sequence[HeadName] = ()) -> Matrix:
    """The one matrix that explains a translation best: the mean over these heads of the cross-attention.

    Heads that the model does not have are left out. Without any they are all of the last layer but one, a guess, or
    where that has none, all that are left. For a method that has one matrix for the whole model it is that one.
    """
    stack = lookup(maps.stacks, "cross", key="stack")
    if METHODS[maps.method].whole:
        return layer_matrices(maps)[0]
    every, guess = _heads(stack, "cross"), max(1, len(stack.weights) - 1)
    heads = [head for head in heads if head in every]
    if not heads and (not every or any(head.layer == guess for head in every)):
        return layer_matrices(maps, layer=str(guess))[0]
    heads = heads or every
    names = f"all {len(every)} heads" if len(heads) == len(every) else ", ".join(map(str, heads))
    return _matrix(maps, heads, key="cross", place=STACKS["cross"], name=f"mean of {names}")


def layer_matrices(
    maps: AttentionMaps, *, stack: str = "cross", layer: str | None = None, head: str | None = None
) -> list[Matrix]:
    """The matrices of a stack that were asked for: `layer` is a number from 1 or `all`, `head` may also be `mean`.

    Without them they are all layers and the mean over their heads. Raises `InputError` that names the option for an
    unknown stack, layer or head, and for a layer or head of a method that has one matrix for the whole model.
    """
    chosen = lookup(maps.stacks, stack, key="stack")
    if METHODS[maps.method].whole:
        if layer is not None or head is not None:
            raise InputError("layer, head", f"{maps.method} has one matrix for the whole model", "leave them out")
        return [Matrix(stack, maps.method, SIDES[stack], chosen.matrix(0, 0), chosen.rows, chosen.columns)]
    layers, heads = chosen.weights.shape[:2]
    matrices = []
    of_layers = groupby(heads_at(_heads(chosen, stack), layer=layer, head=head, every=EVERY), lambda name: name.layer)
    for number, names in of_layers:
        place, in_layer = f"{STACKS[stack]}, layer {number} of {layers}", list(names)
        if head in (None, MEAN):
            name = f"mean of {len(in_layer)} heads"
            matrices.append(_matrix(maps, in_layer, key=f"{stack}.{number}", place=place, name=name))
        else:
            for one in in_layer:
                matrices.append(_matrix(maps, [one], key=str(one), place=place, name=f"head {one.head} of {heads}"))
    return matrices


def _heads(maps: StackMaps, stack: str) -> list[HeadName]:
    layers = range(len(maps.weights))
    return [HeadName(stack, layer + 1, head + 1) for layer in layers for head in maps.heads(layer)]


def _matrix(maps: AttentionMaps, heads: Sequence[HeadName], *, key: str, place: str, name: str) -> Matrix:
    """The mean over heads of one stack."""
    stack, prefix = maps.stacks[heads[0].stack], "" if maps.method == "weights" else f"{maps.method}, "
    numbers = stack.mean([(head.layer - 1, head.head - 1) for head in heads])
    return Matrix(key, f"{prefix}{place}", name, numbers, stack.rows, stack.columns)


def _every_matrix(maps: AttentionMaps) -> Iterator[Matrix]:
    for stack in maps.stacks:
        yield from layer_matrices(maps, stack=stack, head=None if METHODS[maps.method].whole else ALL)


def agreement(matrix: Matrix, erased: AttentionMaps) -> Scores | None:
    """The agreement of a matrix with erasure, `</s>` aside; None for self-attention, and for a single column."""
    if not matrix.key.startswith("cross"):
        return None
    both = (matrix.numbers, erased.stacks["cross"].matrix(0, None))
    ours, theirs = (np.array(numbers, dtype=np.float64)[:-1, :-1] for numbers in both)
    return compare(ours, theirs)


def agreements(maps: AttentionMaps, erased: AttentionMaps) -> dict[str, Any]:
    """For `--json`: `tau` and `first` for each matrix of the cross-attention by its name, as `cross.2.1`, or null."""
    scores = {one.key: agreement(one, erased) for one in _every_matrix(maps) if one.key.startswith("cross")}
    return {key: score and {"tau": score.correlation, "first": score.first} for key, score in scores.items()}


def agreement_lines(matrices: Sequence[Matrix], erased: AttentionMaps) -> Iterator[str]:
    """The agreement of each matrix with erasure, where it is known."""
    for matrix in matrices:
        if (scores := agreement(matrix, erased)) is not None:
            of_several = f"{matrix.key}: " if len(matrices) > 1 else ""
            first = f"the same word first in {100 * scores.first:.0f} % of rows"
            yield f"{of_several}agreement with erasure: tau {scores.correlation:.2f}, 0 is chance; {first}"


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The graph of a matrix: an edge from row i to column j where |α_ij| / Σ_k |α_ik| reaches a threshold.

    An edge is a row, a column, both from 0, and the weight. `convex` is true if the output of every row that may attend
    at all is a convex combination of the columns' values: no number is negative, and they sum to 1.
    """

    edges: list[tuple[int, int, float]]
    out_degrees: list[int]
    in_degrees: list[int]
    convex: bool


def adjacency(matrix: Matrix, *, threshold: float) -> Adjacency:
    """The graph of a matrix; `threshold` is from 0 to 1."""
    edges = [
        (i, j, float(f"{weight:.5g}"))
        for i, row in enumerate(matrix.numbers)
        for j, weight in enumerate(row)
        if weight and abs(weight) >= threshold * sum(abs(number or 0.0) for number in row)
    ]
    rows, columns = Counter(row for row, _, _ in edges), Counter(column for _, column, _ in edges)
    return Adjacency(
        edges,
        out_degrees=[rows[i] for i in range(len(matrix.rows))],
        in_degrees=[columns[j] for j in range(len(matrix.columns))],
        convex=all(is_convex(row) for row in matrix.numbers if any(weight is not None for weight in row)),
    )


def graphs(maps: AttentionMaps, *, threshold: float) -> dict[str, Any]:
    """For `--json`: the `threshold`, and `matrices`, the graph of every head or stack by its name, as `cross.2.1`."""
    matrices = {matrix.key: adjacency(matrix, threshold=threshold) for matrix in _every_matrix(maps)}
    return {"threshold": threshold, "matrices": matrices}


def graph_lines(matrix: Matrix, *, threshold: float, width: int, scale: Scale) -> Iterator[str | Text]:
    """The edges and the out-degree of each row, the in-degree of each column, and a sentence about the rows' sums."""
    graph = adjacency(matrix, threshold=threshold)
    ends: list[list[Text]] = [[] for _ in matrix.rows]
    for row, column, weight in graph.edges:
        ends[row].append(Text.assemble(label(matrix.columns[column]), f" {scale.printed(weight).strip()}"))
    title = f"{matrix.title}: {len(graph.edges)} edges, each at least {100 * threshold:g} % of its row"
    yield from (*wrapped(title, width=width), "")
    outgoing = zip(map(label, matrix.rows), map(str, graph.out_degrees), map(Text(", ").join, ends), strict=True)
    yield from rendered(table(outgoing, headings=("row", "out-degree", "edges"), right=(0, 1)), width=width)
    yield ""
    incoming = zip(map(label, matrix.columns), map(str, graph.in_degrees), strict=True)
    yield from rendered(table(incoming, headings=("column", "in-degree"), right=(0, 1)), width=width)
    yield ""
    convex = "Every row is a convex combination: no number is negative, and they sum to 1."
    other = "Rows are no convex combinations: numbers are negative, or do not sum to 1."
    yield from wrapped(convex if graph.convex else other, width=width)


def rows_of_matrices(views: Sequence[Sequence[Matrix]]) -> list[list[Matrix]]:
    """The matrices in rows: of one view those of a place, of several those of the same layer and head."""
    if len(views) == 1:
        return [list(group) for _, group in groupby(views[0], lambda matrix: matrix.place)]
    return [[matrix for matrix in row if matrix] for row in zip_longest(*views)]


def attention_lines(
    rows: Sequence[list[Matrix]], *, method: str, width: int, shading: Blocks, compact: bool, threshold: float | None
) -> Iterator[str | Text]:
    """Rows of matrices beside each other, as graphs where there is a threshold, and the meaning of their numbers."""
    matrices = list(chain(*rows))
    if threshold is None:
        for row in rows:
            yield ""
            yield from matrix_lines(row, width=width, shading=shading, compact=compact)
        yield ""
        yield from legend(matrices, width=width, shading=shading, compact=compact)
    else:
        for matrix in matrices:
            yield ""
            yield from graph_lines(matrix, threshold=threshold, width=width, scale=shading.scale)
        yield ""
        if shading.scale.unit != 1.0:
            yield f"Numbers are in units of {shading.scale.unit:g}."
    yield from wrapped(f"A number is {METHODS[method].meaning}.", width=width)
