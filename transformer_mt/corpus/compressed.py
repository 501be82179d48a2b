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
from functools import partial
from pathlib import Path

from typing_extensions import Buffer, override

from transformer_mt.corpus.source import DataFile
from transformer_mt.errors import InputError, MachineError

# Texts shrink by a factor of 3 to 10. A file that grows by more than this is no text.
_MOST_GROWTH, _ALWAYS_ALLOWED = 100, 2**26
_BLOCK = 2**16

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
        compression = _compression(file, raw.peek(16)[:16])
        yield io.BufferedReader(_Pieces(_unpacked(raw, file.path, compression)), _BLOCK) if compression else raw


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
    compression = next((name for name, magic in _MAGIC.items() if magic.match(beginning)), "")
    if compression and compression not in _SUFFIXES:
        raise InputError(f"{path}: {compression}, which tmt does not read; decompress it")
    if compression and not file.compression:
        raise InputError(f"{path}: {compression} by its first bytes; name it {path.name}{_SUFFIXES[compression]}")
    if _SUFFIXES.get(compression, "") != file.compression:
        raise InputError(f"{path}: not {file.compression} by its first bytes; give it the name of what it is")
    return compression


def _unpacked(raw: io.BufferedReader, path: Path, compression: str) -> Iterator[bytes]:
    """The decompressed pieces. Raises `InputError` for damage, and for more than a text would grow to."""
    limit, size = _ALWAYS_ALLOWED + _MOST_GROWTH * os.fstat(raw.fileno()).st_size, 0
    try:
        for piece in _xz(raw) if compression == "xz" else iter(partial(gzip.GzipFile(fileobj=raw).read1, _BLOCK), b""):
            size += len(piece)
            if size > limit:
                raise InputError(
                    f"{path}: unpacks to more than {limit:,} bytes, {_MOST_GROWTH} times its size and more, so no "
                    "text; unpack it by hand if it is"
                )
            yield piece
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        problem = f"damaged {compression} ({str(error).rstrip('.')})"
        raise InputError(f"{path}: {problem}; copy or download it again") from None


def _xz(raw: io.BufferedReader) -> Iterator[bytes]:
    """All streams of an .xz file; `lzma.open` silently ends where padding or garbage follows one."""
    block = raw.read(_BLOCK)
    while block:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not stream.eof:
            yield stream.decompress(block, _BLOCK)
            block = raw.read(_BLOCK) if stream.needs_input and not stream.eof else b""
            if stream.needs_input and not (block or stream.eof):
                raise EOFError("it ends before its end-of-stream marker")
        block = stream.unused_data
        while not (block := block.lstrip(b"\0")) and (block := raw.read(_BLOCK)):
            pass  # padding between streams


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file."""

    mode = "rb"

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        while not self._rest:
            if (piece := next(self._pieces, None)) is None:
                return 0
            self._rest = piece
        taken, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(taken)] = taken
        return len(taken)
