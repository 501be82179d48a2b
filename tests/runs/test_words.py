from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.corpus.word_counts import LONGEST_KEPT, TrainingWords
from transformer_mt.ground.errors import MachineError
from transformer_mt.runs.directory import Run
from transformer_mt.runs.words import WORDS, pack_words

WORD = st.text(st.characters(exclude_characters="\n\t", exclude_categories=("Cs",)), min_size=1, max_size=LONGEST_KEPT)
COUNTS = st.dictionaries(WORD, st.integers(1, 2**40))


@given(source=COUNTS, target=COUNTS, complete=st.booleans(), longest=st.integers(0, 10**6))
def test_words_round_trip(
    source: dict[str, int], target: dict[str, int], complete: bool, longest: int, tmp_path: Path
) -> None:
    words = TrainingWords(Counter(source), Counter(target), complete, longest)
    (tmp_path / WORDS).write_bytes(pack_words(words))
    assert Run(tmp_path).words() == words


def test_most_frequent_words_come_first(tmp_path: Path) -> None:
    words = TrainingWords(Counter(a=1, b=3, c=2), Counter(the=7), complete=True, longest=5)
    (tmp_path / WORDS).write_bytes(pack_words(words))
    assert (tmp_path / WORDS).read_text() == "complete\t5\nsource\t3\tb\nsource\t2\tc\nsource\t1\ta\ntarget\t7\tthe"
    found = Run(tmp_path).words()
    assert found is not None
    assert list(found.source) == ["b", "c", "a"]


def test_only_the_most_frequent_words_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.runs.words.MOST_WORDS", 2)
    words = TrainingWords(Counter(a=1, b=3, c=2), Counter(the=7), complete=True, longest=5)
    (tmp_path / WORDS).write_bytes(pack_words(words))
    assert Run(tmp_path).words() == TrainingWords(Counter(b=3, c=2), Counter(the=7), complete=False, longest=5)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"all", b"complete", b"complete\t-1", b"complete\t5555555555", b"complete\t5\t5", b"complete\t5\n",
        b"complete\t5\nsource\t1", b"complete\t5\nsource\t1\ta\tb", b"complete\t5\nboth\t1\ta",
        b"complete\t5\nsource\t-1\ta", b"complete\t5\nsource\t0\ta", b"complete\t5\nsource\tx\ta",
        b"complete\t5\nsource\t1\t", b"complete\t5\nsource\t1\t\xff", b"complete\t5\nsource\t99999999999999999\ta",
        b"complete\t5\nsource\t" + b"9" * 5_000 + b"\ta", b"complete\t5\nsource\t1\t" + b"a" * (LONGEST_KEPT + 1),
        b"complete\t5" + b"\0" * 300 + b"\n", b"complete\t5" + b"\nsource\t1\ta" * 4_000_001,
    ],
    ids=lambda content: repr(content[:30]),
)  # fmt: skip
def test_invalid_words_are_a_one_line_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / WORDS
    path.write_bytes(content)
    with pytest.raises(MachineError) as caught:
        Run(tmp_path).words()
    assert str(caught.value) == f"{path}: damaged; restore it, or delete it to go without"
