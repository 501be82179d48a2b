import os
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from transformer_mt.corpus.word_counts import TrainingWords
from transformer_mt.errors import MachineError
from transformer_mt.runs.weights import pack
from transformer_mt.runs.words import WORDS, pack_words, read_seen_words, read_words

WORD = st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), min_size=1)
COUNTS = st.dictionaries(WORD, st.integers(1, 2**40))
SOUND = {
    "source": torch.tensor([*b"der\nHund"], dtype=torch.uint8),
    "source.counts": torch.tensor([7, 3]),
    "complete": torch.tensor([1], dtype=torch.uint8),
}


@given(source=COUNTS, target=COUNTS, complete=st.booleans())
def test_words_come_back_as_they_were_written(
    source: dict[str, int], target: dict[str, int], complete: bool, tmp_path: Path
) -> None:
    words = TrainingWords(Counter(source), Counter(target), complete)
    (tmp_path / WORDS).write_bytes(pack_words(words))
    assert read_words(tmp_path / WORDS) == words


def test_only_the_words_of_the_source_are_looked_up_and_casing_does_not_count(tmp_path: Path) -> None:
    words = TrainingWords(Counter({"HUND": 3, "Straße": 1}), Counter(dog=2), complete=False)
    (tmp_path / WORDS).write_bytes(pack_words(words))
    seen = read_seen_words(tmp_path / WORDS)
    assert not seen.complete
    assert seen.never_seen("hund STRASSE dog Katze") == ["dog", "Katze"]


def test_the_commonest_words_stand_first(tmp_path: Path) -> None:
    words = TrainingWords(Counter(a=1, b=3, c=2), Counter(), complete=True)
    (tmp_path / WORDS).write_bytes(pack_words(words))
    assert list(read_words(tmp_path / WORDS).source) == ["b", "c", "a"]


def test_a_sound_file_without_one_side_is_read(tmp_path: Path) -> None:
    (tmp_path / WORDS).write_bytes(pack(SOUND))
    assert read_words(tmp_path / WORDS) == TrainingWords(Counter(der=7, Hund=3), Counter(), complete=True)


@pytest.mark.parametrize(
    "change",
    [
        {"source": torch.tensor([*b"der\nHund\n"], dtype=torch.uint8)},
        {"source": torch.tensor([*b"derHund"], dtype=torch.uint8)},
        {"source": torch.tensor([*b"der\n\xff\xfe"], dtype=torch.uint8)},
        {"source": torch.tensor([[*b"der\nHund"]], dtype=torch.uint8)},
        {"source": torch.tensor([*b"der\nHund"])},
        {"source.counts": torch.tensor([7.0, 3.0])},
        {"source.counts": torch.tensor([[7, 3]])},
        {"source.counts": None},
        {"target": torch.tensor([*b"the"], dtype=torch.uint8)},
        {"target.counts": torch.tensor([3])},
        {"other": torch.tensor([3])},
        {"complete": None},
        {"complete": torch.tensor([1, 1], dtype=torch.uint8)},
        {"complete": torch.tensor([1])},
    ],
)
def test_other_tensors_are_one_line(change: dict[str, Tensor | None], tmp_path: Path) -> None:
    path = tmp_path / WORDS
    path.write_bytes(pack({name: tensor for name, tensor in (SOUND | change).items() if tensor is not None}))
    with pytest.raises(MachineError) as caught:
        read_words(path)
    assert str(caught.value) == f"{path}: damaged; restore it, or delete it to do without"


def test_counts_below_zero_are_refused(tmp_path: Path) -> None:
    (tmp_path / WORDS).write_bytes(pack(SOUND | {"source.counts": torch.tensor([7, -3])}))
    with pytest.raises(MachineError, match=WORDS):
        read_words(tmp_path / WORDS)


def test_a_file_that_is_far_too_long_is_not_read(tmp_path: Path) -> None:
    (tmp_path / WORDS).touch()
    os.truncate(tmp_path / WORDS, 2**40)
    with pytest.raises(MachineError, match="1099511627776 bytes, where at most"):
        read_words(tmp_path / WORDS)
