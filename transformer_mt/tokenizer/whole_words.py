"""Vocabularies in which the commonest words are one piece each, so that a matrix of attention can be read.

A word is added as an ordinary piece: a longer one that begins with it is still cut as the model finds best.
"""

import math
import random
from collections.abc import Mapping

from transformer_mt.tokenizer.segmentation import merged, score_of_parts
from transformer_mt.tokenizer.sentencepiece_model import FIRST, learned_scores, load_model, write_model

# The score of a whole word exceeds that of its parts at least by this.
_MARGIN = 0.1

Scores = dict[str, float]


def with_whole_words(model: bytes, words: Mapping[str, float], *, kind: str, size: int) -> tuple[bytes, int]:
    """A model in which these words, each after a blank, are one piece, and how many of them are.

    The first words come first; each has its share of all words. The model becomes no larger than it was, or than
    `size`: added pieces replace the rarest ones, but no single characters. Words take at most half of the pieces of
    several characters.
    """
    if not words:
        return model, 0
    subwords = sorted(learned_scores(load_model(model)).items(), key=lambda piece: -piece[1])
    characters = {text: score for text, score in subwords if len(text) == 1}
    learned = [(text, score) for text, score in subwords if len(text) > 1]
    room = max(len(learned), size - len(FIRST) - len(characters))
    wanted = {f"▁{word}": share for word, share in words.items()}
    extend = _extend_unigram if kind == "unigram" else _extend_bpe
    kept = len(learned)
    while True:
        scores = characters | dict(learned[:kept])
        whole = extend(scores, wanted, most=room // 2)
        surplus = len(scores) - len(characters) - room
        if surplus <= 0:
            break
        kept -= surplus
    return write_model(dict(sorted(scores.items(), key=lambda piece: -piece[1])), kind), whole


def _extend_unigram(scores: Scores, wanted: Mapping[str, float], *, most: int) -> int:
    """Give the first `most` words a score that keeps them whole: that of their share, if it beats their parts'."""
    chosen = list(wanted)[:most]
    for piece in sorted(chosen, key=len):  # the parts of a word are shorter than it
        parts = score_of_parts(piece, scores)
        if scores.get(piece, -math.inf) <= parts + _MARGIN:
            scores[piece] = max(math.log(wanted[piece]), parts + _MARGIN)
    return len(chosen)


def _extend_bpe(scores: Scores, wanted: Mapping[str, float], *, most: int) -> int:
    """Add merges, after all others, that join the parts of the words from the left, `most` of them at the most."""
    added, lowest = 0, min(scores.values())
    for held, piece in enumerate(wanted):
        parts = merged(piece, scores, 0.0, random.Random(0))
        if added + len(parts) - 1 > most:
            return held
        for end in range(2, len(parts) + 1):
            added += 1
            scores["".join(parts[:end])] = lowest - added
    return len(wanted)
