import io
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.errors import MachineError
from transformer_mt.runs.files import (
    MANIFEST,
    read_sealed_directory,
    remove_leftovers,
    remove_sealed_directory,
    sealed_directories,
    write_atomically,
    write_sealed_directory,
)
from transformer_mt.runs.weights import digest, layout_of, pack, read_header, unpack

OLD, NEW = {"a.bin": b"old", "b.bin": b"older"}, {"a.bin": b"new", "b.bin": b"newer", "empty.bin": b""}


def limits(files: dict[str, bytes]) -> dict[str, int]:
    return dict.fromkeys(files, 9)


class Crash(BaseException):
    """The process ends here: no handler of ours sees it."""


class CrashingSystem:
    """Counts the calls that change the disk, and crashes before the one of that number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, before: int) -> None:
        self.left = before
        for owner, name in ((os, "fsync"), (Path, "mkdir"), (Path, "rename"), (Path, "replace"), (Path, "open")):
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))
        monkeypatch.setattr("transformer_mt.runs.files.shutil.rmtree", self._counted(_rmtree))

    def _counted(self, change: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object, **options: object) -> object:
            self.left -= 1
            if self.left < 0:
                raise Crash
            return change(*arguments, **options)

        return counted


def _rmtree(path: Path, ignore_errors: bool = False) -> None:
    if path.exists():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()


def crash_everywhere(write: Callable[[], None], check: Callable[[], None]) -> int:
    """Crash before the first change to the disk, the second … and check what is left; how many changes there are."""
    for changes in range(100):
        with pytest.MonkeyPatch.context() as monkeypatch:
            CrashingSystem(monkeypatch, before=changes)
            try:
                write()
            except Crash:
                pass
            else:
                return changes
        check()
    raise AssertionError("endless")


def test_writing_atomically_replaces_the_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"old", b"new"):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_crash_while_writing_atomically_leaves_the_old_content_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def check() -> None:
        assert path.read_bytes() in (b"old", b"new")

    assert crash_everywhere(lambda: write_atomically(path, b"new"), check) >= 3
    assert path.read_bytes() == b"new"


def test_full_disk_is_one_line_and_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MachineError) as caught:
        write_atomically(path, b"new")
    assert str(caught.value) == (
        f"{path}: cannot be written (No space left on device); check disk space and permissions"
    )
    assert path.read_bytes() == b"old"


def test_sealed_directory_holds_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "sealed"
    for files in (OLD, NEW):
        write_sealed_directory(path, files)
        assert read_sealed_directory(path, limits(files)) == files
    assert list(path.parent.iterdir()) == [path]


def test_crash_while_sealing_leaves_the_old_directory_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "sealed"
    write_sealed_directory(path, OLD)

    def check() -> None:
        assert sealed_directories(tmp_path) == {"sealed"}
        found = path if path.exists() else tmp_path / ".sealed.old"
        files = NEW if (found / "empty.bin").exists() else OLD
        assert read_sealed_directory(path, limits(files)) == files

    assert crash_everywhere(lambda: write_sealed_directory(path, NEW), check) >= 10
    assert read_sealed_directory(path, limits(NEW)) == NEW
    (tmp_path / ".mine.0123456789abcdef.new").touch()
    remove_leftovers(tmp_path, "sealed")
    assert sorted(each.name for each in tmp_path.iterdir()) == [".mine.0123456789abcdef.new", "sealed"]


def test_crash_while_sealing_the_first_time_leaves_nothing_or_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "sealed"

    def check() -> None:
        if sealed_directories(tmp_path):
            assert read_sealed_directory(path, limits(NEW)) == NEW

    assert crash_everywhere(lambda: write_sealed_directory(path, NEW), check) >= 10


def test_removing_a_sealed_directory_removes_what_was_set_aside_too(tmp_path: Path) -> None:
    for name in ("sealed", ".sealed.old"):
        write_sealed_directory(tmp_path / name, OLD)
    remove_sealed_directory(tmp_path / "sealed")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.bin", "empty.bin", MANIFEST])
def test_missing_file_is_named(tmp_path: Path, name: str) -> None:
    write_sealed_directory(tmp_path / "sealed", NEW)
    (tmp_path / "sealed" / name).unlink()
    with pytest.raises(MachineError, match=f"^{tmp_path}/sealed/{name}: missing; "):
        read_sealed_directory(tmp_path / "sealed", limits(NEW))


@pytest.mark.parametrize("damage", [b"", b"ne", b"neW", b"new\0"])
def test_damaged_file_is_named(tmp_path: Path, damage: bytes) -> None:
    write_sealed_directory(tmp_path / "sealed", NEW)
    (tmp_path / "sealed" / "a.bin").write_bytes(damage)
    with pytest.raises(MachineError, match=f"^{tmp_path}/sealed/a.bin: damaged"):
        read_sealed_directory(tmp_path / "sealed", limits(NEW))


@pytest.mark.parametrize("manifest", [b"", b"{", b"[]x", b"7", b'["a.bin"]', b"\xff", b'{"\\u0000": "x"}'])
def test_damaged_manifest_is_named(tmp_path: Path, manifest: bytes) -> None:
    write_sealed_directory(tmp_path / "sealed", NEW)
    (tmp_path / "sealed" / MANIFEST).write_bytes(manifest)
    with pytest.raises(MachineError, match=f"^{tmp_path}/sealed/{MANIFEST}: damaged; "):
        read_sealed_directory(tmp_path / "sealed", limits(NEW))


def test_no_single_changed_byte_of_the_manifest_passes(tmp_path: Path) -> None:
    write_sealed_directory(tmp_path / "sealed", NEW)
    manifest = tmp_path / "sealed" / MANIFEST
    sound = manifest.read_bytes()
    for position in range(len(sound)):
        manifest.write_bytes(sound[:position] + bytes([sound[position] ^ 1]) + sound[position + 1 :])
        with pytest.raises(MachineError, match=str(tmp_path / "sealed")):
            read_sealed_directory(tmp_path / "sealed", limits(NEW))


def test_packed_tensors_come_back(tmp_path: Path) -> None:
    tensors = {"x": torch.randn(3, 5).T, "steps": torch.tensor(7), "y": torch.tensor([2, 0], dtype=torch.uint8)}
    unpacked = unpack(pack(tensors), layout_of(tensors), path=tmp_path)
    assert unpacked.keys() == tensors.keys()
    assert all(torch.equal(unpacked[name], tensor) for name, tensor in tensors.items())
    assert unpack(pack({}), {}, path=tmp_path) == {}


@given(content=st.binary(max_size=50) | st.binary(max_size=50).map(lambda tail: pack({"x": torch.ones(3)})[:40] + tail))
def test_what_is_no_safetensors_file_is_one_line(content: bytes) -> None:
    with pytest.raises(MachineError, match=r"^model.safetensors: damaged or not a safetensors file; .*anew$"):
        unpack(content, {}, path=Path("model.safetensors"))


@pytest.mark.parametrize("name", ["file", ".file.new", ".file.old"])
def test_writing_follows_no_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / name).symlink_to(tmp_path / "mine")
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_a_temporary_name_that_something_has_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.runs.files.secrets.token_hex", lambda _: "0" * 16)
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / f".file.{'0' * 16}.new").symlink_to(tmp_path / "mine")
    (tmp_path / f".sealed.{'0' * 16}.new").mkdir()
    for write in (
        lambda: write_atomically(tmp_path / "file", b"new"),
        lambda: write_sealed_directory(tmp_path / "sealed", NEW),
    ):
        with pytest.raises(MachineError, match=r"(file|sealed): cannot be written \(File exists\)"):
            write()
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_of_several_writers_the_last_wins_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([65 + number]) * 200_000 for number in range(4)]

    def write(content: bytes) -> None:
        for _ in range(10):
            write_atomically(path, content)
            assert path.read_bytes() in contents

    with ThreadPoolExecutor(len(contents)) as threads:
        list(threads.map(write, contents))
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_to_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for write in (lambda path: write_atomically(path, b""), lambda path: write_sealed_directory(path, NEW)):
        with pytest.raises(MachineError, match="new: cannot be written"):
            write(tmp_path / "new")
    assert not list(tmp_path.iterdir())


def test_a_sealed_directory_holds_what_is_expected_and_nothing_else(tmp_path: Path) -> None:
    write_sealed_directory(tmp_path / "sealed", NEW)
    for expected in (NEW | {"more": b""}, dict(list(NEW.items())[1:])):
        with pytest.raises(MachineError, match=f"{MANIFEST}: damaged"):
            read_sealed_directory(tmp_path / "sealed", limits(expected))
    with pytest.raises(MachineError, match=r"a\.bin: 3 bytes, where at most 2 are expected"):
        read_sealed_directory(tmp_path / "sealed", limits(NEW) | {"a.bin": 2})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"x": torch.ones(2, 3)}, {"y": torch.ones(2, 3)}),
        ({"x": torch.ones(2, 3)}, {"x": torch.ones(3, 2)}),
        ({"x": torch.zeros(2)}, {"x": torch.zeros(2, dtype=torch.int32)}),
        ({"x": torch.zeros(2)}, {"x": torch.tensor([0.0, -0.0])}),
        ({"x": torch.ones(1), "y": torch.zeros(1)}, {"x": torch.zeros(1), "y": torch.ones(1)}),
    ],
)
def test_the_sum_of_tensors_tells_names_shapes_types_and_bytes_apart(
    old: dict[str, torch.Tensor], new: dict[str, torch.Tensor]
) -> None:
    assert digest(old) != digest(new)
    assert digest(old) == digest(dict(reversed(old.items())))


def test_the_same_tensors_and_sums_are_the_same_file(tmp_path: Path) -> None:
    sums = {name: name for name in "abcdefgh"}
    packed = pack({"x": torch.ones(3)}, sums)
    assert {pack({"x": torch.ones(3)}, sums) for _ in range(9)} == {packed}
    assert read_header(io.BytesIO(packed), path=tmp_path).sums == sums


def test_directories_too_deep_to_delete_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sealed_directory(tmp_path / "sealed", OLD)

    def too_deep(_: Path) -> None:
        raise RecursionError

    monkeypatch.setattr("transformer_mt.runs.files.shutil.rmtree", too_deep)
    with pytest.raises(MachineError, match=r"holds directories too deep to delete; delete it by hand$"):
        write_sealed_directory(tmp_path / "sealed", NEW)
    assert read_sealed_directory(tmp_path / "sealed", limits(NEW)) == NEW


def test_what_was_set_aside_is_no_leftover_while_nothing_has_taken_its_place(tmp_path: Path) -> None:
    write_sealed_directory(tmp_path / "sealed", OLD)
    (tmp_path / "sealed").rename(tmp_path / ".sealed.old")
    remove_leftovers(tmp_path, "sealed")
    assert read_sealed_directory(tmp_path / "sealed", limits(OLD)) == OLD


def test_sealed_directories_are_neither_written_nor_looked_for_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "elsewhere")
    for use in (sealed_directories, lambda path: write_sealed_directory(path / "sealed", NEW)):
        with pytest.raises(MachineError, match="linked: a symbolic link, where a directory is expected"):
            use(tmp_path / "linked")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_directory_that_is_deleted_while_it_is_listed_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deleted(path: Path) -> list[str]:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr("os.listdir", deleted)
    assert sealed_directories(tmp_path) == set()
