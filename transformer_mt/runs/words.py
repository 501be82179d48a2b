"""What a run remembers of the words of its training data: words.safetensors.

source, target                  the words in UTF-8, one a line, the commonest first
source.counts, target.counts    how often each occurs
complete                        1 if they are all, 0 if rare ones are missing
"""

from collections import Counter
from io import BufferedIOBase
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from transformer_mt.corpus.word_counts import TrainingWords
from transformer_mt.errors import EnvironmentProblem
from transformer_mt.runs.reading import open_regular
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
    """What the file of a run holds. Raises `EnvironmentProblem` for one that is missing, damaged or of another kind."""
    with open_regular(path, limit=_LIMIT) as file:
        return unpack_words(file, path=path)


def unpack_words(file: BufferedIOBase, *, path: Path) -> TrainingWords:
    """The words that `pack_words` packed; `path` names the file in errors."""
    tensors = read_tensors(file, read_header(file, path=path), path=path)
    try:
        complete = tensors.pop("complete")
        if complete.shape != (1,) or complete.dtype != torch.uint8:
            raise ValueError
        source, target = _side(tensors, "source"), _side(tensors, "target")
        if tensors:
            raise ValueError
        return TrainingWords(source, target, bool(complete))
    except (KeyError, ValueError):
        raise EnvironmentProblem(f"{path}: damaged; restore it, or delete it to do without") from None


def _side(tensors: dict[str, Tensor], name: str) -> Counter[str]:
    """Takes the words of one side out of the tensors. Raises `KeyError` or `ValueError` where they are not ours."""
    if name not in tensors:
        return Counter()
    text, counts = tensors.pop(name), tensors.pop(f"{name}.counts")
    if (text.ndim, text.dtype, counts.ndim, counts.dtype) != (1, torch.uint8, 1, torch.int64):
        raise ValueError
    found = str(text.numpy().data, "utf-8").split("\n")
    return Counter(dict(zip(found, counts.tolist(), strict=True)))
