"""What `tmt attend` shows, as data: the maps of a run by one method, or those of several runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer_mt.inspection.graph import adjacency
from transformer_mt.inspection.maps import AttentionMaps
from transformer_mt.inspection.matrices import ALL, Matrix, layer_matrices
from transformer_mt.inspection.methods import METHODS
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import lookup
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.faithfulness import REFERENCE, Scores, compare


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
        """Keys: `source`, `target`, `method`, `stacks` as `AttentionMaps.to_json` has it.

        With a threshold also `graph`: the `threshold`, and `matrices`, which has for each head by its name, as
        `cross.2.1`, what `Adjacency.to_json` gives; for a method of one matrix by the name of its stack. Where it is
        compared with erasure also `agreement`: by the same names, for cross-attention, `tau` and `first`, or null.
        """
        found = {"source": self.maps.source, "target": self.maps.target, "method": self.method}
        return found | {"stacks": self.maps.to_json()["stacks"]} | self._graph() | self._agreements()

    def arrays(self) -> dict[str, np.ndarray]:
        """Those of the maps, and the method."""
        return self.maps.arrays() | {"method": np.array(self.method)}

    def agreement(self, matrix: Matrix) -> Scores | None:
        """How far a matrix of this view agrees with erasure, `</s>` aside: Kendall's τ_b and how often both have the
        same column first, over its rows. None where that is not known: for self-attention, and for a single column."""
        if self.erased is None or not matrix.key.startswith("cross"):
            return None
        both = (matrix.numbers, self.erased.stacks["cross"].matrix(0, None))
        ours, theirs = (np.array(numbers, dtype=np.float64)[:-1, :-1] for numbers in both)
        return compare(ours, theirs)

    def _graph(self) -> dict[str, Any]:
        if self.threshold is None:
            return {}
        found = {matrix.key: adjacency(matrix, threshold=self.threshold).to_json() for matrix in self._matrices()}
        return {"graph": {"threshold": self.threshold, "matrices": found}}

    def _agreements(self) -> dict[str, Any]:
        if self.erased is None:
            return {}
        scores = {matrix.key: self.agreement(matrix) for matrix in self._matrices() if matrix.key.startswith("cross")}
        found = {key: one and {"tau": one.correlation, "first": one.first} for key, one in scores.items()}
        return {"agreement": found}

    def _matrices(self) -> list[Matrix]:
        """The matrix of every head, or of every stack for a method that has one matrix."""
        head = None if METHODS[self.method].whole else ALL
        return [
            matrix
            for stack in self.maps.stacks
            for matrix in layer_matrices(self.maps, stack=stack, head=head, method=self.method)
        ]


@dataclass(frozen=True, slots=True)
class ViewsOfRuns:
    """The views of several runs of one sentence, each with the run's name."""

    runs: Sequence[tuple[str, AttentionView]]

    def to_json(self) -> dict[str, Any]:
        """`runs`, a list: for each run its name as `run`, and what its view has."""
        return {"runs": [{"run": name} | view.to_json() for name, view in self.runs]}

    def arrays(self) -> dict[str, np.ndarray]:
        """What each view has, with the run's number in front: `1.cross.weights`; and the names as `runs`."""
        found = {"runs": np.array([name for name, _ in self.runs])}
        for number, (_, view) in enumerate(self.runs, start=1):
            found |= {f"{number}.{key}": array for key, array in view.arrays().items()}
        return found


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
    """What a method says of a pair, over words or pieces, and whether erasure says the same where that is `compared`.

    Raises `InputError` for a method that there is not, for a text that is too long, and for a model that the method
    does not apply to.
    """
    maps = lookup(METHODS, method, key="--method")().maps(model, tokenizer, source, target)
    erased = METHODS[REFERENCE]().maps(model, tokenizer, source, target) if compared else None
    if words:
        maps, erased = maps.by_words(), erased and erased.by_words()
    return AttentionView(method, maps, threshold, erased)
