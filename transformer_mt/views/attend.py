"""`tmt attend`: select the matrices of a sentence pair and draw them, also as graphs."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

import numpy as np
from rich.text import Text

from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import STACKS, HeadName
from transformer_mt.ground.registry import lookup
from transformer_mt.links.tokens import PairTokens
from transformer_mt.models.head_mask import ALL, EVERY, MEAN, heads_at
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.text.terminal import JsonObject
from transformer_mt.views.agreement import compare_rows
from transformer_mt.views.maps import AttentionMaps
from transformer_mt.views.matrix import Blocks, LabelledMatrix, Scale, is_convex, legend, matrix_lines
from transformer_mt.views.methods import METHODS
from transformer_mt.views.rendering import label, rendered, table, wrapped

# The rows and columns of each stack's matrices.
BETWEEN = {"encoder": "source against source", "decoder": "target against target", "cross": "target against source"}


def view_attention(
    model: Seq2Seq,
    tokens: PairTokens,
    *,
    method: str = "weights",
    words: bool = True,
    stacks: Collection[str] = STACKS,
) -> AttentionMaps:
    """The matrices of a pair by a method, over words or tokens, for the given stacks that the method covers.

    Raises `InputError` for an unknown method, or one that does not apply to the model.
    """
    maps = lookup(METHODS, method, key="method")().maps(model, tokens, stacks=stacks)
    return maps.by_words() if words else maps


def explaining_matrix(maps: AttentionMaps, *, heads: Sequence[HeadName] = ()) -> LabelledMatrix:
    """The matrix that explains a translation best: the mean over the given cross-attention heads.

    Ignores heads that the model does not have. Without any, guesses: all heads of the second-last layer or, if it has
    none, all heads. For a method with one matrix for the whole model, returns that one.
    """
    stack = lookup(maps.stacks, "cross", key="stack")
    every = stack.heads("cross")
    guess = max(1, len(stack.weights) - 1)
    heads = [head for head in heads if head in every]
    if METHODS[maps.method].whole:
        return layer_matrices(maps)[0]
    if not heads and (not every or guess in [head.layer for head in every]):
        return layer_matrices(maps, layer=str(guess))[0]
    heads = heads or every
    names = f"all {len(every)} heads" if 1 < len(heads) == len(every) else ", ".join(map(str, heads))
    return _mean(maps, heads, key="cross", place=STACKS["cross"], name=f"mean of {names}")


def layer_matrices(
    maps: AttentionMaps, *, stack: str = "cross", layer: str | None = None, head: str | None = None
) -> list[LabelledMatrix]:
    """Select matrices of a stack: `layer` is a number from 1 or `all`, `head` may also be `mean`.

    The default is all layers and the mean over their heads. Raises `InputError` for an unknown stack, layer or head,
    and for a layer or head of a method with one matrix for the whole model.
    """
    chosen = lookup(maps.stacks, stack, key="stack")
    if METHODS[maps.method].whole:
        if layer is not None or head is not None:
            raise InputError("layer, head", f"{maps.method} has one matrix for the whole model", "leave them out")
        numbers = chosen.mean([HeadName(stack, 1, 1)])
        return [LabelledMatrix(stack, maps.method, BETWEEN[stack], numbers, chosen.rows, chosen.columns)]
    layers, heads = chosen.weights.shape[:2]
    matrices = []
    of_layers = groupby(heads_at(chosen.heads(stack), layer=layer, head=head, every=EVERY), lambda name: name.layer)
    for number, names in of_layers:
        place = f"{STACKS[stack]}, layer {number} of {layers}"
        in_layer = list(names)
        if head in (None, MEAN):
            name = f"mean of {len(in_layer)} heads" if len(in_layer) > 1 else "the only head"
            matrices.append(_mean(maps, in_layer, key=f"{stack}.{number}", place=place, name=name))
        else:
            for one in in_layer:
                matrices.append(_mean(maps, [one], key=str(one), place=place, name=f"head {one.head} of {heads}"))
    return matrices


def _mean(maps: AttentionMaps, heads: Sequence[HeadName], *, key: str, place: str, name: str) -> LabelledMatrix:
    """The mean over heads of one stack, as a labelled matrix."""
    stack = maps.stacks[heads[0].stack]
    prefix = "" if maps.method == "weights" else f"{maps.method}, "
    return LabelledMatrix(key, f"{prefix}{place}", name, stack.mean(heads), stack.rows, stack.columns)


def _every_matrix(maps: AttentionMaps) -> Iterator[LabelledMatrix]:
    for stack in maps.stacks:
        yield from layer_matrices(maps, stack=stack, head=None if METHODS[maps.method].whole else ALL)


def agreement(matrix: LabelledMatrix, erased: AttentionMaps) -> tuple[float, float] | None:
    """The agreement of a matrix with erasure, without `</s>`; None for self-attention, and if no row has a τ."""
    if not matrix.key.startswith("cross"):
        return None
    (reference,) = layer_matrices(erased)
    return compare_rows(matrix.numbers[:-1, :-1], reference.numbers[:-1, :-1])


def agreements(maps: AttentionMaps, erased: AttentionMaps) -> JsonObject:
    """For `--json`: `tau` and `first` (or null) of each cross-attention matrix, by name, for example `cross.2.1`."""
    found: JsonObject = {}
    for matrix in _every_matrix(maps):
        if matrix.key.startswith("cross"):
            scores = agreement(matrix, erased)
            found[matrix.key] = scores and dict(zip(("tau", "first"), scores, strict=True))
    return found


def agreement_lines(matrices: Sequence[LabelledMatrix], erased: AttentionMaps) -> Iterator[str]:
    """Yield the agreement of each matrix with erasure, if defined."""
    for matrix in matrices:
        if scores := agreement(matrix, erased):
            tau, first = scores
            of_several = f"{matrix.key}: " if len(matrices) > 1 else ""
            same = f"the same word first in {100 * first:.0f} % of rows"
            yield f"{of_several}agreement with erasure: tau {tau:.2f}, 0 is chance; {same}"


@dataclass(frozen=True)
class Adjacency:
    """The graph of a matrix: an edge from row i to column j if |α_ij| / Σ_k |α_ik| reaches a threshold.

    An edge is a row and a column, both from 0, and the weight. `convex` tells whether every row that may attend at all
    is a convex combination of the columns' values: no number is negative, and they sum to 1.
    """

    edges: list[tuple[int, int, float]]
    out_degrees: list[int]
    in_degrees: list[int]
    convex: bool


def adjacency(matrix: LabelledMatrix, *, threshold: float) -> Adjacency:
    """The graph of a matrix; `threshold` is from 0 to 1."""
    weights = np.nan_to_num(matrix.numbers)
    least = threshold * np.abs(weights).sum(axis=1, keepdims=True)
    is_edge = (weights != 0.0) & (np.abs(weights) >= least)
    return Adjacency(
        edges=[(i, j, float(f"{weights[i, j]:.5g}")) for i, j in np.argwhere(is_edge).tolist()],
        out_degrees=is_edge.sum(axis=1).tolist(),
        in_degrees=is_edge.sum(axis=0).tolist(),
        convex=is_convex(matrix.numbers),
    )


def graphs(maps: AttentionMaps, *, threshold: float) -> JsonObject:
    """For `--json`: the `threshold`, and `matrices`, the graph of every head or stack by name."""
    matrices = {matrix.key: adjacency(matrix, threshold=threshold) for matrix in _every_matrix(maps)}
    return {"threshold": threshold, "matrices": matrices}


def graph_lines(matrix: LabelledMatrix, *, threshold: float, width: int, scale: Scale) -> Iterator[str | Text]:
    """Yield the edges and out-degree of each row, the in-degree of each column, and whether rows are convex."""
    graph = adjacency(matrix, threshold=threshold)
    rows: list[list[str | Text]] = []
    for i, name in enumerate(matrix.rows):
        ends = [
            Text.assemble(label(matrix.columns[j]), f" {scale.printed(weight).strip()}")
            for row, j, weight in graph.edges
            if row == i
        ]
        rows.append([label(name), str(graph.out_degrees[i]), Text(", ").join(ends)])
    title = f"{matrix.title}: {len(graph.edges)} edges, each at least {100 * threshold:g} % of its row"
    yield from (*wrapped(title, width=width), "")
    yield from rendered(table(rows, headings=("row", "out-degree", "edges"), right=(0, 1)), width=width)
    yield ""
    incoming = zip(map(label, matrix.columns), map(str, graph.in_degrees), strict=True)
    yield from rendered(table(incoming, headings=("column", "in-degree"), right=(0, 1)), width=width)
    yield ""
    convex = "Every row is a convex combination: no number is negative, and they sum to 1."
    other = "Not all rows are convex combinations: some numbers are negative or do not sum to 1."
    yield from wrapped(convex if graph.convex else other, width=width)


def rows_of_matrices(matrices: Sequence[LabelledMatrix]) -> list[list[LabelledMatrix]]:
    """Arrange matrices in rows, one per layer."""
    return [list(group) for _, group in groupby(matrices, lambda matrix: matrix.place)]


def attention_lines(
    rows: Sequence[list[LabelledMatrix]],
    *,
    method: str,
    width: int,
    shading: Blocks,
    compact: bool,
    threshold: float | None,
) -> Iterator[str | Text]:
    """Yield rows of matrices, side by side, or as graphs if there is a threshold; then the meaning of their numbers."""
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
