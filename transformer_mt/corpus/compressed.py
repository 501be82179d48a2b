"""Data files as streams of bytes: regular ones only, decompressed while they are read, and never without bound."""

import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from typing_extensions import Buffer, override

from transformer_mt.corpus.source import DataFile
from transformer_mt.errors import InputError, MachineError

# Texts shrink by a factor of 3 to 10. What grows by more than this is no text.
_MOST_GROWTH, _ALWAYS_ALLOWED = 100, 2**26
_XZ_MEMORY = 2**28  # bytes; the strongest preset needs a quarter
_PIECE = 2**16

_Read = Callable[[int], bytes]

_FIRST_BYTES = {
    ".gz": re.compile(rb"\x1f\x8b"),
    ".xz": re.compile(rb"\xfd7zXZ\x00"),
    ".zip": re.compile(rb"PK(\x03\x04|\x05\x06)"),
    ".bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P)"),
    ".zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}
_NAMES = {".gz": "gzip", ".xz": "xz", ".zip": "zip", ".bz2": "bzip2", ".zst": "Zstandard"}
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile, NotImplementedError)


@contextmanager
def opened(file: DataFile) -> Iterator[io.BufferedReader]:
    """The content of a data file, decompressed. Raises `InputError` for what is not what its name says."""
    path = file.path
    with ExitStack() as stack:
        raw = stack.enter_context(_regular(path))
        _require_as_named(file, raw.peek(16)[:16])
        if not file.compression:
            yield raw
            return
        limit = _ALWAYS_ALLOWED + _MOST_GROWTH * os.fstat(raw.fileno()).st_size
        if file.compression == ".gz":
            read: _Read = gzip.GzipFile(fileobj=raw).read
        elif file.compression == ".xz":
            read = _Xz(raw).read
        else:
            read = stack.enter_context(_only_member(path, raw)).read
        yield stack.enter_context(io.BufferedReader(_Bounded(read, file, limit), _PIECE))


def digest_of(path: Path) -> str:
    """The BLAKE2b of a file's bytes as they are on disk."""
    with _regular(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


@contextmanager
def _regular(path: Path) -> Iterator[io.BufferedReader]:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "a FIFO, a socket or a device"
            raise InputError(f"{path}: {kind}, where a file is expected; give a regular file")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise MachineError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None


def _require_as_named(file: DataFile, beginning: bytes) -> None:
    """Raise `InputError` where a file's first bytes are of another compression than its name says."""
    path = file.path
    found = next((suffix for suffix, first in _FIRST_BYTES.items() if first.match(beginning)), "")
    if found in (".bz2", ".zst"):
        raise InputError(f"{path}: {_NAMES[found]}, which tmt does not read; decompress it")
    if found and not file.compression:
        raise InputError(f"{path}: {_NAMES[found]} by its first bytes; name it {path.name}{found}")
    if found != file.compression:
        raise InputError(f"{path}: not {_NAMES[file.compression]} by its first bytes; give it the name of what it is")


class _Bounded(io.RawIOBase):
    """What a decompressor gives, up to a limit; damage is an `InputError`."""

    def __init__(self, read: _Read, file: DataFile, limit: int) -> None:
        self._read, self._file, self._left, self._limit = read, file, limit, limit

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        path = self._file.path
        try:
            piece = self._read(len(view))
        except _DAMAGE as error:
            reason = str(error).rstrip(".") or "it ends too early"
            name = _NAMES[self._file.compression]
            raise InputError(f"{path}: damaged {name} ({reason}); copy or download it again") from None
        self._left -= len(piece)
        if self._left < 0:
            raise InputError(
                f"{path}: unpacks to more than {self._limit:,} bytes, {_MOST_GROWTH} times its size and more, so no "
                "text; unpack it by hand if it is"
            )
        view[: len(piece)] = piece
        return len(piece)


class _Xz:
    """`lzma.LZMAFile` for reading, with a bound on the memory that the file may ask for."""

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw
        self._decompressor = self._new()

    @staticmethod
    def _new() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)

    def read(self, size: int, /) -> bytes:
        while True:
            if self._decompressor.eof:  # another stream may follow, and zeros between the two
                rest = (self._decompressor.unused_data or self._raw.read(_PIECE)).lstrip(b"\0")
                if not rest:
                    return b""
                self._decompressor, piece = self._new(), rest
            else:
                piece = self._raw.read(_PIECE) if self._decompressor.needs_input else b""
                if not piece and self._decompressor.needs_input:
                    raise EOFError
            if found := self._decompressor.decompress(piece, size):
                return found


@contextmanager
def _only_member(path: Path, raw: io.BufferedReader) -> Iterator[IO[bytes]]:
    """The one file in a zip archive; it is read, never extracted, so its name leads nowhere."""
    try:
        with zipfile.ZipFile(raw) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) != 1:
                names = ", ".join(member.filename for member in members[:4]) or "none"
                raise InputError(f"{path}: holds {len(members)} files ({names}), not one; zip each file by itself")
            name = PurePosixPath(members[0].filename.replace("\\", "/"))
            if name.is_absolute() or ".." in name.parts:
                raise InputError(f"{path}: names its file {name}, outside of where it is; zip the file anew")
            if members[0].flag_bits & 1:
                raise InputError(f"{path}: encrypted; unpack it by hand")
            with archive.open(members[0]) as member:
                yield member
    except _DAMAGE as error:
        raise InputError(f"{path}: damaged zip ({error}); copy or download it again") from None
