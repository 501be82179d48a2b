"""Lexical constraints: phrases that a translation must contain, and a beam divided by how much of them is missing.

Post and Vilar 2018, "Fast lexically constrained decoding with dynamic beam allocation". A hypothesis makes progress in
one phrase at a time. If the next token does not continue the phrase, progress falls back to the longest beginning that
the hypothesis still ends with, as in the search of Knuth, Morris and Pratt (1977).
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from transformer_mt.tokenizer.symbols import BOS

Tokens = tuple[int, ...]


class Phrase(NamedTuple):
    """A phrase to be contained `times` times, in any of its spellings.

    The first spelling begins a word, so it can follow any token. One that begins with `BOS` fits only the start.
    """

    spellings: tuple[Tokens, ...]
    times: int = 1


class Constraint(NamedTuple):
    """The phrases of a sentence. `joins` is true for tokens that continue a word.

    A phrase followed by such a token does not count: `cat` in `catalog`. Occurrences of the same phrase do not overlap;
    those of different phrases may, as `machine` in `machine learning`.
    """

    phrases: tuple[Phrase, ...]
    joins: Callable[[int], bool]

    def start(self, prefix: Iterable[int]) -> "Progress":
        """The progress of a hypothesis with only `BOS` and the prefix."""
        progress = Progress(self, (BOS,), [(0, 0)] * len(self.phrases))
        for token in prefix:
            progress = progress.add(token)
        return progress


FREE = Constraint((), lambda _: False)


class Progress:
    """How far a hypothesis, its tokens with `BOS`, is with a constraint.

    `before` has the number of occurrences of each phrase before the last token, and the end of the last one. `left`
    tokens are enough to complete all phrases; `wanted` are the tokens that begin or continue a missing one.
    """

    def __init__(self, constraint: Constraint, tokens: Tokens, before: list[tuple[int, int]]) -> None:
        self.constraint, self.tokens, self._before = constraint, tokens, before
        self.wanted: set[int] = set()
        self._ended: list[bool] = []  # the hypothesis ends with this phrase
        owed = undone = 0
        under_way: list[tuple[int, int]] = []
        for (spellings, times), (number, end) in zip(constraint.phrases, before, strict=True):
            matches = [
                (own, matched)
                for own in spellings
                for matched in range(min(len(own), len(tokens) - end) + 1)
                if own[:matched] == tokens[len(tokens) - matched :]
            ]
            ended = any(len(own) == matched for own, matched in matches)
            self._ended.append(ended)
            size = len(spellings[0])
            owed += size * max(times - number - ended, 0)
            undone += size * (ended and number < times)  # if the next token joins
            for own, matched in matches if number + ended < times else ():
                if matched < len(own) and not (ended and matched):
                    self.wanted.add(own[matched])
                    under_way.append((size - len(own) + matched, own[matched]))
        # At most one phrase is under way.
        self.left = owed - max((0, *(saved - undone * constraint.joins(token) for saved, token in under_way)))

    def add(self, token: int) -> "Progress":
        """The progress with one more token."""
        before, counts = self._before, not self.constraint.joins(token)
        if counts and any(self._ended):
            before = [
                (number + 1, len(self.tokens)) if ended else (number, end)
                for (number, end), ended in zip(before, self._ended, strict=True)
            ]
        return Progress(self.constraint, (*self.tokens, token), before)


class Candidate(NamedTuple):
    """A candidate of a search: the row of its hypothesis, the token it adds, ln p including it, and its progress."""

    parent: int
    token: int
    log_probability: float
    progress: Progress


def allocate(candidates: Iterable[Candidate], beam: int) -> list[Candidate]:
    """Divide the beam evenly between banks, the candidates with equally many tokens left (Post and Vilar 2018, §3.2).

    Slots that a bank cannot fill go to the others; a remainder goes to the banks with the fewest tokens left.
    """
    in_bank = Counter[int]()
    ranked = []
    for candidate in sorted(candidates, key=lambda candidate: -candidate.log_probability):
        left = candidate.progress.left
        ranked.append((in_bank[left], left, candidate))
        in_bank[left] += 1
    return [candidate for *_, candidate in sorted(ranked, key=lambda one: one[:2])[:beam]]
