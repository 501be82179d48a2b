import subprocess
import sys
from itertools import cycle, islice
from pathlib import Path

import pytest
from support.data_files import TABLES, load, texts, write

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus import clean_corpus
from transformer_mt.corpus.clean_corpus import StreamedPairs
from transformer_mt.corpus.data_file import DataFile
from transformer_mt.corpus.source import ColumnChoice
from transformer_mt.corpus.text import TabSeparated
from transformer_mt.errors import InputError

PAIRS = [(f"der {number}. Hund" if number % 7 else "", f"dog {number}") for number in range(53)]
USABLE = [pair for pair in PAIRS if pair[0]]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that end within the few pairs here."""
    monkeypatch.setattr(clean_corpus, "BLOCK", 11)


@pytest.fixture(params=["Parquet", "JSON, nested", "CSV", "JSONL", "TSV"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A corpus with a validation split."""
    name, make = TABLES[request.param]
    write(tmp_path / name.format("train"), make(PAIRS))
    write(tmp_path / name.format("valid"), make(USABLE[:3]))
    return tmp_path


def streamed(folder: Path, **changes: object) -> StreamedPairs:
    pairs = load(folder, streaming=True, source_language="de", target_language="en", **changes).splits["train"]
    assert isinstance(pairs, StreamedPairs)
    return pairs


def block(pairs: StreamedPairs, number: int) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs.block(number)]


def test_blocks_are_those_of_the_endless_repetition_in_whatever_order_they_are_asked_for(folder: Path) -> None:
    endless = list(islice(cycle(USABLE), 11 * 15))
    expected = [endless[start : start + 11] for start in range(0, len(endless), 11)]
    in_order = streamed(folder)
    assert [block(in_order, number) for number in range(15)] == expected
    for number in (3, 3, 1, 14, 4, 5, 0, 9):
        assert block(in_order, number) == expected[number]
        assert block(streamed(folder), number) == expected[number]


def test_other_splits_are_there_whole_and_the_stream_has_a_fingerprint(folder: Path) -> None:
    corpus = load(folder, streaming=True, source_language="de", target_language="en")
    assert list(corpus.splits) == ["train", "validation"]
    assert texts(corpus, "validation") == USABLE[:3]
    assert corpus.sizes == "train streamed, validation 3"
    again = load(folder, streaming=True, source_language="de", target_language="en")
    assert again.fingerprints == corpus.fingerprints
    (file,) = folder.glob("train.*")
    (other,) = folder.glob("valid.*")
    file.write_bytes(other.read_bytes())
    changed = load(folder, streaming=True, source_language="de", target_language="en")
    assert changed.fingerprints["train"] != corpus.fingerprints["train"]
    assert changed.fingerprints["validation"] == corpus.fingerprints["validation"]


def test_as_a_sequence_a_stream_is_its_first_block(folder: Path) -> None:
    pairs = streamed(folder)
    assert len(pairs) == 11
    assert list(pairs) == pairs[:11] == pairs.block(0)


def test_a_missing_validation_split_is_the_beginning_of_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformer_mt.corpus.load.CUT_AT_MOST", 5)
    write(tmp_path / "train.jsonl", TABLES["JSONL"][1](PAIRS))
    corpus = load(tmp_path, streaming=True)
    assert texts(corpus, "validation") == USABLE[:5]
    assert block(corpus.splits["train"], 0) == USABLE[5:16]  # type: ignore[arg-type]
    assert corpus.notes[-1] == "validation: the first 5 training pairs; there is no validation split"


def test_a_stream_of_nothing_is_one_line(tmp_path: Path) -> None:
    part = TabSeparated(DataFile.named(write(tmp_path / "x.tsv", b"\tx\n\ty\n")))
    pairs = StreamedPairs(part, ColumnChoice(("de", "en")), DataConfig())
    with pytest.raises(InputError, match=r"x\.tsv: no pairs to train on; correct the data or raise data\.max_words"):
        pairs.block(0)
    part = TabSeparated(DataFile.named(write(tmp_path / "x.tsv", b"a\tx\n")))
    pairs = StreamedPairs(part, ColumnChoice(("de", "en")), DataConfig(), skipped=2)
    problem = r"x\.tsv: no pairs to train on beyond the first 2, for validation; set data\.streaming=false, correct"
    with pytest.raises(InputError, match=problem):
        pairs.block(0)


def test_what_takes_the_whole_corpus_cannot_be_left_out_of_a_stream(tmp_path: Path) -> None:
    write(tmp_path / "train.tsv", b"a\tb\n")
    with pytest.raises(
        InputError, match=r"^data\.remove: ambiguous, duplicate, overlap can only be told of a whole corpus; "
    ):
        load(tmp_path, streaming=True, remove=("empty", "duplicate", "overlap", "ambiguous"))


def test_a_process_that_leaves_a_stream_half_read_ends_as_any_other(tmp_path: Path) -> None:
    name, make = TABLES["Parquet"]
    write(tmp_path / name.format("train"), make(PAIRS * 999))
    write(tmp_path / name.format("valid"), make(PAIRS[1:3]))
    program = (
        "from transformer_mt.config.sections import DataConfig\n"
        "from transformer_mt.corpus.load import load_corpus\n"
        "from transformer_mt.corpus import clean_corpus\n"
        "clean_corpus.BLOCK = 10_000\n"
        f"corpus = load_corpus(DataConfig(corpus={str(tmp_path)!r}, streaming=True))\n"
        "print(len(corpus.splits['train'].block(1)))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "10000\n", "")


def test_blocks_in_order_read_each_repetition_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = TabSeparated(DataFile.named(write(tmp_path / "x.tsv", TABLES["TSV"][1](USABLE))))
    pairs = StreamedPairs(part, ColumnChoice(("de", "en")), DataConfig())
    begun: list[int] = []
    begin = clean_corpus.usable
    monkeypatch.setattr(clean_corpus, "usable", lambda *split: begun.append(1) or begin(*split))
    for number in range(15):
        pairs.block(number)
    assert len(begun) == 1 + 15 * 11 // len(USABLE)
