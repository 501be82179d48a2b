import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from transformer_mt.errors import MachineError
from transformer_mt.runs.reading import parse_json, read_regular, require_directory


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))  # the path of a socket must be short


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (Path.mkdir, "a directory"),
        (os.mkfifo, "a FIFO"),
        (listen, "a socket"),
        (lambda path: path.symlink_to("/dev/zero"), "a symbolic link"),
        (lambda path: path.symlink_to("whole"), "a symbolic link"),
        (lambda path: path.symlink_to("nowhere"), "a symbolic link"),
    ],
)
def test_only_a_regular_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whole").write_bytes(b"whole")
    make(tmp_path / "file")
    with pytest.raises(MachineError) as caught:
        read_regular(tmp_path / "file", limit=5)
    assert str(caught.value) == (
        f"{tmp_path / 'file'}: {kind}, where a regular file is expected; restore it, or train anew"
    )
    assert read_regular(tmp_path / "whole", limit=5) == b"whole"


def test_a_device_is_not_read() -> None:
    with pytest.raises(MachineError, match=r"^/dev/zero: a device, where a regular file is expected; "):
        read_regular(Path("/dev/zero"), limit=5)


def test_what_takes_the_place_of_a_file_before_it_is_opened_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"whole")
    real = os.open

    def exchanged(path: Path, flags: int) -> int:
        (tmp_path / "file").unlink()
        os.mkfifo(tmp_path / "file")
        return real(path, flags)

    monkeypatch.setattr(os, "open", exchanged)
    with pytest.raises(MachineError, match="a FIFO, where a regular file is expected"):
        read_regular(tmp_path / "file", limit=5)


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", limit=5) == b"12345"
    with pytest.raises(MachineError, match=r"file: 5 bytes, where at most 4 are expected; "):
        read_regular(tmp_path / "file", limit=4)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    for read in (lambda path: read_regular(path, limit=1), require_directory):
        with pytest.raises(MachineError, match=f"^{tmp_path}/file: missing; restore it, or train anew$"):
            read(tmp_path / "file")


def test_a_directory_is_no_link_to_one(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path)
    require_directory(tmp_path)
    with pytest.raises(MachineError, match="linked: a symbolic link, where a directory is expected"):
        require_directory(tmp_path / "linked")


def test_json_is_read_as_written() -> None:
    assert parse_json(b'{"a": [1, 2.5, null, "\xc3\xbc"]}') == {"a": [1, 2.5, None, "ü"]}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"NaN", b"[Infinity]", b"-Infinity", b'{"a": 1, "a": 1}', b"9" * 5_000, b"[" * 10**6, b"\xff", b"1 2"],
    ids=lambda content: repr(content[:16]),
)
def test_json_that_is_not_strict_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whichever it is
        parse_json(content)
