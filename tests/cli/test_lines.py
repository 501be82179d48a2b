import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from transformer_mt.cli.lines import LONGEST_SENTENCE, read_lines, read_records
from transformer_mt.cli.output_file import open_output
from transformer_mt.errors import InputError, MachineError


def write(path: Path, text: str = "new") -> None:
    with open_output(path) as write:
        write(text)


@pytest.fixture
def umask() -> Iterator[None]:
    """Whatever the person's own, new files here are for the owner and the group."""
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("mode", [0o600, 0o666, 0o751])
def test_the_output_keeps_the_mode_of_the_file_that_it_replaces(mode: int, workplace: Path) -> None:
    path = workplace / "out"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new\n", mode)


@pytest.mark.usefixtures("umask")
def test_a_new_output_has_the_mode_of_any_new_file(workplace: Path) -> None:
    write(workplace / "out")
    assert stat.S_IMODE((workplace / "out").stat().st_mode) == 0o640


@pytest.mark.parametrize("content", ["old", None])
def test_a_link_stays_and_what_it_points_to_is_replaced(content: str | None, workplace: Path) -> None:
    (workplace / "elsewhere").mkdir()
    target = workplace / "elsewhere/target"
    if content is not None:
        target.write_text(content)
    (workplace / "link").symlink_to("elsewhere/target")
    write(workplace / "link")
    assert os.readlink(workplace / "link") == "elsewhere/target"
    assert (target.read_text(), target.is_symlink()) == ("new\n", False)
    assert sorted(path.name for path in workplace.rglob("*")) == ["elsewhere", "link", "target"]


def test_links_in_a_circle_are_one_line(workplace: Path) -> None:
    (workplace / "link").symlink_to("link")
    with pytest.raises(MachineError, match=r"^link: cannot be written \(Too many levels of symbolic links\);"):
        write(Path("link"))


@pytest.mark.parametrize("is_link", [True, False])
def test_what_stands_under_the_temporary_name_is_not_touched(
    is_link: bool, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (workplace / "precious").write_text("precious")
    if is_link:
        (workplace / ".tmt-guessed").symlink_to("precious")
    else:
        (workplace / ".tmt-guessed").write_text("precious")
    with pytest.raises(MachineError, match=r"^out: cannot be written \(File exists\); check disk"):
        write(Path("out"))
    assert (workplace / "precious").read_text() == (workplace / ".tmt-guessed").read_text() == "precious"
    assert (workplace / ".tmt-guessed").is_symlink() is is_link


def test_several_writers_of_one_file_do_not_disturb_each_other(workplace: Path) -> None:
    path = workplace / "out"
    with open_output(path) as first, open_output(path) as second:
        first("first")
        second("second")
        first("first")
        assert not path.exists()
    assert path.read_text() == "first\nfirst\n"
    assert list(workplace.iterdir()) == [path]


@pytest.mark.parametrize("raised", [InputError("x: y; z"), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_error_leaves_the_old_output_and_nothing_else(raised: BaseException, workplace: Path) -> None:
    path = workplace / "out"
    path.write_text("old")
    with suppress(InputError, KeyboardInterrupt, MachineError), open_output(path) as output:
        output("half")
        raise raised
    assert path.read_text() == "old"
    assert list(workplace.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everything")
def test_a_file_that_may_not_be_written_is_not_replaced_either(workplace: Path) -> None:
    (workplace / "out").write_text("old")
    (workplace / "out").chmod(0o400)
    with pytest.raises(MachineError, match=r"^out: cannot be written \(Permission denied\)"):
        write(Path("out"))
    assert os.listdir() == ["out"]


def test_a_fifo_is_written_and_stays(workplace: Path) -> None:
    os.mkfifo(workplace / "fifo")
    read: list[str] = []
    reader = Thread(target=lambda: read.append((workplace / "fifo").read_text()))
    reader.start()
    write(workplace / "fifo")
    reader.join()
    assert read == ["new\n"]
    assert (workplace / "fifo").is_fifo()


def test_a_name_of_an_open_file_is_appended_to(workplace: Path) -> None:
    (workplace / "log").write_text("old\n")
    program = "from pathlib import Path; from transformer_mt.cli.output_file import open_output\n"
    program += "with open_output(Path('/dev/stdout')) as write: write('new')"
    with (workplace / "log").open("a") as log:
        subprocess.run([sys.executable, "-c", program], stdout=log, check=True)
    assert (workplace / "log").read_text() == "old\nnew\n"
    assert list(workplace.iterdir()) == [workplace / "log"]


def any_length(sentence: str, place: str) -> None:
    """A model that takes everything."""


def test_a_line_without_an_end_is_given_up_without_being_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.cli.lines.LONGEST_SKIPPED", 10 * LONGEST_SENTENCE)
    lines = read_lines(Path("/dev/zero")).lines
    with pytest.raises(InputError, match=r"^/dev/zero:1: more than 1,000,000 bytes in one line; give a file of text$"):
        list(lines)


@pytest.mark.parametrize("length", [LONGEST_SENTENCE, 2 * LONGEST_SENTENCE + 1, 5 * LONGEST_SENTENCE])
@pytest.mark.parametrize("end", [b"\n", b"\nafter\n"])
def test_a_line_that_is_too_long_is_named_and_skipped(length: int, end: bytes, workplace: Path) -> None:
    (workplace / "in").write_bytes(b"before\n" + b"a" * length + end)
    before, problem, *after = read_lines(Path("in")).lines
    assert (before, after) == ("before", ["after"] if len(end) > 1 else [])
    assert str(problem) == f"in:2: more than {LONGEST_SENTENCE:,} bytes in one line; split it"


def test_the_longest_line_is_one(workplace: Path) -> None:
    (workplace / "in").write_bytes(b"a" * (LONGEST_SENTENCE - 1) + b"\n")
    (line,) = read_lines(Path("in")).lines
    assert line == "a" * (LONGEST_SENTENCE - 1)


@pytest.mark.parametrize("value", ["[" * 50_000, "9" * 5_000])
def test_json_that_python_refuses_is_one_line(value: str, workplace: Path) -> None:
    (workplace / "in").write_text(f'{{"de": "ja", "x": {value}')
    (record,) = read_records(read_lines(Path("in")), any_length, as_json=True, language="de")
    assert str(record.problem).startswith("in:1: not valid JSON (")
