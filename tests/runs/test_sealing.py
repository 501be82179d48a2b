from pathlib import Path

import pytest
from support.crashes import crash_everywhere

from transformer_mt.errors import MachineError
from transformer_mt.runs.checkpoints import MANIFEST, read_sealed, write_sealed
from transformer_mt.runs.directory import CHECKPOINTS, Run

OLD, NEW = {"a.bin": b"old", "b.bin": b"older"}, {"a.bin": b"new", "b.bin": b"newer", "empty.bin": b""}


def limits(files: dict[str, bytes]) -> dict[str, int]:
    return dict.fromkeys(files, 9)


def test_a_sealed_directory_holds_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "kept"
    for files in (OLD, NEW):
        write_sealed(path, files)
        assert read_sealed(path, limits(files)) == files
    assert list(path.parent.iterdir()) == [path]


def test_crash_while_writing_leaves_the_old_directory_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / CHECKPOINTS / "step-3"
    write_sealed(path, OLD)

    def check() -> None:
        Run(tmp_path).remove_leftovers()
        assert list(path.parent.iterdir()) == [path]
        files = NEW if (path / "empty.bin").exists() else OLD
        assert read_sealed(path, limits(files)) == files

    assert crash_everywhere(lambda: write_sealed(path, NEW), check) >= 10
    assert read_sealed(path, limits(NEW)) == NEW


def test_crash_while_writing_the_first_time_leaves_nothing_or_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "kept"

    def check() -> None:
        if path.exists():
            assert read_sealed(path, limits(NEW)) == NEW

    assert crash_everywhere(lambda: write_sealed(path, NEW), check) >= 10


@pytest.mark.parametrize("name", ["a.bin", "empty.bin", MANIFEST])
def test_missing_file_is_named(tmp_path: Path, name: str) -> None:
    write_sealed(tmp_path / "kept", NEW)
    (tmp_path / "kept" / name).unlink()
    with pytest.raises(MachineError, match=f"^{tmp_path}/kept/{name}: missing; "):
        read_sealed(tmp_path / "kept", limits(NEW))


@pytest.mark.parametrize("damage", [b"", b"ne", b"neW", b"new\0"])
def test_damaged_file_is_named(tmp_path: Path, damage: bytes) -> None:
    write_sealed(tmp_path / "kept", NEW)
    (tmp_path / "kept" / "a.bin").write_bytes(damage)
    with pytest.raises(MachineError, match=f"^{tmp_path}/kept/a.bin: damaged"):
        read_sealed(tmp_path / "kept", limits(NEW))


@pytest.mark.parametrize("manifest", [b"", b"{", b"[]x", b"7", b'["a.bin"]', b"\xff", b'{"\\u0000": "x"}'])
def test_damaged_manifest_is_named(tmp_path: Path, manifest: bytes) -> None:
    write_sealed(tmp_path / "kept", NEW)
    (tmp_path / "kept" / MANIFEST).write_bytes(manifest)
    with pytest.raises(MachineError, match=f"^{tmp_path}/kept/{MANIFEST}: damaged; "):
        read_sealed(tmp_path / "kept", limits(NEW))


def test_no_single_changed_byte_of_the_manifest_passes(tmp_path: Path) -> None:
    write_sealed(tmp_path / "kept", NEW)
    manifest = tmp_path / "kept" / MANIFEST
    sound = manifest.read_bytes()
    for position in range(len(sound)):
        manifest.write_bytes(sound[:position] + bytes([sound[position] ^ 1]) + sound[position + 1 :])
        with pytest.raises(MachineError, match=str(tmp_path / "kept")):
            read_sealed(tmp_path / "kept", limits(NEW))


def test_a_sealed_directory_holds_what_is_expected_and_nothing_else(tmp_path: Path) -> None:
    write_sealed(tmp_path / "kept", NEW)
    for expected in (NEW | {"more": b""}, dict(list(NEW.items())[1:])):
        with pytest.raises(MachineError, match=f"{MANIFEST}: damaged"):
            read_sealed(tmp_path / "kept", limits(expected))
    with pytest.raises(MachineError, match=r"a\.bin: 3 bytes, where at most 2 are expected"):
        read_sealed(tmp_path / "kept", limits(NEW) | {"a.bin": 2})


def test_directories_too_deep_to_delete_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sealed(tmp_path / "kept", OLD)

    def too_deep(_: Path) -> None:
        raise RecursionError

    monkeypatch.setattr("transformer_mt.files.shutil.rmtree", too_deep)
    with pytest.raises(MachineError, match=r"holds directories too deep to delete; delete it by hand$"):
        write_sealed(tmp_path / "kept", NEW)
    assert read_sealed(tmp_path / "kept", limits(NEW)) == NEW


def test_sealed_directories_are_not_written_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MachineError, match="linked: not a directory"):
        write_sealed(tmp_path / "linked" / "kept", NEW)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_failure_to_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(MachineError, match="new: cannot be written"):
        write_sealed(tmp_path / "new", NEW)
    assert not list(tmp_path.iterdir())
