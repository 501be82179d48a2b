"""Differences of Windows and macOS, as far as they can be pretended elsewhere; mypy checks `--platform win32` too."""

import gc
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pyarrow as pa
import pytest
from support.cache import cache_in
from support.command_line import settings, write_corpus
from support.data_files import PAIRS, TABLES, load, texts, write
from support.windows import MISSING, pretend_windows

from transformer_mt.cli import main, signals
from transformer_mt.corpus.cache import cached, temporary_file, temporary_table
from transformer_mt.errors import MachineError
from transformer_mt.files import output_file, write_atomically
from transformer_mt.runs.checkpoints import write_checkpoint

SCHEMA = pa.schema({"number": pa.int32()})

# All our modules are loaded with whatever they need, forgotten, and loaded again without POSIX's modules.
IMPORT_ALL = """
import importlib, pkgutil, sys, transformer_mt

def load():
    for module in pkgutil.walk_packages(transformer_mt.__path__, "transformer_mt."):
        if module.name != "transformer_mt.__main__":
            importlib.import_module(module.name)

load()
for name in [name for name in sys.modules if name.startswith("transformer_mt.")]:
    del sys.modules[name]
sys.modules |= dict.fromkeys(sys.argv[1:])
load()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, on Windows."""
    cache_in(tmp_path / "cache", monkeypatch)
    pretend_windows(monkeypatch)
    return tmp_path / "cache"


def batches(*numbers: int) -> Iterator[pa.RecordBatch]:
    for number in numbers:
        yield pa.record_batch([pa.array([number], pa.int32())], schema=SCHEMA)


def test_the_pretence_refuses_to_rename_and_delete_what_is_open_or_mapped(folder: Path) -> None:
    folder.mkdir()
    path = folder / "x"
    path.write_bytes(b"x")
    with path.open("rb"):
        for refused in (path.unlink, lambda: path.rename(folder / "y"), lambda: folder.rename(folder.parent / "z")):
            with pytest.raises(PermissionError):
                refused()
    path.rename(folder / "y")
    (folder / "y").unlink()


@pytest.mark.slow
def test_every_module_is_imported_where_those_of_posix_are_missing() -> None:
    command = [sys.executable, "-W", "ignore", "-c", IMPORT_ALL, *MISSING]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_table_of_the_cache_is_made_once_and_read_again(folder: Path) -> None:
    table = cached("key", SCHEMA, batches(3, 5), lambda table: table)
    again = cached("key", SCHEMA, iter(()), lambda table: table)
    assert table["number"].to_pylist() == again["number"].to_pylist() == [3, 5]
    (path,) = folder.glob("*.arrow")
    path.write_bytes(b"damaged")  # while both are in use
    assert cached("key", SCHEMA, batches(7), lambda table: table["number"].to_pylist()) == [7]
    assert not list(folder.glob("*.part"))


def test_a_temporary_table_stays_without_its_file(folder: Path) -> None:
    table = temporary_table(SCHEMA, batches(3, 5))
    assert list(folder.iterdir()) == []
    assert table["number"].to_pylist() == [3, 5]


def test_files_of_killed_processes_are_deleted_and_open_ones_stay(folder: Path) -> None:
    folder.mkdir()
    for name in ("left", "open"):
        (folder / f"{name}.part").write_bytes(b"x")
    with (folder / "open.part").open("rb"), temporary_file(folder) as file:
        file.write(b"y")
        file.flush()
        assert {path.name for path in folder.glob("*.part")} == {"open.part", Path(file.name).name}
    assert [path.name for path in folder.iterdir()] == ["open.part"]


@pytest.mark.parametrize("form", ["TSV", "CSV", "Parquet"])
def test_a_corpus_is_read_packed_or_not_and_leaves_no_file_behind(folder: Path, tmp_path: Path, form: str) -> None:
    name, make = TABLES[form]
    for compression in ("", ".gz"):
        path = write(tmp_path / (name.format("x") + compression), make(PAIRS))
        assert len(texts(load(path, need="test"), "test")) == len(PAIRS)
    gc.collect()
    assert not list(folder.glob("*.part"))


def test_a_file_that_somebody_reads_is_replaced_once_they_are_done(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model"
    write_atomically(path, b"old")
    reader = path.open("rb")
    Timer(0.3, reader.close).start()
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_file_that_somebody_reads_for_long_is_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    write_atomically(tmp_path / "model", b"old")
    with (
        (tmp_path / "model").open("rb"),
        pytest.raises(MachineError, match=r"model: cannot be written \(The process cannot access the file\); "),
    ):
        write_atomically(tmp_path / "model", b"new")
    assert 1 < sum(pauses) < 4
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_checkpoint_that_somebody_reads_is_replaced_once_they_are_done(folder: Path, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "step-1", {"a": b"old"})
    reader = (tmp_path / "step-1/a").open("rb")
    Timer(0.3, reader.close).start()
    write_checkpoint(tmp_path / "step-1", {"a": b"new"})
    assert (tmp_path / "step-1/a").read_bytes() == b"new"


def test_a_pipe_is_written_without_waiting_modes(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with output_file(tmp_path / "pipe") as file:
        file.write(b"result")
    assert os.read(reader, 99) == b"result"
    os.close(reader)


def test_an_open_file_of_macos_is_appended_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "resolve", lambda path: path)  # /dev/fd is there no link
    with (tmp_path / "out").open("wb") as file:
        file.write(b"one ")
        file.flush()
        with output_file(Path(f"/dev/fd/{file.fileno()}")) as same:
            same.write(b"two")
    assert (tmp_path / "out").read_bytes() == b"one two"


def test_output_is_utf8_whatever_the_country(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO()
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(content if name == "stdout" else io.BytesIO(), "cp1252"))
    monkeypatch.setattr(sys, "argv", ["tmt"])
    monkeypatch.setattr(signals, "leave_on_signals", lambda: None)
    monkeypatch.setattr(main, "run", lambda arguments: print("Grüße → привет") or 0)
    monkeypatch.setattr("gc.freeze", lambda: None)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 0
    assert content.getvalue() == f"Grüße → привет{os.linesep}".encode()


def test_a_training_is_begun_continued_and_translated_with(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    data = str(write_corpus(tmp_path / "data"))
    for steps in ("3", "6"):
        assert main.run(["train", "--data", data, "--run-dir", "run", *settings(training__steps=steps)]) == 0
    capsys.readouterr()
    assert main.run(["translate", "--model", "run", "Der Hund schläft."]) == 0
    assert capsys.readouterr().out.endswith("\n")
