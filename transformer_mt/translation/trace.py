"""The hypotheses that a beam search kept at every step, as a tree of subwords."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True)
class BeamStep:
    """The C candidates that a beam search kept at a step, of all its sentences.

    `number` counts steps from 1, where a search begins; `tokens` are those of whole hypotheses, without `BOS`; `ended`
    are those that end here, and `goes_on` those that will be continued: the rest cannot win any more.
    """

    number: int
    origin: Int[Tensor, " C"]
    tokens: Int[Tensor, "C T"]
    log_probability: Float[Tensor, " C"]
    score: Float[Tensor, " C"]
    ended: Bool[Tensor, " C"]
    goes_on: Bool[Tensor, " C"]


_recorded: ContextVar[list[BeamStep] | None] = ContextVar("recorded_steps", default=None)


@contextmanager
def recording_search() -> Iterator[list[BeamStep]]:
    """A context in which every beam search adds its steps to a list."""
    steps: list[BeamStep] = []
    token = _recorded.set(steps)
    try:
        yield steps
    finally:
        _recorded.reset(token)


def recorded_steps() -> list[BeamStep] | None:
    """The list that the surrounding `recording_search` fills; None outside of one."""
    return _recorded.get()


ENDED, BEATEN, DROPPED = "ended", "beaten", "dropped"


@dataclass(frozen=True, slots=True)
class Node:
    """A subword that the beam kept at a step (from 1), after the node `parent` (None: at the beginning).

    `log_probability` and `score` are those of the hypothesis up to here. `end` says how it ended, if nothing follows:
    `ended` with the end symbol, `beaten` when it could not win any more, `dropped` when none of its continuations was
    among those that the beam keeps.
    """

    step: int
    parent: int | None
    piece: str
    log_probability: float
    score: float
    end: str | None


@dataclass(frozen=True, slots=True)
class BeamTrace:
    """The tree of a beam search for one sentence; nodes stand after their parents, and after what all begin with."""

    prefix: tuple[str, ...]
    nodes: tuple[Node, ...]

    @property
    def best(self) -> int:
        """The node in which the best hypothesis ends."""
        ended = [number for number, node in enumerate(self.nodes) if node.end == ENDED]
        return max(ended, key=lambda number: self.nodes[number].score)

    def path(self, number: int) -> list[int]:
        """The nodes from the beginning to this one."""
        path = [number]
        while (parent := self.nodes[path[-1]].parent) is not None:
            path.append(parent)
        return path[::-1]

    def children(self) -> dict[int | None, list[int]]:
        """The nodes that follow each node, and the beginning, the likeliest first."""
        children: dict[int | None, list[int]] = {}
        for number in sorted(range(len(self.nodes)), key=lambda number: -self.nodes[number].log_probability):
            children.setdefault(self.nodes[number].parent, []).append(number)
        return children

    def to_json(self) -> dict[str, Any]:
        """Keys: `prefix`, pieces; `nodes`, each with the fields of a `Node`; `best`, the index of a node."""
        return {"prefix": list(self.prefix), "nodes": [asdict(node) for node in self.nodes], "best": self.best}


def beam_trace(steps: Sequence[BeamStep], pieces: Callable[[list[int]], list[str]]) -> BeamTrace | None:
    """The tree of the last search for a single sentence that was recorded, with a tokenizer's pieces for ids.

    None where nothing was searched.
    """
    if not steps:
        return None
    first = max(index for index, step in enumerate(steps) if step.number == 1)
    rows = [row for step in steps[first:] for row in _rows(step)]
    index = {tokens: number for number, (tokens, _) in enumerate(rows)}
    continued = {tokens[:-1] for tokens, _ in rows}
    nodes = []
    for tokens, node in rows:
        end = node.end or (None if tokens in continued else DROPPED)
        nodes.append(replace(node, parent=index.get(tokens[:-1]), piece=pieces([tokens[-1]])[0], end=end))
    return BeamTrace(tuple(pieces(list(rows[0][0][:-1]))), tuple(nodes))


def _rows(step: BeamStep) -> Iterator[tuple[tuple[int, ...], Node]]:
    """The candidates of a step: all tokens of each, and its node without parent and piece."""
    columns = (step.tokens, step.log_probability, step.score, step.ended, step.goes_on)
    for tokens, log_probability, score, ended, goes_on in zip(*(column.tolist() for column in columns), strict=True):
        end = ENDED if ended else None if goes_on else BEATEN
        yield tuple(tokens), Node(step.number, None, "", log_probability, score, end)
