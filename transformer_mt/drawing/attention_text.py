"""What `tmt attend` prints: matrices beside each other, what shades and numbers mean, and whether erasure agrees."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.text import Text
from typing_extensions import override

from transformer_mt.drawing.graph_text import render_graph
from transformer_mt.drawing.layout import beside, words_of, wrap_words
from transformer_mt.drawing.matrix_text import render_compact, render_map
from transformer_mt.drawing.shading import Shading, render_compact_legend, render_legend
from transformer_mt.inspection.graph import adjacency
from transformer_mt.inspection.matrices import Matrix
from transformer_mt.inspection.views import AttentionView

Block = list[Text]


class Form(ABC):
    """A way to show matrices."""

    @abstractmethod
    def blocks(self, matrices: Sequence[Matrix], *, width: int, shading: Shading) -> list[Block]:
        """What stands beside each other, as far as it fits."""

    @abstractmethod
    def legend(self, matrices: Sequence[Matrix], *, width: int, shading: Shading) -> Block:
        """What the shades mean."""


class Numbers(Form):
    """Shaded numbers."""

    @override
    def blocks(self, matrices: Sequence[Matrix], *, width: int, shading: Shading) -> list[Block]:
        return [
            render_map(
                matrix.numbers,
                title=matrix.title,
                rows=matrix.rows,
                columns=matrix.columns,
                width=width,
                shading=shading,
            )
            for matrix in matrices
        ]

    @override
    def legend(self, matrices: Sequence[Matrix], *, width: int, shading: Shading) -> Block:
        return render_legend(width=width, shading=shading, masked=_any_masked(matrices))


class Shades(Form):
    """Shades alone; matrices of one place, which have the same labels, share them."""

    @override
    def blocks(self, matrices: Sequence[Matrix], *, width: int, shading: Shading) -> list[Block]:
        found = []
        for place, group in groupby(matrices, key=lambda matrix: matrix.place):
            first, *others = group
            found.append(
                render_compact(
                    [(matrix.name, matrix.numbers) for matrix in (first, *others)],
                    title=place,
                    rows=first.rows,
                    columns=first.columns,
                    width=width,
                    shading=shading,
                )
            )
        return found

    @override
    def legend(self, matrices: Sequence[Matrix], *, width: int, shading: Shading) -> Block:
        negative = any((number or 0.0) < 0.0 for matrix in matrices for row in matrix.numbers for number in row)
        return render_compact_legend(width=width, shading=shading, masked=_any_masked(matrices), negative=negative)


@dataclass(frozen=True, slots=True)
class Graphs(Form):
    """Edges, those that have at least that share of their row, and degrees."""

    threshold: float

    @override
    def blocks(self, matrices: Sequence[Matrix], *, width: int, shading: Shading) -> list[Block]:
        return [
            render_graph(matrix, adjacency(matrix, threshold=self.threshold), width=width, shading=shading)
            for matrix in matrices
        ]

    @override
    def legend(self, matrices: Sequence[Matrix], *, width: int, shading: Shading) -> Block:
        """Nothing is shaded; only the unit is said."""
        unit = shading.scale.unit
        return [] if unit == 1.0 else wrap_words(words_of(f"Numbers are in units of {unit:g}."), width=width)


def attention_lines(
    matrices: Sequence[Sequence[Matrix]], form: Form, *, meaning: str, width: int, shading: Shading
) -> Iterator[Text]:
    """Lines of matrices, each after an empty one; what the shades mean, and the `meaning` of numbers, a sentence."""
    for line in matrices:
        yield Text()
        yield from beside(form.blocks(line, width=width, shading=shading), width=width)
    yield Text()
    yield from form.legend([matrix for line in matrices for matrix in line], width=width, shading=shading)
    yield from wrap_words(words_of(shading.glyphs.clean(meaning)), width=width)


def agreement_lines(view: AttentionView, matrices: Sequence[Matrix]) -> Iterator[str]:
    """How far each matrix of the view agrees with erasure, where that is known."""
    for matrix in matrices:
        if (found := view.agreement(matrix)) is not None:
            of_several = f"{matrix.key}: " if len(matrices) > 1 else ""
            first = f"the same word first in {100 * found.first:.0f} % of rows"
            yield f"{of_several}agreement with erasure: tau {found.correlation:.2f}, 0 is chance; {first}"


def _any_masked(matrices: Sequence[Matrix]) -> bool:
    return any(matrix.masked for matrix in matrices)
