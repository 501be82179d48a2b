"""alignment.json: comes back as written, and is data that anybody may have written."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.errors import MachineError
from transformer_mt.registry import HeadName
from transformer_mt.runs.alignment import ALIGNMENT, CHOICES, Aligner, Dictionary, pack_aligner, read_aligner
from transformer_mt.runs.directory import Run

share = st.integers(0, 10_000).map(lambda number: number / 10_000)
word = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=9)
heads = st.lists(
    st.builds(HeadName, st.just("cross"), st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=3, unique=True
)
SOUND: dict[str, Any] = {
    "heads": ["cross.2.1", "cross.1.3"],
    "shift": 1,
    "row": 0.25,
    "column": 1,
    "chosen_by": "links",
    "error_rate": None,
    "dictionary": [["hund", "dog", 0.75]],
}


@given(
    heads=heads,
    chosen_by=st.sampled_from(CHOICES),
    shift=st.sampled_from((0, 1)),
    numbers=st.tuples(share, share, st.none() | share),
    dictionary=st.dictionaries(st.tuples(word, word), share, max_size=3),
)
def test_an_aligner_comes_back_as_it_was_written(
    heads: list[HeadName],
    chosen_by: str,
    shift: int,
    numbers: tuple[float, float, float | None],
    dictionary: Dictionary,
    tmp_path: Path,
) -> None:
    aligner = Aligner(tuple(heads), chosen_by, shift, *numbers, dictionary)
    (tmp_path / ALIGNMENT).write_bytes(pack_aligner(aligner))
    assert read_aligner(tmp_path / ALIGNMENT) == aligner


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """So many entries are the most."""
    monkeypatch.setattr("transformer_mt.runs.alignment.MOST_ENTRIES", 11)
    return 11


def test_only_the_surest_entries_and_no_endless_words_are_kept(tmp_path: Path, few: int) -> None:
    entries = {(str(number), "x"): number / 100 for number in range(few + 7)}
    aligner = Aligner((HeadName("cross", 1, 1),), "guess", dictionary=entries | {("y" * 101, "x"): 1.0})
    (tmp_path / ALIGNMENT).write_bytes(pack_aligner(aligner))
    kept = read_aligner(tmp_path / ALIGNMENT).dictionary
    assert len(kept) == few
    assert ("6", "x") not in kept
    assert ("7", "x") in kept


def test_a_sound_file_is_read_and_a_run_without_one_has_none(tmp_path: Path) -> None:
    assert Run(tmp_path).alignment() is None
    (tmp_path / ALIGNMENT).write_text(json.dumps(SOUND))
    found = Run(tmp_path).alignment()
    assert found == Aligner(
        (HeadName("cross", 2, 1), HeadName("cross", 1, 3)), "links", 1, 0.25, 1.0, None, {("hund", "dog"): 0.75}
    )
    Run(tmp_path).save_alignment(found)
    assert Run(tmp_path).alignment() == found


def refused(path: Path) -> str:
    with pytest.raises(MachineError) as caught:
        read_aligner(path)
    return str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"heads": []},
        {"heads": ["cross.1.1", "cross.1.1"]},
        {"heads": ["encoder.1.1"]},
        {"heads": ["cross.1"]},
        {"heads": [7]},
        {"heads": "cross.1.1"},
        {"heads": None},
        {"shift": 2},
        {"shift": True},
        {"shift": "0"},
        {"row": -0.1},
        {"row": 1.1},
        {"row": True},
        {"column": None},
        {"column": 10**400},
        {"chosen_by": "somebody"},
        {"chosen_by": ["links"]},
        {"error_rate": 2},
        {"error_rate": "0"},
        {"dictionary": {}},
        {"dictionary": [["a", "b"]]},
        {"dictionary": [["a", "b", 0.5, 1]]},
        {"dictionary": [["", "b", 0.5]]},
        {"dictionary": [["a" * 101, "b", 0.5]]},
        {"dictionary": [["a", 3, 0.5]]},
        {"dictionary": [["a", "b", 1.5]]},
        {"dictionary": [["a", "b", 0.5]] * 2},
        {"dictionary": [[str(number), "b", 0.5] for number in range(12)]},
        {"other": 1},
    ],
)
@pytest.mark.usefixtures("few")
def test_other_contents_are_one_line(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / ALIGNMENT
    path.write_text(json.dumps(SOUND | change))
    assert refused(path) == f"{path}: damaged; restore it, or delete it to have the heads chosen anew"


@pytest.mark.parametrize("missing", SOUND)
def test_a_missing_key_is_damage(missing: str, tmp_path: Path) -> None:
    (tmp_path / ALIGNMENT).write_text(json.dumps({key: value for key, value in SOUND.items() if key != missing}))
    assert "damaged" in refused(tmp_path / ALIGNMENT)


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"7", b"\xff", b"[" * 10**5, b'{"row": NaN}'])
def test_what_is_no_record_is_damage(content: bytes, tmp_path: Path) -> None:
    (tmp_path / ALIGNMENT).write_bytes(content)
    assert "damaged" in refused(tmp_path / ALIGNMENT)


def test_links_and_files_that_are_far_too_long_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "there").write_text(json.dumps(SOUND))
    (tmp_path / ALIGNMENT).symlink_to(tmp_path / "there")
    assert "a symbolic link, where a regular file is expected" in refused(tmp_path / ALIGNMENT)
    (tmp_path / ALIGNMENT).unlink()
    (tmp_path / ALIGNMENT).touch()
    os.truncate(tmp_path / ALIGNMENT, 2**40)
    assert "1099511627776 bytes, where at most" in refused(tmp_path / ALIGNMENT)
