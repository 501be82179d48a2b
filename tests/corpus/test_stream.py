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
from transformer_mt.corpus.text_files import TabSeparated
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


def test_as_a_sequence_a_stream_is_different_usable_pairs_drawn_from_it(folder: Path) -> None:
    pairs = streamed(folder)
    found = [(pair.source, pair.target) for pair in pairs]
    assert len(pairs) == len(found) == len({*found} & {*USABLE}) > 5
    assert list(pairs) == pairs[: len(pairs)] == list(streamed(folder))
    first = block(pairs, 0)
    assert first == USABLE[:11]
    assert {*found} - {*first}


def test_a_sample_of_a_stream_is_drawn_evenly_from_ten_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean_corpus, "BLOCK", 300)
    content = [(str(number), "x") for number in range(5_000)]
    part = TabSeparated(DataFile.named(write(tmp_path / "x.tsv", TABLES["TSV"][1](content))))
    drawn = [int(pair.source) for pair in StreamedPairs(part, ColumnChoice(("de", "en")), DataConfig())]
    assert len({*drawn}) == len(drawn) == 300
    assert max(drawn) < 3_000
    # Of each tenth, 30 are expected; five standard deviations are 26.
    assert all(4 < sum(number // 300 == tenth for number in drawn) < 56 for tenth in range(10))


def test_a_short_stream_is_its_own_sample(tmp_path: Path) -> None:
    part = TabSeparated(DataFile.named(write(tmp_path / "x.tsv", TABLES["TSV"][1](USABLE[:7]))))
    pairs = StreamedPairs(part, ColumnChoice(("de", "en")), DataConfig())
    assert [(pair.source, pair.target) for pair in pairs] == USABLE[:7]


def test_a_missing_validation_split_is_taken_evenly_from_the_first_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean_corpus, "CUT_AT_MOST", 4)
    monkeypatch.setattr(clean_corpus, "BLOCK", 12)
    write(tmp_path / "train.jsonl", TABLES["JSONL"][1](PAIRS))
    corpus = load(tmp_path, streaming=True)
    validation = [PAIRS[number] for number in (3, 6, 9)]  # and the first, which is not usable
    assert texts(corpus, "validation") == validation
    rest = [pair for pair in USABLE if pair not in validation]
    train = corpus.splits["train"]
    assert isinstance(train, StreamedPairs)
    assert block(train, 0) + block(train, 1) == rest[:24]
    assert {(pair.source, pair.target) for pair in train} <= {*rest}
    assert "validation: 3 training pairs, evenly from the first 100,000; there is no validation split" in corpus.notes


def test_a_stream_of_nothing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean_corpus, "CUT_AT_MOST", 11)
    part = TabSeparated(DataFile.named(write(tmp_path / "x.tsv", b"\tx\n\ty\n")))
    pairs = StreamedPairs(part, ColumnChoice(("de", "en")), DataConfig())
    with pytest.raises(InputError, match=r"x\.tsv: no pairs to train on; correct the data or raise data\.max_words"):
        pairs.block(0)
    with pytest.raises(InputError, match=r"x\.tsv: no pairs to train on; "):
        len(pairs)
    part = TabSeparated(DataFile.named(write(tmp_path / "x.tsv", b"a\tx\n")))
    pairs = StreamedPairs(part, ColumnChoice(("de", "en")), DataConfig(), cut=True)
    problem = r"x\.tsv: no pairs to train on beside those for validation; set data\.streaming=false, correct"
    with pytest.raises(InputError, match=problem):
        pairs.block(0)


def test_what_takes_the_whole_corpus_cannot_be_left_out_of_a_stream(tmp_path: Path) -> None:
    write(tmp_path / "train.tsv", b"a\tb\n")
    with pytest.raises(
        InputError, match=r"^data\.remove: ambiguous, duplicate, overlap can only be told of a whole corpus; "
    ):
        load(tmp_path, streaming=True, remove=("empty", "duplicate", "overlap", "ambiguous"))


@pytest.mark.slow
def test_a_process_that_leaves_a_stream_half_read_ends_as_any_other(tmp_path: Path) -> None:
    name, make = TABLES["Parquet"]
    write(tmp_path / name.format("train"), make(PAIRS * 999))
    write(tmp_path / name.format("valid"), make(PAIRS[1:3]))
    program = (
        "from transformer_mt.config.sections import DataConfig\n"
        "from transformer_mt.corpus.load_corpus import load_corpus\n"
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
