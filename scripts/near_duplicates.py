"""Count pairs that share most of their character n-grams with a training pair, and so make a test score too good.

    python scripts/near_duplicates.py path/to/folder

Prints the number in every split but `train`, with examples. Takes at most 100,000 random pairs of a split.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Annotated

import numpy as np
import regex
import typer

from transformer_mt import TmtError, load_corpus
from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.text.terminal import escape_controls

_COUNTED = 100_000  # pairs of a split
_EXAMPLES = 3
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


def lines(splits: Mapping[str, Pairs]) -> Iterator[str]:
    """Yield the number of near-duplicates in each split, and examples."""
    texts = {name: [(pair.source, pair.target) for pair in pairs] for name, pairs in splits.items()}
    for pairs in texts.values():
        random.Random(1).shuffle(pairs)
        del pairs[_COUNTED:]
    train = texts.pop("train")
    known = near_duplicates(train, chain.from_iterable(texts.values()))
    for name, pairs in texts.items():
        near = [pair for pair in pairs if pair in known]
        yield f"{name}: {len(near)} of {len(pairs)} pairs ({len(near) / len(pairs):.1%})"
        for pair in near[:_EXAMPLES]:
            yield f"  {' | '.join(pair)}"
            yield f"    train: {' | '.join(known[pair])}"


def main(data: Annotated[str, typer.Argument(help="A corpus, as for `tmt data --data`.")] = "builtin") -> None:
    """Count near-duplicates of training pairs in the other splits."""
    try:
        print(*map(escape_controls, lines(load_corpus(DataConfig(corpus=data)).splits)), sep="\n")
    except TmtError as error:
        print(f"near_duplicates: error: {error}", file=sys.stderr)
        raise typer.Exit(error.exit_code) from None


if __name__ == "__main__":
    typer.run(main)
