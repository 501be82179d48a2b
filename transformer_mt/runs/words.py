"""What a run remembers of the words of its training data: words.safetensors.

source, target                  the words in UTF-8, one a line, the commonest first
source.counts, target.counts    how often each occurs
complete                        1 if they are all, 0 if rare ones are missing
"""

from collections import Counter
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from transformer_mt.corpus.word_counts import SeenWords, TrainingWords
from transformer_mt.errors import MachineError
from transformer_mt.files import open_regular
from transformer_mt.runs.weights import pack, read_header, read_tensors

WORDS = "words.safetensors"

_LIMIT = 2**30


def pack_words(words: TrainingWords) -> bytes:
    """The content of the file."""
    tensors = {"complete": torch.tensor([words.complete], dtype=torch.uint8)}
    for side, counts in (("source", words.source), ("target", words.target)):
        if counts:  # the format has no empty tensors
            common = counts.most_common()
            text = "\n".join(word for word, _ in common).encode("utf-8", "replace")
            tensors[side] = torch.from_numpy(np.frombuffer(text, np.uint8).copy())
            tensors[f"{side}.counts"] = torch.tensor([count for _, count in common])
    return pack(tensors)


def read_words(path: Path) -> TrainingWords:
    """What the file of a run holds. Raises `MachineError` for one that is missing, damaged or of another kind."""
    with open_regular(path, limit=_LIMIT) as file:
        return unpack_words(file, path=path)


def unpack_words(file: BufferedIOBase, *, path: Path) -> TrainingWords:
    """The words that `pack_words` packed; `path` names the file in errors."""
    source, target, complete = _unpack(file, path=path)
    return TrainingWords(source.counter(), target.counter(), complete)


def read_seen_words(path: Path) -> SeenWords:
    """The same without what is not needed to look words up, and so in a fraction of the time."""
    with open_regular(path, limit=_LIMIT) as file:
        source, _, complete = _unpack(file, path=path)
    return SeenWords(frozenset(source.text.casefold().split("\n")), complete)


@dataclass(frozen=True)
class _Side:
    """The words of a side, one a line, and their counts."""

    text: str
    counts: Tensor

    def counter(self) -> Counter[str]:
        words = self.text.split("\n") if self.text else []
        return Counter(dict(zip(words, self.counts.tolist(), strict=True)))


def _unpack(file: BufferedIOBase, *, path: Path) -> tuple[_Side, _Side, bool]:
    """Both sides, and whether they are complete."""
    tensors = read_tensors(file, read_header(file, path=path), path=path)
    try:
        complete = tensors.pop("complete")
        if complete.shape != (1,) or complete.dtype != torch.uint8:
            raise ValueError
        source, target = _side(tensors, "source"), _side(tensors, "target")
        if tensors:
            raise ValueError
        return source, target, bool(complete)
    except (KeyError, ValueError):
        raise MachineError(f"{path}: damaged; restore it, or delete it to do without") from None


def _side(tensors: dict[str, Tensor], name: str) -> _Side:
    """Takes the words of one side out of the tensors. Raises `KeyError` or `ValueError` where they are not ours."""
    if name not in tensors:
        return _Side("", torch.zeros(0, dtype=torch.int64))
    words, counts = tensors.pop(name), tensors.pop(f"{name}.counts")
    if (words.ndim, words.dtype, counts.ndim, counts.dtype) != (1, torch.uint8, 1, torch.int64):
        raise ValueError
    text = str(words.numpy().data, "utf-8")
    if text.count("\n") + 1 != len(counts):
        raise ValueError
    return _Side(text, counts)
