"""Cutting a word as sentencepiece does: by the merges of BPE, and by the scores of a unigram model."""

import math
import random
from collections.abc import Mapping
from heapq import heappop, heappush


def merged(word: str, merges: dict[str, float], dropout: float, draw: random.Random) -> list[str]:
    """Join neighbouring symbols, the best merge first (the leftmost of equals), until none is possible or kept.

    At every step the possible merges are taken from the best on, and the first that is not skipped is made: the same
    as to skip among all of them and to make the best that is left, with fewer random numbers.
    """
    symbols = list(word)  # empty where a symbol has been joined to one before it
    before, after = list(range(-1, len(word) - 1)), list(range(1, len(word) + 1))
    possible: list[tuple[float, int, str]] = []

    def offer(left: int) -> None:
        if left >= 0 and after[left] < len(word):
            joined = symbols[left] + symbols[after[left]]
            if joined in merges:
                heappush(possible, (-merges[joined], left, joined))

    for left in range(len(word)):
        offer(left)
    skipped = []
    while possible:
        _, left, joined = merge = heappop(possible)
        right = after[left]
        if not symbols[left] or right == len(word) or symbols[left] + symbols[right] != joined:
            continue  # one of the two has been joined to another
        if draw.random() < dropout:
            skipped.append(merge)
            continue
        symbols[left], symbols[right] = joined, ""
        after[left] = after[right]
        if after[left] < len(word):
            before[after[left]] = left
        offer(before[left])
        offer(left)
        for merge in skipped:
            heappush(possible, merge)
        skipped.clear()
    return [symbol for symbol in symbols if symbol]


def score_of_parts(word: str, scores: Mapping[str, float]) -> float:
    """The score of a word's best segmentation into two pieces or more, the sum of theirs (Kudo 2018, §3.2).

    −∞ where there is none.
    """
    best = [0.0]  # of the first characters
    for end in range(1, len(word) + 1):
        starts = range(1 if end == len(word) else 0, end)
        best.append(max((best[start] + scores.get(word[start:end], -math.inf) for start in starts), default=-math.inf))
    return best[-1]
