"""The words of the training data, in words.tsv.

Each line has side, count and word, the most frequent of a side first. The first line says whether all words are listed
(`complete`) or rare ones are missing (`common`), and the length of the longest source.
"""

from collections import Counter
from io import BytesIO
from pathlib import Path

from transformer_mt.corpus.word_counts import LONGEST_KEPT, MOST_WORDS, TrainingWords
from transformer_mt.ground.errors import MachineError

WORDS = "words.tsv"


def pack_words(words: TrainingWords) -> bytes:
    """Serialise words as words.tsv. Keeps the most frequent ones: fine-tuning may add up to more than the limit."""
    complete = words.complete and max(len(words.source), len(words.target)) <= MOST_WORDS
    lines = [f"{'complete' if complete else 'common'}\t{words.longest}"]
    for side in ("source", "target"):
        lines += [f"{side}\t{count}\t{word}" for word, count in getattr(words, side).most_common(MOST_WORDS)]
    return "\n".join(lines).encode("utf-8", "replace")


def unpack_words(content: bytes, *, path: Path) -> TrainingWords:
    """Return the words that `pack_words` packed. Raises `MachineError`, with `path`, if the content is damaged."""
    sides: dict[str, Counter[str]] = {"source": Counter(), "target": Counter()}
    try:
        if content.endswith(b"\n") or content.count(b"\n") > 2 * MOST_WORDS:
            raise ValueError
        # A longer line is not ours; ignore the rest of it.
        lines = (line[:300].decode("utf-8").removesuffix("\n") for line in BytesIO(content))
        kind, longest = next(lines, "").split("\t")
        complete = {"complete": True, "common": False}[kind]
        if not (longest.isascii() and longest.isdecimal() and len(longest) < 10):
            raise ValueError
        for line in lines:
            side, count, word = line.split("\t")
            if not (0 < len(word) <= LONGEST_KEPT and count.isascii() and 0 < int(count) < 2**53):
                raise ValueError
            sides[side][word] += int(count)
    except (KeyError, ValueError):
        raise MachineError(path, "damaged", "restore it, or delete it to go without") from None
    return TrainingWords(**sides, complete=complete, longest=int(longest))
