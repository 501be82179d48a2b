"""Files are written in an order that keeps the run sound after a power cut at any moment."""

from pathlib import Path

import pytest
from support.recorded_disk import RecordedDisk
from support.small_training import TRAIN, corpus_in_memory, small_config

from transformer_mt.corpus.word_counts import words_of_pairs
from transformer_mt.ground.errors import MachineError
from transformer_mt.ground.files import make_directory, write_atomically, write_directory
from transformer_mt.runs.directory import CHECKPOINTS, CONFIG, METRICS, MODEL, TOKENIZER, Run, saved_steps
from transformer_mt.runs.fingerprints import DATA, ROWS, DataRecord
from transformer_mt.runs.words import WORDS
from transformer_mt.tokenizer.tokenizer import Tokenizer

OLD, NEW = {"a.bin": b"old", "b.bin": b"older"}, {"a.bin": b"new", "b.bin": b"newer", "empty.bin": b""}


@pytest.mark.parametrize("replaces", [False, True])
def test_file_is_flushed_before_renaming_and_directory_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaces: bool
) -> None:
    if replaces:
        (tmp_path / "file").write_bytes(b"old")
    disk = RecordedDisk(tmp_path, monkeypatch)
    write_atomically(tmp_path / "file", b"new")
    assert disk.operations == ["flush .file.new", "rename .file.new file", "flush ."]
    assert disk.flushed == {".file.new": b"new"}


def test_directory_is_flushed_after_its_files_and_before_renaming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = RecordedDisk(tmp_path, monkeypatch)
    write_directory(tmp_path / "sealed", NEW)
    files = [f"flush .sealed.new/{name}" for name in NEW]
    assert disk.operations == [
        "make .sealed.new",
        *files,
        "flush .sealed.new",
        "rename .sealed.new sealed",
        "flush .",
    ]
    assert {name: disk.flushed[f".sealed.new/{name}"] for name in NEW} == NEW


def test_old_directory_is_removed_after_the_new_one_is_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_directory(tmp_path / "sealed", OLD)
    disk = RecordedDisk(tmp_path, monkeypatch)
    write_directory(tmp_path / "sealed", NEW)
    end = disk.operations[disk.operations.index("flush .sealed.new") + 1 :]
    assert end == ["rename sealed .sealed.old", "rename .sealed.new sealed", "flush .", "remove .sealed.old"]


def test_configuration_of_a_run_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small_config()
    tokenizer = Tokenizer.train([pair.source for pair in TRAIN], config.tokenizer)
    disk = RecordedDisk(tmp_path, monkeypatch)
    Run.create(tmp_path, config, tokenizer, DataRecord.of(corpus_in_memory()), words_of_pairs(TRAIN))
    named = disk.operations.index(f"rename .{CONFIG}.new {CONFIG}")
    before, after = disk.operations[:named], disk.operations[named + 1 :]
    assert f"make {CHECKPOINTS}" in before
    flushed = {name.removeprefix(".").removesuffix(".new"): content for name, content in disk.flushed.items()}
    assert flushed == {name: (tmp_path / name).read_bytes() for name in (TOKENIZER, DATA, ROWS, WORDS, CONFIG)}
    assert after == ["flush ."]


def test_parents_of_new_directories_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = RecordedDisk(tmp_path, monkeypatch)
    make_directory(tmp_path / "runs" / "run" / CHECKPOINTS)
    assert disk.operations == [
        "make runs",
        "flush .",
        "make runs/run",
        "flush runs",
        f"make runs/run/{CHECKPOINTS}",
        "flush runs/run",
    ]


def test_clear_deletes_the_configuration_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (CONFIG, METRICS, MODEL, TOKENIZER):
        (tmp_path / name).touch()
    (tmp_path / CHECKPOINTS / "step-3").mkdir(parents=True)
    disk = RecordedDisk(tmp_path, monkeypatch)
    Run(tmp_path).clear()
    assert disk.operations[0] == f"remove {CONFIG}"
    assert set(disk.operations) == {f"remove {name}" for name in (CONFIG, METRICS, MODEL, TOKENIZER, CHECKPOINTS)}
    assert not list(tmp_path.iterdir())


def test_steps_are_sorted_as_numbers(tmp_path: Path) -> None:
    for step in (10, 9, 100, 8):
        write_directory(tmp_path / f"step-{step}", NEW)
    assert saved_steps(tmp_path) == [8, 9, 10, 100]


def test_linked_checkpoints_are_refused(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path)
    with pytest.raises(MachineError, match="linked: not a directory"):
        saved_steps(tmp_path / "linked")


def test_checkpoints_deleted_while_listing_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deleted(path: Path) -> list[str]:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr("os.listdir", deleted)
    assert saved_steps(tmp_path) == []
