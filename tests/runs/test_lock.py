import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.small_training import opened

from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.runs.lock import LOCK, acquire, is_held, release

HOLD = """
import sys, pathlib
from transformer_mt.runs.lock import acquire
acquire(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(directory: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the directory's lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_lock_is_refused_until_its_process_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    with holder(tmp_path) as other:
        monkeypatch.setattr("time.sleep", waits.append)
        assert is_held(tmp_path)
        assert not waits
        with pytest.raises(InputError) as caught:
            acquire(tmp_path)
        assert waits
        assert str(caught.value) == (
            f"{tmp_path}: is being trained by another process; wait for it, stop it, or choose another directory"
        )
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert (tmp_path / LOCK).exists()
        assert not is_held(tmp_path)
        assert acquire(tmp_path)
        assert is_held(tmp_path)
    release(tmp_path)


def test_released_lock_can_be_acquired_by_another_process(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    assert not (tmp_path / LOCK).exists()
    assert acquire(tmp_path)
    assert not acquire(tmp_path / ".")
    release(tmp_path)
    release(tmp_path)
    with holder(tmp_path):
        pass


def test_locked_run_is_neither_resumed_nor_overwritten(tmp_path: Path) -> None:
    list(opened(tmp_path, "training.steps=4").train())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != LOCK}
    with holder(tmp_path):
        for overwrite in (False, True):
            with pytest.raises(InputError, match="is being trained by another process"):
                opened(tmp_path, overwrite=overwrite)
    assert {path: path.read_bytes() for path in before} == before
    assert opened(tmp_path, "training.steps=4").trainer.progress.step == 4


def test_training_releases_the_lock_at_its_end_and_after_an_error(tmp_path: Path) -> None:
    session = opened(tmp_path, "training.steps=2")
    assert is_held(tmp_path)
    list(session.train())
    assert not is_held(tmp_path)
    with pytest.raises(InputError, match="another configuration"):
        opened(tmp_path, "training.seed=9")
    assert not is_held(tmp_path)


@pytest.mark.parametrize("make", [Path.symlink_to, Path.hardlink_to])
def test_linked_lock_is_refused(tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    """Some archives and systems let a stranger create a hard link."""
    (tmp_path / "run").mkdir()
    (tmp_path / "outside").write_text("not ours")
    make(tmp_path / "run" / LOCK, tmp_path / "outside")
    with pytest.raises(MachineError, match=f"{LOCK}: is a link or not a regular file; delete it$"):
        acquire(tmp_path / "run")
    assert (tmp_path / "outside").read_text() == "not ours"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_lock_that_is_not_a_file_is_a_one_line_error(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / LOCK)
    assert not is_held(tmp_path)
    with pytest.raises(MachineError, match=f"{LOCK}: is a link or not a regular file; delete it$"):
        acquire(tmp_path)
