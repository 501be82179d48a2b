import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.small_training import opened

from transformer_mt.errors import InputError, MachineError
from transformer_mt.runs.lock import LOCK, acquire, release

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


def test_a_directory_in_training_is_refused_with_process_host_and_time(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        with pytest.raises(InputError) as caught:
            acquire(tmp_path)
        since = json.loads((tmp_path / LOCK).read_text())["since"]
        assert str(caught.value) == (
            f"{tmp_path}: is being trained by process {other.pid} on {os.uname().nodename} since {since}; wait for "
            "that, stop it, or choose another directory with --run-dir"
        )


def test_a_lock_that_a_killed_process_left_holds_nothing(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert (tmp_path / LOCK).exists()
        assert acquire(tmp_path)
    assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()
    release(tmp_path)


def test_what_is_let_go_can_be_held_by_another(tmp_path: Path) -> None:
    assert acquire(tmp_path)
    assert not acquire(tmp_path / ".")
    release(tmp_path)
    release(tmp_path)
    with holder(tmp_path):
        pass


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_run_in_training_is_neither_continued_nor_overwritten(tmp_path: Path, overwrite: bool) -> None:
    list(opened(tmp_path, "training.steps=4").train())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != LOCK}
    with holder(tmp_path), pytest.raises(InputError, match="is being trained by process"):
        opened(tmp_path, overwrite=overwrite)
    assert {path: path.read_bytes() for path in before} == before
    assert opened(tmp_path, "training.steps=4").trainer.progress.step == 4


def test_training_lets_go_at_its_end_and_after_a_refusal(tmp_path: Path) -> None:
    session = opened(tmp_path, "training.steps=2")
    with pytest.raises(AssertionError), holder(tmp_path):
        pass
    list(session.train())
    with holder(tmp_path):
        pass
    with pytest.raises(InputError, match="another configuration"):
        opened(tmp_path, "training.seed=9")
    with holder(tmp_path):
        pass


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[" * 900, b"\xff", b'{"process": "x", "host": 3, "since": []}', b"7"]
)
def test_a_lock_file_that_says_nothing_is_still_a_lock(tmp_path: Path, content: bytes) -> None:
    with holder(tmp_path):
        (tmp_path / LOCK).write_bytes(content)
        with pytest.raises(InputError, match=r"is being trained by another process; wait for that"):
            acquire(tmp_path)


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    (tmp_path / LOCK).symlink_to(other)
    with pytest.raises(Exception, match="cannot be written"):
        acquire(tmp_path)
    assert other.read_text() == "mine"


def test_a_hard_link_in_the_place_of_the_lock_is_not_written_to(tmp_path: Path) -> None:
    """Not every archive and not every system keeps a stranger from making one."""
    (tmp_path / "outside").write_text("not ours")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).hardlink_to(tmp_path / "outside")
    with pytest.raises(MachineError, match=f"{LOCK}: is a hard link to another file; delete it$"):
        acquire(tmp_path / "run")
    assert (tmp_path / "outside").read_text() == "not ours"
