"""words.tsv, the words of a run's training data: side, count and word a line, the commonest of a side first.

The first line says whether they are all (`complete`) or rare ones are missing (`common`).
"""

from collections import Counter
from pathlib import Path

from transformer_mt.corpus.word_counts import TrainingWords
from transformer_mt.errors import MachineError

WORDS = "words.tsv"

_LARGEST_COUNT = 2**53


def pack_words(words: TrainingWords) -> bytes:
    """The content of the file."""
    lines = ["complete" if words.complete else "common"]
    for side in ("source", "target"):
        lines += [f"{side}\t{count}\t{word}" for word, count in getattr(words, side).most_common()]
    return "\n".join(lines).encode("utf-8", "replace")


def unpack_words(content: bytes, *, path: Path) -> TrainingWords:
    """The words that `pack_words` packed; `path` names the file in errors."""
    sides: dict[str, Counter[str]] = {"source": Counter(), "target": Counter()}
    try:
        first, *lines = content.decode("utf-8").split("\n")
        complete = {"complete": True, "common": False}[first]
        for line in lines:
            side, count, word = line.split("\t")
            if not (word and count.isascii() and 0 < int(count) < _LARGEST_COUNT):
                raise ValueError
            sides[side][word] += int(count)
    except (KeyError, ValueError):
        raise MachineError(f"{path}: damaged; restore it, or delete it to do without") from None
    return TrainingWords(sides["source"], sides["target"], complete)
