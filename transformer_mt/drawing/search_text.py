"""What a search might have written, and what it kept, as text."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len

from transformer_mt.drawing.layout import joined, padded
from transformer_mt.translation.alternatives import Choice, ChosenAmong
from transformer_mt.translation.trace import ENDED, BeamTrace
from transformer_mt.views.text import escape_controls


@dataclass(frozen=True, slots=True)
class Branches:
    """The lines that lead to branches: to one that others follow, to the last, and past both to what is below."""

    follows: str
    last: str
    past: str


LINES = Branches("├─ ", "└─ ", "│  ")
ASCII = Branches("+- ", "`- ", "|  ")
_NOTHING = "   "
_NARROWEST = 20


def alternatives_lines(found: Sequence[ChosenAmong]) -> list[str]:
    """A line for each subword of a translation: its probability, then the next best ones with theirs."""
    if not found:
        return []
    rows = [[_cell(one.chosen), *map(_cell, one.others)] for one in found]
    return joined(map(padded, zip_longest(*rows, fillvalue="")))


def _cell(choice: Choice) -> str:
    return f"{choice.probability:.3f} {escape_controls(choice.piece)}"


def trace_lines(trace: BeamTrace, *, width: int, branches: Branches) -> Iterator[str]:
    """The beam's tree: where nothing branches, subwords stand on one line, at whose end it says how that ended.

    Lines are at most `width` cells wide while the tree is not too deep for that.
    """
    children = trace.children()
    if trace.prefix:
        yield f"begins with {' '.join(map(escape_controls, trace.prefix))}"
    best = trace.best
    # From the last to be printed to the first: a tree may be deeper than Python's stack.
    waiting = [(number, "", is_last) for number, is_last in _with_last(children.get(None, []))][::-1]
    while waiting:
        number, lead, is_last = waiting.pop()
        run = [number]
        while len(following := children.get(run[-1], [])) == 1:
            run += following
        begin = lead + (branches.last if is_last else branches.follows)
        below = lead + (_NOTHING if is_last else branches.past)
        inside = below + (branches.past if following else _NOTHING)
        yield from _wrapped(_described(trace, run, best=best), width=width, begin=begin, inside=inside)
        waiting += [(child, below, is_last) for child, is_last in _with_last(following)][::-1]


def _with_last(numbers: Sequence[int]) -> list[tuple[int, bool]]:
    return [(number, place == len(numbers)) for place, number in enumerate(numbers, start=1)]


def _described(trace: BeamTrace, run: Sequence[int], *, best: int) -> str:
    """The pieces of nodes that follow each other, the log-probability up to the last, and its end."""
    last = trace.nodes[run[-1]]
    pieces = " ".join(escape_controls(trace.nodes[number].piece) for number in run)
    said = f"{pieces}  {last.log_probability:.2f}"
    if last.end == ENDED:
        said += f", score {last.score:.3f}{': the best' if run[-1] == best else ''}"
    elif last.end:
        said += f", {last.end} after step {last.step}"
    return said


def _wrapped(text: str, *, width: int, begin: str, inside: str) -> list[str]:
    room = max(_NARROWEST, width - cell_len(begin))
    first, *rest = textwrap.wrap(text, width=room, break_long_words=False, break_on_hyphens=False) or [""]
    return [begin + first, *(inside + line for line in rest)]
