"""What `tmt attend` shows, as data: the maps of a run by one method, or those of several runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer_mt.inspection.graph import adjacency
from transformer_mt.inspection.maps import AttentionMaps
from transformer_mt.inspection.matrices import ALL, layer_matrices
from transformer_mt.inspection.methods import METHODS
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.names import lookup
from transformer_mt.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class AttentionView:
    """The maps of a sentence pair by a method of `METHODS`; `threshold`, if there is one, is that of their graphs."""

    method: str
    maps: AttentionMaps
    threshold: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Keys: `source`, `target`, `method`, `stacks` as `AttentionMaps.to_json` has it.

        With a threshold also `graph`: the `threshold`, and `matrices`, which has for each head by its name, as
        `cross.2.1`, what `Adjacency.to_json` gives; for a method of one matrix by the name of its stack.
        """
        found = {"source": self.maps.source, "target": self.maps.target, "method": self.method}
        return found | {"stacks": self.maps.to_json()["stacks"]} | self._graph()

    def arrays(self) -> dict[str, np.ndarray]:
        """Those of the maps, and the method."""
        return self.maps.arrays() | {"method": np.array(self.method)}

    def _graph(self) -> dict[str, Any]:
        if self.threshold is None:
            return {}
        head = None if METHODS[self.method].whole else ALL
        matrices = [
            matrix
            for stack in self.maps.stacks
            for matrix in layer_matrices(self.maps, stack=stack, head=head, method=self.method)
        ]
        found = {matrix.key: adjacency(matrix, threshold=self.threshold).to_json() for matrix in matrices}
        return {"graph": {"threshold": self.threshold, "matrices": found}}


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
) -> AttentionView:
    """What a method says of a pair, over words or pieces.

    Raises `InputError` for a method that there is not, for a text that is too long, and for a model that the method
    does not apply to.
    """
    maps = lookup(METHODS, method, key="--method")().maps(model, tokenizer, source, target)
    return AttentionView(method, maps.by_words() if words else maps, threshold)
