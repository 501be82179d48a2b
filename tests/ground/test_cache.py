import errno
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.cache import cache_in

from transformer_mt.ground.cache import cached, temporary_file, temporary_table
from transformer_mt.ground.errors import MachineError

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


def test_makes_a_table_once_and_maps_it_afterwards() -> None:
    assert cached("key", SCHEMA, batches(3, 5), numbers) == [3, 5]
    before = pa.total_allocated_bytes()
    table = cached("key", SCHEMA, never(), lambda table: table)
    assert numbers(table) == [3, 5]
    assert pa.total_allocated_bytes() == before
    assert cached("other", SCHEMA, batches(7), numbers) == [7]


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_rebuilds_a_damaged_table(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    cached("key", SCHEMA, batches(3, 5), numbers)
    (file,) = folder.glob("*.arrow")
    whole = file.read_bytes()
    places = range(0, len(whole), 29)
    damaged = [whole[:at] for at in places] + [flipped(whole, 8 * at + at % 8) for at in places]
    for content in [b"garbage", whole + b" ", *damaged]:
        file.write_bytes(content)
        assert cached("key", SCHEMA, batches(3, 5), numbers) == [3, 5]
        assert file.read_bytes() == whole
        assert [record.getMessage() for record in caplog.records] == [f"tmt: {file}: damaged; making it again"]
        caplog.clear()


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero"), Path.touch])
@pytest.mark.parametrize("name", ["*.arrow", "*.lock"])
def test_replaces_foreign_files(name: str, make: Callable[[Path], None], folder: Path) -> None:
    cached("key", SCHEMA, batches(3), numbers)
    (path,) = folder.glob(name)
    path.unlink()
    make(path)
    for at_hand in (batches(3), never()):
        assert cached("key", SCHEMA, at_hand if name == "*.arrow" else batches(3), numbers) == [3]


def test_deletes_files_of_killed_processes_after_a_day(folder: Path) -> None:
    folder.mkdir()
    left, new = folder / "left.part", folder / "new.part"
    for path, age in ((left, 25), (new, 23)):
        path.touch()
        os.utime(path, (0, time.time() - age * 60 * 60))
    os.mkfifo(folder / "pipe.part")
    (folder / "gone.part").symlink_to("nowhere")
    with temporary_file(folder) as file:
        cached("key", SCHEMA, batches(3), numbers)
        assert Path(file.name).exists()
    assert (left.exists(), new.exists(), Path(file.name).exists()) == (False, True, False)


def test_works_without_locks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(file: object, operation: int) -> None:
        raise OSError(errno.ENOSYS, "no locks")

    monkeypatch.setattr(fcntl, "flock", missing)
    folder.mkdir()
    for at_hand in (batches(3), never()):
        assert cached("key", SCHEMA, at_hand, numbers) == [3]


def test_defaults_to_the_users_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMT_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for value, folder in (("", "home/.cache"), (str(tmp_path / "caches"), "caches")):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        cached("key", SCHEMA, batches(3), numbers)
        assert list((tmp_path / folder / "tmt").glob("*.arrow"))


@pytest.mark.parametrize("value", ["~no-such-person/cache", ""])
def test_unknown_home_directory_is_an_error(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMT_CACHE", value)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # an unknown home directory
    with pytest.raises(MachineError, match=r"^~.*: unknown home directory; set TMT_CACHE to another folder$"):
        cached("key", SCHEMA, batches(3), numbers)


def test_accepts_a_name_that_is_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_in(tmp_path / os.fsdecode(b"\xff\xfe"), monkeypatch)
    for at_hand in (batches(3), never()):
        assert cached("key", SCHEMA, at_hand, numbers) == [3]


def test_rebuilds_a_table_with_another_schema() -> None:
    cached("key", pa.schema({"number": pa.string()}), [pa.record_batch({"number": ["7"]})], lambda table: table)
    assert cached("key", SCHEMA, batches(3), numbers) == [3]


def test_a_failure_leaves_no_table(folder: Path) -> None:
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


def test_an_unwritable_folder_is_an_error(folder: Path) -> None:
    folder.parent.joinpath("file").write_text("")
    folder.symlink_to(folder.parent / "file")
    for make in (lambda: cached("key", SCHEMA, batches(1), numbers), lambda: temporary_table(SCHEMA, batches(1))):
        with pytest.raises(MachineError, match=r"cannot be written .* free some space or set TMT_CACHE$"):
            make()


@pytest.mark.slow
def test_one_process_makes_the_table_while_the_other_waits(folder: Path) -> None:
    assert folder.parent.is_dir()
    program = f"""
import sys, time; sys.path = {sys.path!r}
import pyarrow as pa
from transformer_mt.ground import cache
schema = pa.schema({{"number": pa.int32()}})
def batches():
    print("making", flush=True)
    time.sleep(2)
    yield pa.record_batch([pa.array([11], pa.int32())], schema=schema)
print(cache.cached("key", schema, batches(), lambda table: table["number"].to_pylist()))
"""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([sys.executable, "-c", program], **pipes) for _ in range(2)]
    outputs = sorted(process.communicate(timeout=60) for process in started)
    (file,) = folder.glob("*.arrow")
    waiting = f"tmt: waiting for another process to make {file}\n"
    assert outputs == [("[11]\n", waiting), ("making\n[11]\n", "")]
