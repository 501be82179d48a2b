"""The hypotheses that a beam search kept at every step, as a tree of tokens."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import NamedTuple

from transformer_mt.ground.context import setting
from transformer_mt.text.terminal import JsonObject

ENDED = "ended"
BEATEN = "beaten"
DROPPED = "dropped"


class Kept(NamedTuple):
    """A candidate that a beam search kept for the sentence `origin`; `tokens` is the whole hypothesis without `BOS`.

    Steps count from 1 in each search. `end` is None for a candidate that stays live.
    """

    origin: int
    step: int
    tokens: tuple[int, ...]
    log_probability: float
    score: float
    end: str | None


SearchSteps = list[list[Kept]]
# The list of the surrounding `recording_search`; None outside of one.
recorded_steps: ContextVar[SearchSteps | None] = ContextVar("recorded_steps", default=None)


@contextmanager
def recording_search() -> Iterator[SearchSteps]:
    """Within this context, every beam search adds the candidates of each step to a list."""
    steps: SearchSteps = []
    with setting(recorded_steps, steps):
        yield steps


@dataclass(frozen=True)
class BeamNode:
    """A token that the beam kept at a step (from 1), after the node `parent` (None: at the root).

    `log_probability` and `score` cover the hypothesis up to here. `end` tells how a leaf ended: `ended` with the end
    symbol, `beaten` because it could no longer win, `dropped` because none of its continuations stayed in the beam.
    """

    step: int
    parent: int | None
    token: str
    log_probability: float
    score: float
    end: str | None


@dataclass(frozen=True)
class BeamTrace:
    """The tree of a beam search for one sentence, after the forced prefix; parents come before their children."""

    prefix: tuple[str, ...]
    nodes: tuple[BeamNode, ...]

    @property
    def best(self) -> int:
        """The node that ends the best hypothesis."""
        ended = [number for number, node in enumerate(self.nodes) if node.end == ENDED]
        return max(ended, key=lambda number: self.nodes[number].score)

    def children(self) -> dict[int | None, list[int]]:
        """The children of each node, and of the root (None), likeliest first."""
        children: dict[int | None, list[int]] = {}
        for number in sorted(range(len(self.nodes)), key=lambda number: -self.nodes[number].log_probability):
            children.setdefault(self.nodes[number].parent, []).append(number)
        return children

    def to_json(self) -> JsonObject:
        """Keys: `prefix`, tokens; `nodes`, each with the fields of `BeamNode`; `best`, the index of a node."""
        return {"prefix": list(self.prefix), "nodes": [asdict(node) for node in self.nodes], "best": self.best}


def beam_trace(steps: Sequence[Sequence[Kept]], pieces: Callable[[list[int]], list[str]]) -> BeamTrace | None:
    """The tree of the last recorded search, for one sentence; `pieces` turns ids into tokens.

    None if nothing was searched.
    """
    if not (steps := [step for step in steps if step]):  # a step is empty if every candidate has probability zero
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
