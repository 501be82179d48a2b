from pathlib import Path

import pytest
from support.failing_disk import crash_everywhere

from transformer_mt.ground.errors import MachineError
from transformer_mt.ground.files import write_directory
from transformer_mt.runs.directory import CHECKPOINTS, Run

OLD, NEW = {"a.bin": b"old", "b.bin": b"older"}, {"a.bin": b"new", "b.bin": b"newer", "empty.bin": b""}


def files_of(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def test_crash_while_replacing_leaves_the_old_or_the_new_directory(tmp_path: Path) -> None:
    path = tmp_path / CHECKPOINTS / "step-3"
    path.parent.mkdir()
    write_directory(path, OLD)

    def check() -> None:
        Run(tmp_path).remove_leftovers()
        assert list(path.parent.iterdir()) == [path]
        assert files_of(path) in (OLD, NEW)

    assert crash_everywhere(tmp_path, lambda: write_directory(path, NEW), check) >= 9
    assert files_of(path) == NEW


def test_crash_while_writing_leaves_nothing_or_the_whole_directory(tmp_path: Path) -> None:
    path = tmp_path / "kept"

    def check() -> None:
        assert not path.exists() or files_of(path) == NEW

    assert crash_everywhere(tmp_path, lambda: write_directory(path, NEW), check) >= 9


def test_directories_too_deep_to_delete_are_a_one_line_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_directory(tmp_path / "kept", OLD)

    def too_deep(_: Path) -> None:
        raise RecursionError

    monkeypatch.setattr("transformer_mt.ground.files.shutil.rmtree", too_deep)
    with pytest.raises(MachineError, match=r"holds directories too deep to delete; delete it by hand$"):
        write_directory(tmp_path / "kept", NEW)
    assert files_of(tmp_path / "kept") == NEW


def test_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(MachineError, match="new: cannot be written"):
        write_directory(tmp_path / "new", NEW)
    assert not list(tmp_path.iterdir())
