import io
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer

import pytest
from support.failing_disk import crash_everywhere

from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.ground.files import (
    LONGEST_LINE,
    bounded_lines,
    output_file,
    read_input,
    read_regular,
    require_directory,
    write_atomically,
    write_output,
)


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))  # socket paths must be short


@pytest.mark.parametrize(
    "make",
    [Path.mkdir, os.mkfifo, listen, *(lambda path, to=to: path.symlink_to(to) for to in ("/dev/zero", "whole", "no"))],
)
def test_reads_only_regular_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whole").write_bytes(b"whole")
    make(tmp_path / "file")
    for path in (tmp_path / "file", Path("/dev/zero")):
        with pytest.raises(MachineError, match=f"^{path}: not a regular file .links are refused.; restore it"):
            read_regular(path, limit=5)
    assert read_regular(tmp_path / "whole", limit=5) == b"whole"


def test_does_not_read_a_file_swapped_before_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"whole")
    real = os.open

    def exchanged(path: Path, flags: int) -> int:
        (tmp_path / "file").unlink()
        os.mkfifo(tmp_path / "file")
        return real(path, flags)

    monkeypatch.setattr(os, "open", exchanged)
    with pytest.raises(MachineError, match="not a regular file"):
        read_regular(tmp_path / "file", limit=5)


def test_refuses_a_file_over_the_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", limit=5) == b"12345"
    with pytest.raises(MachineError, match=r"file: 5 bytes, at most 4 expected; "):
        read_regular(tmp_path / "file", limit=4)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    for read in (lambda path: read_regular(path, limit=1), require_directory):
        with pytest.raises(MachineError, match=f"^{tmp_path}/file: missing; restore it or train again$"):
            read(tmp_path / "file")


def test_refuses_a_link_to_a_directory(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path)
    require_directory(tmp_path)
    with pytest.raises(MachineError, match="linked: not a directory"):
        require_directory(tmp_path / "linked")


def test_a_user_file_may_be_a_link_or_a_bounded_pipe(tmp_path: Path) -> None:
    (tmp_path / "whole").write_bytes(b"whole")
    (tmp_path / "link").symlink_to("whole")
    assert read_input(tmp_path / "link", limit=5, remedy="do this") == b"whole"
    for path, limit, problem in (
        (tmp_path / "link", 4, "more than 4 bytes; do this$"),
        (Path("/dev/zero"), 9, "more than 9 bytes; do this$"),
        (tmp_path / "none", 9, "no such file; do this$"),
        (tmp_path, 9, r"cannot be read \(Is a directory\)"),
    ):
        with pytest.raises(InputError, match=f"^{path}: {problem}"):
            read_input(path, limit=limit, remedy="do this")


def lines_of(content: bytes, limit: int = LONGEST_LINE) -> list[str]:
    """The lines, and the messages of those that are none."""
    lines = list(bounded_lines(io.BytesIO(content), name="x", limit=limit))
    assert [number for number, _ in lines] == list(range(1, len(lines) + 1))
    return [str(line) for _, line in lines]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_any_line_end_ends_a_line(end: bytes, bom: bytes) -> None:
    content = bom + b"one%%two\x00\xc2\x85%three".replace(b"%", end)
    for last in (b"", end):
        assert lines_of(content + last) == ["one", "", "two\x00\x85", "three"]
    assert lines_of(bom + b"one" + end) == ["one"]
    huge, bad = "x:2: more than 6 bytes in one line; split it", "x:3: not UTF-8 at byte 1; encode it as UTF-8"
    for length in (7, 11, 12, 13, 30):
        assert lines_of(end.join([b"ab", b"a" * length, b"a\xff", b"cd"]), limit=6) == ["ab", huge, bad, "cd"]


@pytest.mark.parametrize(
    ("content", "lines"), [(b"", []), (b"a\rb\nc\rd", ["a\rb", "c\rd"]), (b"a\r\rb", ["a", "", "b"])]
)
def test_a_carriage_return_ends_lines_only_without_newlines(content: bytes, lines: list[str]) -> None:
    assert lines_of(content) == lines
    assert lines_of(b"a" * 6 + b"\r\nb", limit=6) == ["x:1: more than 6 bytes in one line; split it", "b"]


def test_gives_up_on_a_file_without_line_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.ground.files.LONGEST_SKIPPED", 2 * LONGEST_LINE)
    with (
        open("/dev/zero", "rb") as zeros,
        pytest.raises(InputError, match=r"^x:1: no line break in 2,000,000 bytes"),
    ):
        next(bounded_lines(zeros, name="x"))
    endless = io.BytesIO(b"\0" * (LONGEST_LINE - 1) + b"\r" + b"\0" * 9 * LONGEST_LINE)
    with pytest.raises(InputError, match=r"^x:2: no line break in 2,000,000 bytes"):
        list(bounded_lines(endless, name="x"))
    assert endless.tell() < 5 * LONGEST_LINE


def test_a_crash_leaves_the_old_content_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def check() -> None:
        assert path.read_bytes() in (b"old", b"new")

    assert crash_everywhere(tmp_path, lambda: write_atomically(path, b"new"), check) >= 3
    assert path.read_bytes() == b"new"


def test_a_full_disk_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("name", ["file", ".file.new", ".file.old"])
def test_writing_does_not_follow_links(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / name).symlink_to(tmp_path / "mine")
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_leaves_a_taken_temporary_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.ground.files.secrets.token_hex", lambda _: "0" * 16)
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / f".file.{'0' * 16}.new").symlink_to(tmp_path / "mine")
    with pytest.raises(MachineError, match=r"file: cannot be written \(File exists\)"):
        write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "mine").read_bytes() == b"mine"
    assert (tmp_path / f".file.{'0' * 16}.new").is_symlink()


@pytest.fixture
def umask() -> Iterator[None]:
    """Let only owner and group read new files, whatever the user's umask."""
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("mode", [0o600, 0o666, 0o751])
def test_an_output_keeps_the_mode_of_the_old_file(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(mode)
    write_output(path, b"new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


def test_a_private_output_is_private_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").touch(mode=0o600)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)
    with output_file(tmp_path / "out"):
        assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.usefixtures("umask")
def test_a_new_output_follows_the_umask(tmp_path: Path) -> None:
    write_output(tmp_path / "out", b"new")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


@pytest.mark.parametrize("content", ["old", None])
def test_replaces_the_target_of_a_link(content: str | None, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere/target"
    if content is not None:
        target.write_text(content)
    (tmp_path / "link").symlink_to("elsewhere/target")
    write_output(tmp_path / "link", b"new")
    assert os.readlink(tmp_path / "link") == "elsewhere/target"
    assert (target.read_text(), target.is_symlink()) == ("new", False)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["elsewhere", "link", "target"]


@pytest.mark.parametrize(
    "raised", [InputError("x", "y", "z"), KeyboardInterrupt(), OSError(28, "No space left on device")]
)
def test_an_error_leaves_only_the_old_output(raised: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with suppress(InputError, KeyboardInterrupt, MachineError), output_file(path) as output:
        output.write(b"half")
        raise raised
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_output_cannot_be_a_loop_of_links(tmp_path: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / name).symlink_to(other)
    with pytest.raises(InputError, match="one: symbolic links form a loop; give another name"):
        write_output(tmp_path / "one", b"text")
    assert (tmp_path / "one").is_symlink()


def test_an_output_needs_a_directory_and_a_file_name(tmp_path: Path) -> None:
    for path, problem in (
        (tmp_path, "is a directory;"),
        (tmp_path / "none/out", f"{tmp_path}/none is not a directory;"),
    ):
        with pytest.raises(InputError, match=f"^{path}: {problem}"):
            write_output(path, b"")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_does_not_replace_a_read_only_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    (tmp_path / "out").chmod(0o400)
    with pytest.raises(MachineError, match=r"out: cannot be written \(Permission denied\)"):
        write_output(tmp_path / "out", b"new")
    assert os.listdir(tmp_path) == ["out"]


def test_writes_to_a_fifo_with_a_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    content = b"more than fits into it" * 10_000
    read: list[bytes] = []
    with open(os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK), "rb") as reading:
        os.set_blocking(reading.fileno(), True)
        reader = Timer(0.1, lambda: read.append(reading.read()))
        with output_file(tmp_path / "fifo") as writing:
            reader.start()
            writing.write(content)
        reader.join()
    assert read == [content]
    assert (tmp_path / "fifo").is_fifo()


def test_a_fifo_without_a_reader_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    problem = r"fifo: cannot be written \(No such device or address\); start its reader, or delete it$"
    with pytest.raises(MachineError, match=problem):
        write_output(tmp_path / "fifo", b"new")


def write_new(path: str, out: Path) -> bytes:
    """Write `new` to a path, in a process whose stdout is appended to `out`. Returns its stderr."""
    program = "from pathlib import Path; from transformer_mt.ground.files import write_output\n"
    program += f"write_output(Path({path!r}), b'new')"
    with out.open("a") as file:
        command = [sys.executable, "-c", program]
        return subprocess.run(command, stdout=file, stderr=subprocess.PIPE, cwd=out.parent, check=False).stderr


def test_refuses_the_file_of_standard_output(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("out")
    problem = b"InputError: link: standard output goes there too; give another name"
    assert problem in write_new("link", tmp_path / "out")


def test_appends_to_the_name_of_an_open_file(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("old\n")
    assert write_new("/dev/stdout", tmp_path / "log") == b""
    assert (tmp_path / "log").read_text() == "old\nnew"
    assert list(tmp_path.iterdir()) == [tmp_path / "log"]
