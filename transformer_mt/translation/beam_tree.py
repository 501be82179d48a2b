"""The hypotheses that a beam search kept at every step, as a tree of subwords."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

ENDED, BEATEN, DROPPED = "ended", "beaten", "dropped"


class Kept(NamedTuple):
    """A candidate that a beam search kept for the sentence `origin`: the tokens of the whole hypothesis without `BOS`.

    Steps count from 1, where a search begins. `end` is None for a candidate that will be continued.
    """

    origin: int
    step: int
    tokens: tuple[int, ...]
    log_probability: float
    score: float
    end: str | None


SearchSteps = list[list[Kept]]
_recorded: ContextVar[SearchSteps | None] = ContextVar("recorded_steps", default=None)


@contextmanager
def recording_search() -> Iterator[SearchSteps]:
    """A context in which every beam search adds the candidates of its steps to a list."""
    steps: SearchSteps = []
    token = _recorded.set(steps)
    try:
        yield steps
    finally:
        _recorded.reset(token)


def recorded_steps() -> SearchSteps | None:
    """The list that the surrounding `recording_search` fills; None outside of one."""
    return _recorded.get()


@dataclass(frozen=True, slots=True)
class BeamNode:
    """A subword that the beam kept at a step (from 1), after the node `parent` (None: at the beginning).

    `log_probability` and `score` cover the hypothesis up to here. `end` says how it ended, if nothing follows:
    `ended` with the end symbol, `beaten` when it could not win any more, `dropped` when none of its continuations was
    among the ones that the beam keeps.
    """

    step: int
    parent: int | None
    piece: str
    log_probability: float
    score: float
    end: str | None


@dataclass(frozen=True, slots=True)
class BeamTrace:
    """The tree of a beam search for one sentence; nodes stand after their parents, and after the common prefix."""

    prefix: tuple[str, ...]
    nodes: tuple[BeamNode, ...]

    @property
    def best(self) -> int:
        """The node in which the best hypothesis ends."""
        ended = [number for number, node in enumerate(self.nodes) if node.end == ENDED]
        return max(ended, key=lambda number: self.nodes[number].score)

    def children(self) -> dict[int | None, list[int]]:
        """The nodes that follow each node, and the beginning, the likeliest first."""
        children: dict[int | None, list[int]] = {}
        for number in sorted(range(len(self.nodes)), key=lambda number: -self.nodes[number].log_probability):
            children.setdefault(self.nodes[number].parent, []).append(number)
        return children

    def to_json(self) -> dict[str, Any]:
        """Keys: `prefix`, pieces; `nodes`, each with the fields of a `Node`; `best`, the index of a node."""
        return {"prefix": list(self.prefix), "nodes": [asdict(node) for node in self.nodes], "best": self.best}


def beam_trace(steps: Sequence[Sequence[Kept]], pieces: Callable[[list[int]], list[str]]) -> BeamTrace | None:
    """The tree of the last search that was recorded, for one sentence, with a tokenizer's pieces for ids.

    None where nothing was searched.
    """
    if not (steps := [step for step in steps if step]):  # nothing is kept where nothing is more probable than nothing
        return None
    first = max(index for index, step in enumerate(steps) if step[0].step == 1)
    kept = [candidate for step in steps[first:] for candidate in step]
    index = {candidate.tokens: number for number, candidate in enumerate(kept)}
    continued = {candidate.tokens[:-1] for candidate in kept}
    nodes = []
    for _, step, tokens, log_probability, score, end in kept:
        end = end or (None if tokens in continued else DROPPED)
        nodes.append(BeamNode(step, index.get(tokens[:-1]), pieces([tokens[-1]])[0], log_probability, score, end))
    return BeamTrace(tuple(pieces(list(kept[0].tokens[:-1]))), tuple(nodes))
