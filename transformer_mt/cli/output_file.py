"""Files that a person asks a command to write: they appear under their name once everything is in them."""

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from transformer_mt.cli.signals import removed_on_signals
from transformer_mt.errors import InputError, MachineError


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], None]]:
    """What writes a line to stdout or to a file."""
    if path is None:
        yield lambda line: print(line, flush=True)  # a signal ends the process without another chance
        return
    with _output(path) as file:
        yield lambda line: file.writelines((f"{line}\n".encode(),))


def write_output(path: Path, content: bytes) -> None:
    """Write a whole file."""
    with _output(path) as file:
        file.write(content)


@contextmanager
def _output(path: Path) -> Iterator[BinaryIO]:
    if path.is_dir():
        raise InputError(f"{path}: is a directory; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: {path.parent} is no directory; make it, or write elsewhere")
    try:
        with _opened(path) as file:
            yield file
    except OSError as error:
        raise MachineError(f"{path}: cannot be written ({error.strerror}); check disk space and permissions") from None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file itself where it cannot be replaced; else a new one beside it that replaces it in the end.

    What a link points to is replaced, and keeps its mode. Nobody can have put anything under the new one's name.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and (not stat.S_ISREG(mode) or _is_descriptor(path)):
        with path.open("ab") as file:
            yield file
        return
    target = path.resolve()
    temporary = target.with_name(f".tmt-{secrets.token_hex(8)}")
    permissions = 0o666 if mode is None else stat.S_IMODE(mode)
    with removed_on_signals(temporary):
        file = open(  # noqa: SIM115 - what is in the way of its name is not ours to remove
            temporary, "xb", opener=lambda name, flags: os.open(name, flags, permissions)
        )
        try:
            with file:
                if mode is not None:  # the opener has left out what the umask forbids
                    target.open("r+b").close()  # what may not be written is not replaced either
                    os.chmod(file.fileno() if os.chmod in os.supports_fd else temporary, permissions)
                yield file
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def _is_descriptor(path: Path) -> bool:
    """Whether this is another name of an open file, such as `/dev/stdout`, which may be one to append to."""
    parent = path.parent.resolve()
    return parent == Path("/dev") or parent.is_relative_to("/proc")
