import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from support.cache import cache_in

from transformer_mt.corpus.cache import cached, temporary_table
from transformer_mt.errors import MachineError

SCHEMA = pa.schema({"number": pa.int32()})


def batches(*numbers: int) -> Iterator[pa.RecordBatch]:
    for number in numbers:
        yield pa.record_batch([pa.array([number], pa.int32())], schema=SCHEMA)


def never() -> Iterator[pa.RecordBatch]:
    raise AssertionError("made again")
    yield


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    cache_in(path, monkeypatch)
    return path


def numbers(table: pa.Table) -> list[int]:
    return table["number"].to_pylist()


def test_a_table_is_made_once_and_then_mapped() -> None:
    assert cached("key", SCHEMA, batches(3, 5), numbers) == [3, 5]
    before = pa.total_allocated_bytes()
    table = cached("key", SCHEMA, never(), lambda table: table)
    assert numbers(table) == [3, 5]
    assert pa.total_allocated_bytes() == before
    assert cached("other", SCHEMA, batches(7), numbers) == [7]


@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_a_damaged_table_is_made_anew(content: bytes | None, folder: Path) -> None:
    cached("key", SCHEMA, batches(3, 5), numbers)
    (file,) = folder.glob("*.arrow")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if content is None else content)
    assert cached("key", SCHEMA, batches(3, 5), numbers) == [3, 5]
    assert file.read_bytes() == whole


def test_a_table_of_another_form_is_made_anew() -> None:
    cached("key", pa.schema({"number": pa.string()}), [pa.record_batch({"number": ["7"]})], lambda table: table)
    assert cached("key", SCHEMA, batches(3), numbers) == [3]


def test_what_fails_while_it_is_made_leaves_no_table(folder: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from batches(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached("key", SCHEMA, failing(), numbers)
    with pytest.raises(KeyboardInterrupt):
        temporary_table(SCHEMA, failing())
    assert not list(folder.glob("*.arrow"))
    assert cached("key", SCHEMA, batches(3), numbers) == [3]
    assert {path.suffix for path in folder.iterdir()} == {".arrow", ".lock"}


def test_a_temporary_table_leaves_no_file(folder: Path) -> None:
    assert numbers(temporary_table(SCHEMA, batches(2, 4))) == [2, 4]
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_line(folder: Path) -> None:
    folder.parent.joinpath("file").write_text("")
    folder.symlink_to(folder.parent / "file")
    for make in (lambda: cached("key", SCHEMA, batches(1), numbers), lambda: temporary_table(SCHEMA, batches(1))):
        with pytest.raises(MachineError, match=r"cannot be written .* free some space or set TMT_CACHE$"):
            make()


@pytest.mark.slow
def test_of_two_processes_one_makes_the_table_and_the_other_waits(folder: Path) -> None:
    assert folder.parent.is_dir()
    program = f"""
import sys, time; sys.path = {sys.path!r}
import pyarrow as pa
from transformer_mt.corpus import cache
schema = pa.schema({{"number": pa.int32()}})
def batches():
    print("making", flush=True)
    time.sleep(0.5)
    yield pa.record_batch([pa.array([11], pa.int32())], schema=schema)
print(cache.cached("key", schema, batches(), lambda table: table["number"].to_pylist()))
"""
    started = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = sorted(process.communicate(timeout=60)[0] for process in started)
    assert outputs == ["[11]\n", "making\n[11]\n"]
