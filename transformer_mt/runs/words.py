"""words.tsv, the words of a run's training data: side, count and word a line, the commonest of a side first.

The first line says whether they are all (`complete`) or rare ones are missing (`common`).
"""

from collections import Counter
from pathlib import Path

from transformer_mt.corpus.word_counts import SeenWords, TrainingWords
from transformer_mt.errors import MachineError
from transformer_mt.files import read_regular

WORDS = "words.tsv"

_LIMIT = 2**30
_LARGEST_COUNT = 2**53


def pack_words(words: TrainingWords) -> bytes:
    """The content of the file."""
    lines = ["complete" if words.complete else "common"]
    for side in ("source", "target"):
        lines += [f"{side}\t{count}\t{word}" for word, count in getattr(words, side).most_common()]
    return "\n".join(lines).encode("utf-8", "replace")


def read_words(path: Path) -> TrainingWords:
    """The words in the file of a run. Raises `MachineError` for a missing or damaged one."""
    return unpack_words(read_regular(path, limit=_LIMIT), path=path)


def read_seen_words(path: Path) -> SeenWords:
    """The words of the sources in the file of a run, to look others up."""
    words = read_words(path)
    return SeenWords(frozenset("\n".join(words.source).casefold().split("\n")), words.complete)


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
