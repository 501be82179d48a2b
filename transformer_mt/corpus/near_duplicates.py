"""Near-duplicates: pairs that share most of their character n-grams with a training pair."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import islice

import numpy as np
import regex

# At least this similar, pairs differ in a word or two. At 0.6, many share only a pattern.
SIMILAR = 0.7
_BETWEEN_WORDS = regex.compile(r"\W+")
# Random odd numbers: a factor for each character of an n-gram, and 16 bands of four hash functions x ↦ ax mod 2³².
_ODD = np.random.default_rng(1).integers(2**31, size=(17, 4), dtype=np.uint32) * 2 + 1
_FACTORS = _ODD[0]
_BANDS = _ODD[1:, :, None]
_FROM_BUCKET = 20  # pairs to compare at a time; limits the time for a corpus whose pairs are nearly all alike

# Source and target.
Texts = tuple[str, str]


def near_duplicates(train: Iterable[Texts], others: Iterable[Texts]) -> dict[Texts, Texts]:
    """The pairs that are at least `SIMILAR` to a training pair, each with a copy or the first one found.

    The similarity of two pairs is |A ∩ B| / |A ∪ B| for their sets of character 4-grams (Broder 1997), both sides
    together, without case and punctuation. Pairs are compared if four of their MinHash values agree in one of 16 bands
    (Leskovec et al. 2020, §3.4.2). At similarity s this has probability 1 − (1 − s⁴)¹⁶, which is 0.988 at 0.7.
    """
    ngrams_of = dict[Texts, set[int]]()
    found = dict[Texts, Texts]()
    buckets = defaultdict[int, dict[Texts, None]](dict)
    for other in others:
        ngrams_of[other], keys = _ngrams(*other)
        for key in keys:
            buckets[key][other] = None
    for pair in train:
        if pair in found:  # nothing is nearer than a copy
            found[pair] = pair
        ngrams, keys = _ngrams(*pair)
        near = [pair]
        while near:  # again, because those found leave room in their buckets
            compared = {other for key in keys for other in islice(buckets.get(key, ()), _FROM_BUCKET)}
            near = [one for one in compared if len(ngrams & ngrams_of[one]) >= SIMILAR * len(ngrams | ngrams_of[one])]
            for other in near:
                found[other] = pair
                for key in _ngrams(*other)[1]:
                    buckets[key].pop(other, None)
    return found


def _ngrams(source: str, target: str) -> tuple[set[int], list[int]]:
    """Hashes of the n-grams of a pair, and a key per band: a hash of its MinHash values, each the least hash of all."""
    text = _BETWEEN_WORDS.sub(" ", f"{source} | {target}".casefold())
    ngrams = np.convolve(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4"), _FACTORS)
    return {*ngrams.tolist()}, ((_BANDS * ngrams).min(axis=2) @ _FACTORS).tolist()
