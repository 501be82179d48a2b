"""Lexical constraints: phrases that a translation must contain, and a beam divided by how much of them is missing.

Post and Vilar 2018, "Fast lexically constrained decoding with dynamic beam allocation". A hypothesis makes progress in
one phrase at a time. If the next token does not continue the phrase, progress falls back to the longest beginning that
the hypothesis still ends with, as in the search of Knuth, Morris and Pratt (1977).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain, zip_longest
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

    A phrase followed by such a token does not count: `cat` in `catalog`. Occurrences may overlap, as `machine` in
    `machine learning`.
    """

    phrases: tuple[Phrase, ...]
    joins: Callable[[int], bool]

    def start(self, prefix: Iterable[int]) -> "Progress":
        """The progress of a hypothesis with only `BOS` and the prefix."""
        progress = Progress(self, (BOS,), [0] * len(self.phrases))
        for token in prefix:
            progress = progress.add(token)
        return progress


FREE = Constraint((), lambda _: False)


class Progress:
    """How far a hypothesis, its tokens with `BOS`, is with a constraint.

    `before` has the number of occurrences of each phrase before the last token. `left` tokens are enough to complete
    all phrases; `wanted` are the tokens that begin or continue a missing one.
    """

    def __init__(self, constraint: Constraint, tokens: Tokens, before: list[int]) -> None:
        self.constraint = constraint
        self.tokens = tokens
        self._before = before
        self.wanted: set[int] = set()
        self._now: list[int] = []  # occurrences, if the next token does not join
        owed = undone = 0
        under_way: list[tuple[int, int]] = []
        for (spellings, times), number in zip(constraint.phrases, before, strict=True):
            matches = [
                (own, matched)
                for own in spellings
                for matched in range(len(own) + 1)
                if own[:matched] == tokens[len(tokens) - matched :]
            ]
            ended = any(len(own) == matched for own, matched in matches)
            self._now.append(number + ended)
            size = len(spellings[0])
            owed += size * max(times - number - ended, 0)
            undone += size * (ended and number < times)  # if the next token joins
            for own, matched in matches if number + ended < times else ():
                if matched < len(own):
                    self.wanted.add(own[matched])
                    under_way.append((size - len(own) + matched, own[matched]))
        # At most one phrase is under way.
        self.left = owed - max((0, *(saved - undone * constraint.joins(token) for saved, token in under_way)))

    def add(self, token: int) -> "Progress":
        """The progress with one more token."""
        before = self._before if self.constraint.joins(token) else self._now
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
    banks = defaultdict[int, list[Candidate]](list)
    for candidate in sorted(candidates, key=lambda candidate: -candidate.log_probability):
        banks[candidate.progress.left].append(candidate)
    rounds = zip_longest(*(banks[left] for left in sorted(banks)))
    return list(filter(None, chain(*rounds)))[:beam]
