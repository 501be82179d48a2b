"""Data files as streams of bytes: regular files only, decompressed while they are read, and never without bound."""

import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from typing_extensions import Buffer, override

from transformer_mt.corpus.source import DataFile
from transformer_mt.errors import InputError, MachineError

# Texts shrink by a factor of 3 to 10. A file that grows by more than this is no text.
_MOST_GROWTH, _ALWAYS_ALLOWED = 100, 2**26

_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zip": re.compile(rb"PK(\x03\x04|\x05\x06)"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P)"),
    "Zstandard": re.compile(rb"\x28\xb5\x2f\xfd"),
}
_SUFFIXES = {"gzip": ".gz", "xz": ".xz"}


@contextmanager
def opened(file: DataFile) -> Iterator[io.BufferedIOBase]:
    """The content of a data file, decompressed. Raises `InputError` for a file that is not what its name says."""
    with _regular(file.path) as raw:
        name = _compression(file, raw.peek(16)[:16])
        if not name:
            yield raw
            return
        limit = _ALWAYS_ALLOWED + _MOST_GROWTH * os.fstat(raw.fileno()).st_size
        with gzip.GzipFile(fileobj=raw) if name == "gzip" else lzma.LZMAFile(raw) as unpacked:
            yield io.BufferedReader(_Bounded(unpacked, file.path, name, limit), 2**16)


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


def _compression(file: DataFile, beginning: bytes) -> str:
    """The compression by a file's first bytes. Raises `InputError` where its name says another."""
    path = file.path
    found = next((name for name, magic in _MAGIC.items() if magic.match(beginning)), "")
    if found and found not in _SUFFIXES:
        raise InputError(f"{path}: {found}, which tmt does not read; decompress it")
    if found and not file.compression:
        raise InputError(f"{path}: {found} by its first bytes; name it {path.name}{_SUFFIXES[found]}")
    if _SUFFIXES.get(found, "") != file.compression:
        raise InputError(f"{path}: not {file.compression} by its first bytes; give it the name of what it is")
    return found


class _Bounded(io.RawIOBase):
    """The output of a decompressor up to a limit; damage is an `InputError`."""

    def __init__(self, unpacked: gzip.GzipFile | lzma.LZMAFile, path: Path, name: str, limit: int) -> None:
        self._unpacked, self._path, self._name, self._limit, self._read = unpacked, path, name, limit, 0

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        try:
            piece = self._unpacked.read(len(view))
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            problem = f"damaged {self._name} ({str(error).rstrip('.')})"
            raise InputError(f"{self._path}: {problem}; copy or download it again") from None
        self._read += len(piece)
        if self._read > self._limit:
            raise InputError(
                f"{self._path}: unpacks to more than {self._limit:,} bytes, {_MOST_GROWTH} times its size and more, so "
                "no text; unpack it by hand if it is"
            )
        view[: len(piece)] = piece
        return len(piece)
