"""The words of the training data, in words.tsv.

It has side, count and word a line, the commonest of a side first; its first line says whether all words are there
(`complete`) or rare ones are missing (`common`), and the length of the longest source.
"""

from collections import Counter
from io import BytesIO
from pathlib import Path

from transformer_mt.corpus.word_counts import LONGEST_KEPT, MOST_WORDS, TrainingWords
from transformer_mt.errors import MachineError

WORDS = "words.tsv"


def pack_words(words: TrainingWords) -> bytes:
    """The content of words.tsv; several trainings together may have more words than one."""
    complete = words.complete and max(len(words.source), len(words.target)) <= MOST_WORDS
    lines = [f"{'complete' if complete else 'common'}\t{words.longest}"]
    for side in ("source", "target"):
        lines += [f"{side}\t{count}\t{word}" for word, count in getattr(words, side).most_common(MOST_WORDS)]
    return "\n".join(lines).encode("utf-8", "replace")


def unpack_words(content: bytes, *, path: Path) -> TrainingWords:
    """The words that `pack_words` packed; `path` names the file in errors."""
    sides: dict[str, Counter[str]] = {"source": Counter(), "target": Counter()}
    try:
        if content.endswith(b"\n") or content.count(b"\n") > 2 * MOST_WORDS:
            raise ValueError
        # A longer line than this is not one of ours, and the rest of it is not read.
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
        raise MachineError(path, "damaged", "restore it, or delete it to do without") from None
    return TrainingWords(sides["source"], sides["target"], complete, int(longest))
