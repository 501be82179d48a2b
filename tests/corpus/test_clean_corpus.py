import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.data_files import csv, load, texts, tsv, write

from transformer_mt.corpus import clean_corpus
from transformer_mt.corpus.clean_corpus import mapped
from transformer_mt.corpus.cleaning import Cleaner
from transformer_mt.corpus.pairs import Fingerprint, SentencePair, pair_hash
from transformer_mt.corpus.source import absolute, short_name

PAIRS = [(f"der {number}. Hund", f"dog {number}") for number in range(41)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for this test only."""
    monkeypatch.setenv("TMT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A file of pairs."""
    return write(tmp_path / "x.tsv", tsv(PAIRS))


@pytest.fixture
def cleanings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list with an entry for each cleaning of a split."""
    made: list[int] = []
    begin = Cleaner.__init__

    def noted(*arguments: object, **options: object) -> None:
        made.append(1)
        begin(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Cleaner, "__init__", noted)
    return made


def test_reads_pairs_by_index_slice_and_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.corpus.clean_corpus._ROWS", 7)
    whole = [SentencePair(*pair) for pair in PAIRS]
    stored = mapped(whole)
    assert (len(stored), list(stored)) == (41, whole)
    slices = (slice(3), slice(5, 30), slice(7, 14), slice(40, 99), slice(9, 2), slice(None, None, -3))
    for chosen in (*range(-41, 41), *slices):
        assert stored[chosen] == whole[chosen]
    for index in (41, -42):
        with pytest.raises(IndexError):
            stored[index]


def test_a_second_start_reuses_the_cache(corpus: Path, cleanings: list[int]) -> None:
    first = load(corpus)
    assert cleanings == [1]
    second = load(corpus)
    assert cleanings == [1]
    assert texts(second, "train") == texts(first, "train")
    assert (second.fingerprints, second.reports, second.notes) == (first.fingerprints, first.reports, first.notes)


def test_the_fingerprint_covers_all_batches(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.corpus.clean_corpus._ROWS", 7)
    found = load(corpus)
    for split in ("train", "validation"):
        hashes = np.array([pair_hash(pair.source, pair.target) for pair in found.splits[split]], np.uint64)
        assert found.fingerprints[split] == Fingerprint.of(hashes)


def test_other_settings_bytes_or_normalisation_clean_again(
    corpus: Path, cleanings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    load(corpus)
    for count, changes in enumerate(
        ({"max_words": 99}, {"max_ratio": 2.0}, {"remove": ("copy",)}, {"source_language": "en"}), start=2
    ):
        load(corpus, **changes)
        assert len(cleanings) == count
    monkeypatch.setattr(clean_corpus.normalize, "VERSION", clean_corpus.normalize.VERSION + 1)
    load(corpus)
    assert len(cleanings) == 6
    write(corpus, tsv(PAIRS[1:]))
    assert len(load(corpus, need="test").splits["test"]) == 40


def test_a_copy_reuses_the_cache_under_its_own_name(corpus: Path, tmp_path: Path, cleanings: list[int]) -> None:
    load(corpus, need="test")
    copy = write(tmp_path / "y.tsv", corpus.read_bytes())
    found = load(copy, need="test")
    assert (found.name, cleanings) == (str(copy), [1])
    assert f"test: {copy}, de → en" in found.notes


def test_leaves_no_unpacked_file(tmp_path: Path, cache: Path) -> None:
    for name in ("x.tsv.gz", "y.csv.xz"):
        load(write(tmp_path / name, tsv(PAIRS) if "tsv" in name else csv(PAIRS)))
    gc.collect()
    assert {path.suffix for path in cache.iterdir()} == {".arrow", ".lock"}


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a truncated file": lambda content: content[:-9],
    "another report": lambda content: content.replace(b'"read"', b'"raed"'),
    "a wrong number of pairs": lambda content: content.replace(b'"train": [39', b'"train": [31'),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_rebuilds_a_damaged_cache_with_a_warning(
    corpus: Path, cache: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = texts(load(corpus), "train")
    (path,) = cache.glob("*.arrow")
    damaged = DAMAGE[damage](path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    assert not caplog.messages
    assert texts(load(corpus), "train") == before
    assert caplog.messages == [f"tmt: {path}: damaged; making it again"]
    assert path.read_bytes() != damaged


def test_makes_paths_absolute_and_names_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name in ("a.de.gz", "a.en.gz", "x.de-en.tsv"):
        Path("data", name).touch()
    here = str(tmp_path.resolve())
    names = {
        "data": (f"{here}/data", "data"),
        "data/a.de.gz,data/a.en.gz": (f"{here}/data/a.de.gz,{here}/data/a.en.gz", "a"),
        "data/x.de-en.tsv": (f"{here}/data/x.de-en.tsv", "x"),
        "builtin": ("builtin", "builtin"),
        "owner/name:de-en@v1": ("owner/name:de-en@v1", "name"),
    }
    for given, (path, name) in names.items():
        assert (absolute(given), short_name(given)) == (path, name)


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["builtin", "{x}/a.de,{x}/a.en", "{x}/a.tsv"])
def test_loads_builtin_and_text_corpora_without_datasets(tmp_path: Path, corpus: str) -> None:
    for name, content in (("a.de", "ja\nnein\n"), ("a.en", "yes\nno\n"), ("a.tsv", "ja\tyes\nnein\tno\n")):
        (tmp_path / name).write_text(content)
    program = (
        "import sys\n"
        "from transformer_mt.config.sections import DataConfig\n"
        "from transformer_mt.corpus.load_corpus import load_corpus\n"
        f"load_corpus(DataConfig(corpus={corpus.replace('{x}', str(tmp_path))!r}))\n"
        "assert not {'datasets', 'torch'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
