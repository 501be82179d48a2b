"""File access: bounded reads and atomic writes.

Files of a run may come from a stranger, so `read_regular` follows no links and waits for no pipes. Files that a person
names, via `read_input` and `output_file`, may be links and pipes. A new file is written under a random temporary name,
flushed and renamed: a crash leaves the old content or the new, and a link planted at either name is never followed.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from typing import IO, BinaryIO

from transformer_mt.ground.errors import InputError, MachineError

# Never wait for a FIFO or follow a link. Some systems lack some of the flags.
OPEN_FLAGS = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
# Limits in bytes: the longest line (a sentence has some hundred), and how far to look for a line break.
LONGEST_LINE = 1_000_000
LONGEST_SKIPPED = 100_000_000

# Temporary files and directories in use, to delete if the process exits without unwinding the stack.
unfinished: set[Path] = set()

_TEMPORARY = re.compile(r"\A\.(.+)\.[0-9a-f]{16}\.new\Z")
_DEVICES = (Path("/dev"), Path("/dev/fd"))  # on macOS, the second is not a link into /proc
_REMEDY = "restore it or train again"


def read_regular(path: Path, *, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes. Raises `MachineError` for anything else."""
    with read_errors(path):
        _require_regular(path, os.lstat(path), limit)
        with os.fdopen(os.open(path, os.O_RDONLY | OPEN_FLAGS), "rb") as file:
            status = os.fstat(file.fileno())
            _require_regular(path, status, limit)  # the file may have been swapped in between
            return file.read(min(status.st_size, limit))  # `read(limit)` would allocate `limit` bytes


def size_of(path: Path) -> int:
    """The size of a regular file in bytes. Raises `MachineError` for anything else."""
    with read_errors(path):
        status = os.lstat(path)
        _require_regular(path, status, sys.maxsize)
        return status.st_size


def require_own(path: Path, status: os.stat_result) -> None:
    """Raise `MachineError` unless the file, to be written in place, is regular and has a single name."""
    if not (stat.S_ISREG(status.st_mode) and status.st_nlink == 1):
        raise MachineError(path, "is a link or not a regular file", "delete it")


def require_directory(path: Path) -> None:
    """Raise `MachineError` unless `path` is a directory and not a link to one."""
    with read_errors(path):
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise MachineError(path, "not a directory (links are refused)", _REMEDY)


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Inside, a file that cannot be read raises `MachineError`, not `OSError`."""
    try:
        yield
    except FileNotFoundError:
        raise MachineError(path, "missing", _REMEDY) from None
    except OSError as error:
        raise MachineError(path, f"cannot be read ({error.strerror})", "check its permissions") from None


def _require_regular(path: Path, status: os.stat_result, limit: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise MachineError(path, "not a regular file (links are refused)", _REMEDY)
    if status.st_size > limit:
        raise MachineError(path, f"{status.st_size} bytes, at most {limit} expected", _REMEDY)


def read_input(path: Path, *, limit: int, remedy: str) -> bytes:
    """Read a user's file or pipe. Raises `InputError` if it is missing, unreadable or over `limit` bytes."""
    with input_errors(path, remedy), path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise InputError(path, f"more than {limit} bytes", remedy)
    return content


@contextmanager
def input_errors(path: Path, remedy: str) -> Iterator[None]:
    """Inside, a file that a person names and that cannot be read raises `InputError`, not `OSError`."""
    try:
        yield
    except (FileNotFoundError, ValueError):  # ValueError: a name that no file can have
        raise InputError(path, "no such file", remedy) from None
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "check the path and its permissions") from None


def bounded_lines(
    file: IO[bytes] | BufferedIOBase, *, name: str, limit: int = LONGEST_LINE
) -> Iterator[tuple[int, str | InputError]]:
    """Yield the numbered lines of a text, from 1, without byte-order mark and line ends.

    A line of more than `limit` bytes, or not UTF-8, is replaced by an `InputError`. Lines end at `\\n` or `\\r\\n`, or
    at `\\r` if the text begins with `limit` bytes that have no other line end. Raises `InputError` if a line does not
    end within `LONGEST_SKIPPED` bytes, and `MachineError` if reading fails.
    """
    number, size = 1, 0
    try:
        for part in _parts(file, limit):
            place = f"{name}:{number}"
            size += len(part)
            if size > LONGEST_SKIPPED:
                raise InputError(place, f"no line break in {LONGEST_SKIPPED:,} bytes", "give a text file")
            if size and (part.endswith(b"\n") or len(part) <= limit):
                line: str | InputError = InputError(place, f"more than {limit:,} bytes in one line", "split it")
                if size <= limit:
                    try:
                        line = decoded(part, place)
                    except InputError as error:
                        line = error
                yield number, line
                number, size = number + 1, 0
    except OSError as error:
        raise MachineError(name, f"cannot be read ({error.strerror})", "check where it comes from") from None


def _parts(file: IO[bytes] | BufferedIOBase, limit: int) -> Iterator[bytes]:
    """Yield lines with `\\n` at their ends, of overlong ones parts of more than `limit` bytes, and `b""` at the end."""
    part = file.readline(limit + 1)
    if b"\r" not in part[:-1] or part.endswith(b"\n"):
        yield part
        yield from iter(partial(file.readline, limit + 1), b"")
        part = b""
    rest = b""
    while part:
        *lines, rest = (rest + part).split(b"\r")
        yield from (line + b"\n" for line in lines)
        if len(rest) > limit:
            yield rest
            rest = b""
        part = file.read(limit)
    yield rest


def decoded(text: bytes, place: str | Path) -> str:
    """A text without byte-order mark and the last line end. Raises `InputError` with the place if it is not UTF-8."""
    try:
        return text.decode().removeprefix("\ufeff").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InputError(place, f"not UTF-8 at byte {error.start}", "encode it as UTF-8") from None


def in_utf8(text: str, place: str | Path) -> str:
    """The text. Raises `InputError` with the place if it has lone surrogates, as a path may: no file can hold it."""
    decoded(text.encode(errors="surrogatepass"), place)
    return text


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file atomically: a crash leaves the old content or the new."""
    with replacing(path) as file:
        file.write(content)


def new_file(path: Path, mode: int = 0o644) -> BinaryIO:
    """Create a file, failing if it exists. By default, only the owner may write it, even under a lax umask."""
    return open(path, "xb", opener=partial(os.open, mode=mode))


@contextmanager
def replacing(path: Path, *, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Yield a new file that replaces `path`, or the link there, if the block ends without an error."""
    temporary = temporary_name(path)
    with write_errors(path):
        file = new_file(temporary, mode)
        unfinished.add(temporary)
        try:
            with file:
                yield file
                flush(file)
            rename(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
            unfinished.discard(temporary)
        flush_directory(path.parent)


@contextmanager
def output_file(path: Path) -> Iterator[BinaryIO]:
    """Open the user's output file. Pipes and devices are appended to; a link's target is replaced.

    Raises `InputError` for a directory, a missing parent and the file of standard output, `MachineError` if writing
    fails.
    """
    if path.is_dir():
        raise InputError(path, "is a directory", "give the name of a file")
    if not path.parent.is_dir():
        raise InputError(path, f"{path.parent} is not a directory", "make it, or write elsewhere")
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise InputError(path, "symbolic links form a loop", "give another name")
    with write_errors(path):
        exists = path.exists()
        folder = path.parent.resolve()
        mode = 0o666
        if (exists and not path.is_file()) or folder in _DEVICES or folder.is_relative_to("/proc"):
            # Without O_NONBLOCK, opening a FIFO waits for its reader.
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)), "ab") as file:
                if sys.platform != "win32":
                    os.set_blocking(file.fileno(), True)
                yield file
            return
        if exists:
            path.open("r+b").close()  # do not replace a read-only file
            if sys.stdout and os.path.samestat(path.stat(), os.fstat(1)):
                raise InputError(path, "standard output goes there too", "give another name")
            mode = stat.S_IMODE(path.stat().st_mode)
        with replacing(target, mode=mode) as file:
            if exists:  # undo the umask
                Path(file.name).chmod(mode)
            yield file


def write_output(path: Path, content: bytes) -> None:
    """Write the user's output file in one go; see `output_file`."""
    with output_file(path) as file:
        file.write(content)


def make_directory(path: Path) -> None:
    """Make a directory and its missing parents, and flush their entries to disk."""
    missing = [directory for directory in (path, *path.parents) if not directory.exists()]
    for directory in reversed(missing):
        directory.mkdir(0o755, exist_ok=True)
        flush_directory(directory.parent)


def write_directory(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a directory under a temporary name, flush it, and swap it in for the existing one.

    A crash leaves the old directory, the new one, or the old one at `set_aside(path)`, and sometimes a temporary one.
    """
    temporary = temporary_name(path)
    old = set_aside(path)
    with write_errors(path):
        temporary.mkdir(0o755)
        unfinished.add(temporary)
        try:
            for name, content in files.items():
                with new_file(temporary / name) as file:
                    file.write(content)
                    flush(file)
            flush_directory(temporary)
            if os.path.lexists(path):  # no system replaces a directory atomically
                remove(old)
                rename(path, old)
            rename(temporary, path)
        finally:
            unfinished.discard(temporary)
            if os.path.lexists(old) and not os.path.lexists(path):
                rename(old, path)
            remove(temporary)
        flush_directory(path.parent)
        remove(old)


def remove(path: Path) -> None:
    """Delete a file, a directory with its content, or a link. Do nothing if it does not exist."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def rename(path: Path, to: Path) -> None:
    """Rename a file or a directory. Retries on Windows, where open files cannot be renamed."""
    for pause in (0.1, 0.4, 1.5) if sys.platform == "win32" else ():
        with suppress(PermissionError):
            path.replace(to)
            return
        time.sleep(pause)
    path.replace(to)


def temporary_name(path: Path) -> Path:
    """An unpredictable name in the same directory; `original_name` inverts it."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")


def original_name(name: str) -> str:
    """The name that a temporary name was made from; any other name is returned unchanged."""
    return _TEMPORARY.sub(r"\1", name)


def set_aside(path: Path) -> Path:
    """The name that a directory has while its replacement is renamed."""
    return path.with_name(f".{path.name}.old")


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn a failure to write `path` into a `MachineError` with the reason."""
    try:
        yield
    except RecursionError:  # raised by `shutil.rmtree`
        raise MachineError(path, "holds directories too deep to delete", "delete it by hand") from None
    except OSError as error:
        remedy = "start its reader, or delete it" if error.errno == errno.ENXIO else "check disk space and permissions"
        raise MachineError(path, f"cannot be written ({error.strerror})", remedy) from None


def flush(file: BinaryIO) -> None:
    """Flush a file to disk."""
    file.flush()
    os.fsync(file.fileno())


def flush_directory(path: Path) -> None:
    """Flush the entries of a directory to disk."""
    if os.name != "posix":  # Windows cannot open directories
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
