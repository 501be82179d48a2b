"""`tmt attend`: the matrices of a sentence pair by one method, of one run, of several, or as a run learned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, zip_longest
from typing import Any

import numpy as np
import torch
from rich.text import Text

from transformer_mt.errors import InputError
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import STACKS, HeadName, lookup
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.faithfulness import REFERENCE, Scores, compare
from transformer_mt.views.graph import adjacency, graph_lines
from transformer_mt.views.maps import AttentionMaps, StackMaps
from transformer_mt.views.matrix import Matrix, Shading, legend, matrix_lines
from transformer_mt.views.methods import METHODS
from transformer_mt.views.text import wrapped

ALL, MEAN = "all", "mean"
# The sides of a stack's matrices.
SIDES = {"encoder": "source against source", "decoder": "target against target", "cross": "target against source"}


@dataclass(frozen=True, slots=True)
class AttentionView:
    """The maps of a sentence pair by a method of `METHODS`; `threshold`, if there is one, is that of their graphs.

    `erased` are those by erasure, where the method is to be compared with it.
    """

    method: str
    maps: AttentionMaps
    threshold: float | None = None
    erased: AttentionMaps | None = None

    def to_json(self) -> dict[str, Any]:
        """Keys: `source`, `target`, `method`, `stacks` as `StackMaps.to_json` has them.

        With a threshold also `graph`: the `threshold`, and `matrices`, which has for each head by its name, as
        `cross.2.1`, its `Adjacency`; for a method of one matrix by the name of its stack. Where it is compared with
        erasure also `agreement`: by the same names, for cross-attention, `tau` and `first`, or null.
        """
        shown = self.arrays()
        if self.threshold is not None:
            graphs = {matrix.key: adjacency(matrix, threshold=self.threshold) for matrix in self._every_matrix()}
            shown["graph"] = {"threshold": self.threshold, "matrices": graphs}
        if self.erased is not None:
            scores = {one.key: self.agreement(one) for one in self._every_matrix() if one.key.startswith("cross")}
            shown["agreement"] = {
                key: score and {"tau": score.correlation, "first": score.first} for key, score in scores.items()
            }
        return shown

    def arrays(self) -> dict[str, Any]:
        """Texts, method and stacks: `cross.weights`, `cross.mask`, `cross.rows`, `cross.columns`, …"""
        maps = self.maps
        return {"source": maps.source, "target": maps.target, "method": self.method, "stacks": maps.stacks}

    def agreement(self, matrix: Matrix) -> Scores | None:
        """How far a matrix of this view agrees with erasure, `</s>` aside: Kendall's τ_b and how often both have the
        same column first, over its rows. None where that is not known: for self-attention, and for a single column."""
        if self.erased is None or not matrix.key.startswith("cross"):
            return None
        both = (matrix.numbers, self.erased.stacks["cross"].matrix(0, None))
        ours, theirs = (np.array(numbers, dtype=np.float64)[:-1, :-1] for numbers in both)
        return compare(ours, theirs)

    def _every_matrix(self) -> Iterator[Matrix]:
        """The matrix of every head, or of every stack for a method that has one matrix."""
        head = None if METHODS[self.method].whole else ALL
        for stack in self.maps.stacks:
            yield from layer_matrices(self.maps, stack=stack, head=head, method=self.method)


@dataclass(frozen=True, slots=True)
class RunsView:
    """The views of several runs of one sentence, each with the run's name."""

    runs: Sequence[tuple[str, AttentionView]]

    def to_json(self) -> dict[str, Any]:
        """`runs`, a list: for each run its name as `run`, and the keys of its view."""
        return {"runs": [{"run": name} | view.to_json() for name, view in self.runs]}

    def arrays(self) -> dict[str, Any]:
        """The arrays of each view, with the run's number before them: `1.cross.weights`; and the names as `runs`."""
        views = {str(number): view for number, (_, view) in enumerate(self.runs, start=1)}
        return {"runs": [name for name, _ in self.runs]} | views


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """The maps by the weights of one validation, its loss if it is known, and the translation that they gave."""

    step: int
    loss: float | None
    translation: str
    stacks: dict[str, StackMaps]

    @property
    def name(self) -> str:
        """For a title."""
        return f"step {self.step}" + ("" if self.loss is None else f", loss {self.loss:.3f}")


@dataclass(frozen=True, slots=True)
class HistoryView:
    """How the attention of a sentence pair developed: every step looks at the same target."""

    source: str
    target: str
    method: str
    steps: tuple[HistoryStep, ...]


def view_attention(
    model: Seq2Seq,
    tokenizer: Tokenizer,
    source: str,
    target: str,
    *,
    method: str = "weights",
    words: bool = True,
    threshold: float | None = None,
    compared: bool = False,
) -> AttentionView:
    """The matrices of a pair by a method, over words or pieces, and those of erasure where it is `compared` with them.

    Raises `InputError` for an unknown method, for a text that is too long, and for a model that the method does not
    apply to.
    """
    maps = lookup(METHODS, method, key="--method")().maps(model, tokenizer, source, target)
    erased = METHODS[REFERENCE]().maps(model, tokenizer, source, target) if compared else None
    if words:
        maps, erased = maps.by_words(), erased and erased.by_words()
    return AttentionView(method, maps, threshold, erased)


def explaining_matrix(maps: AttentionMaps, *, method: str = "weights", heads: Sequence[HeadName] = ()) -> Matrix:
    """The one matrix that explains a translation best: the mean over these heads of the cross-attention.

    Heads that the model does not have are left out. Without any they are all of the last layer but one, a guess. For a
    method that has one matrix for the whole model it is that one.
    """
    stack = lookup(maps.stacks, "cross", key="--stack")
    if METHODS[method].whole:
        return layer_matrices(maps, method=method)[0]
    layers = len(stack.weights)
    every = [HeadName("cross", i + 1, j + 1) for i in range(layers) for j in stack.heads(i)]
    heads = [name for name in heads if name in every]
    if not heads:
        return layer_matrices(maps, layer=str(max(1, layers - 1)), method=method)[0]
    weights = torch.stack([stack.weights[name.layer - 1, name.head - 1] for name in heads]).mean(dim=0)
    mask = torch.stack([stack.mask[name.layer - 1] for name in heads]).any(dim=0)
    mean = StackMaps(weights[None, None], mask[None], stack.rows, stack.columns)
    if len(heads) == 1:
        name = f"head {heads[0]}"
    elif set(heads) == set(every):
        name = f"mean of all {len(every)} heads"
    else:
        name = f"mean of {', '.join(map(str, heads))}"
    return _matrix(mean, 0, 0, key="cross", place=STACKS["cross"], name=name, method=method)


def layer_matrices(
    maps: AttentionMaps,
    *,
    stack: str = "cross",
    layer: str | None = None,
    head: str | None = None,
    method: str = "weights",
) -> list[Matrix]:
    """The matrices of a stack that were asked for: `layer` is a number from 1 or `all`, `head` may also be `mean`.

    Without them they are all layers and the mean over their heads. Raises `InputError` that names the option for an
    unknown stack, layer or head, and for a layer or head of a method that has one matrix for the whole model.
    """
    chosen = lookup(maps.stacks, stack, key="--stack")
    if METHODS[method].whole:
        for option, value in {"--layer": layer, "--head": head}.items():
            if value is not None:
                raise InputError(f"{option}: {method} has one matrix for the whole model; leave one of the two out")
        return [_matrix(chosen, 0, 0, key=stack, place=method, name=SIDES[stack])]
    layers, heads = chosen.weights.shape[:2]
    matrices = []
    for i in _numbers(layer or ALL, range(1, layers + 1), option="--layer", words=(ALL,)):
        place = f"{STACKS[stack]}, layer {i} of {layers}"
        present = [j + 1 for j in chosen.heads(i - 1)]
        if head in (None, MEAN):
            if present:
                name = f"mean of {len(present)} heads"
                matrices.append(_matrix(chosen, i - 1, None, key=f"{stack}.{i}", place=place, name=name, method=method))
            continue
        for j in _numbers(head, present, option="--head", words=(MEAN, ALL)) if present else ():
            key, name = str(HeadName(stack, i, j)), f"head {j} of {heads}"
            matrices.append(_matrix(chosen, i - 1, j - 1, key=key, place=place, name=name, method=method))
    if not matrices:
        raise InputError("--layer: no head is left there; give another")
    return matrices


def _matrix(
    maps: StackMaps, layer: int, head: int | None, *, key: str, place: str, name: str, method: str = "weights"
) -> Matrix:
    prefix = "" if method == "weights" else f"{method}, "
    return Matrix(key, f"{prefix}{place}", name, maps.matrix(layer, head), maps.rows, maps.columns)


def _numbers(text: str, present: Sequence[int], *, option: str, words: tuple[str, ...]) -> Sequence[int]:
    """The numbers that an option asks for. Raises `InputError` that names those that are present."""
    if text == ALL:
        return present
    if text.isdecimal() and int(text) in present:
        return [int(text)]
    without_gap = list(present) == list(range(1, len(present) + 1))
    numbers = f"a number from 1 to {len(present)}" if without_gap else ", ".join(map(str, present))
    raise InputError(f"{option}: there is no {text!r}; give {' or '.join([numbers, *words])}")


def rows_of_matrices(views: Sequence[Sequence[Matrix]]) -> list[list[Matrix]]:
    """The matrices in rows: of one view those of a place, of several those of the same layer and head."""
    if len(views) == 1:
        return [list(group) for _, group in groupby(views[0], lambda matrix: matrix.place)]
    return [[matrix for matrix in row if matrix] for row in zip_longest(*views)]


def attention_lines(
    rows: Sequence[Sequence[Matrix]],
    *,
    method: str,
    width: int,
    shading: Shading,
    compact: bool = False,
    threshold: float | None = None,
) -> Iterator[str | Text]:
    """Rows of matrices beside each other, as graphs where there is a threshold, and the meaning of their numbers."""
    for row in rows:
        yield ""
        if threshold is None:
            yield from matrix_lines(row, width=width, shading=shading, compact=compact)
            continue
        for number, matrix in enumerate(row):
            yield from [""] * (number > 0)
            graph = adjacency(matrix, threshold=threshold)
            yield from graph_lines(matrix, graph, width=width, scale=shading.scale)
    yield ""
    if threshold is None:
        yield from legend(list(chain(*rows)), width=width, shading=shading, compact=compact)
    elif shading.scale.unit != 1.0:
        yield f"Numbers are in units of {shading.scale.unit:g}."
    yield from wrapped(f"A number is {METHODS[method].meaning}.", width=width)


def agreement_lines(view: AttentionView, matrices: Sequence[Matrix]) -> Iterator[str]:
    """How far each matrix of the view agrees with erasure, where that is known."""
    for matrix in matrices:
        if (scores := view.agreement(matrix)) is not None:
            of_several = f"{matrix.key}: " if len(matrices) > 1 else ""
            first = f"the same word first in {100 * scores.first:.0f} % of rows"
            yield f"{of_several}agreement with erasure: tau {scores.correlation:.2f}, 0 is chance; {first}"
