"""A data file: what its name says, and its content, decompressed into the cache folder if necessary."""

import hashlib
import lzma
import os
import re
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from io import BufferedReader
from itertools import product
from pathlib import Path
from typing import Any

from transformer_mt.ground.cache import cache_folder, temporary_file
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import read_errors
from transformer_mt.ground.plugins import Reference, extensions
from transformer_mt.text.languages import LANGUAGES, code_of, language_of

_TABLES = ("tsv", "csv", "json", "jsonl", "parquet")

# A language with optional script and region: de, deu, pt_BR, en-US, zh-Hant-TW, es-419.
LANGUAGE_CODE = "[a-z]{2,3}(?:_[a-z]{2}|[-_](?:[A-Z]{2}|[A-Z][a-z]{3}|[0-9]{3}))*"
_DOCUMENTS = ("xlsx", "xls", "ods", "pdf", "docx", "doc", "odt")
# Extensions of files that OPUS and others put next to texts under the same name.
_NO_LANGUAGES = ("ids", "log", "xml", *_DOCUMENTS)
_DOTTED_PAIR = re.compile(rf"(.+)\.({LANGUAGE_CODE})-({LANGUAGE_CODE})")
# en-fr, en_fr, NAME_en-fr, english-to-french: no regions, because `_fr` could be one; `pt_br` is one language.
_LANGUAGE = rf"(?!(?:en_ca|fr_be|fr_ca|nl_be|pt_br|zh_tw)$)({'|'.join(LANGUAGES)})"
_LOOSE_PAIR = rf"(?i)(?:(.+?)[._-])??{_LANGUAGE}[_-](?:to[_-])?{_LANGUAGE}"  # compiled when needed: it is long
# newstest2014-deen-src.de, newstest2014-deen-ref.en
_JOINED_PAIR = re.compile(r"(.+)-([a-z]{2})([a-z]{2})(?:-(?:src|ref))?")

# Magic bytes of supported formats, and of others that are refused because `datasets` would unpack them.
_FIRST_BYTES = {
    ".gz": rb"\x1f\x8b",
    ".xz": rb"\xfd7zXZ\x00",
    ".zip": rb"PK(\x03\x04|\x05\x06)",
    ".bz2": rb"BZh[1-9](1AY&SY|\x17rE8P)",
    ".zst": rb"\x28\xb5\x2f\xfd",
}
# Unsupported by name (archives, other compression, documents), and the remedy.
_UNREAD = {
    r"tar(?:\.\w+)?|tgz|tbz2?|txz|zip|7z|rar|bz2|zst": "unpack it, and give the folder or the files in it",
    "|".join(_DOCUMENTS): "export as TSV, with source and target in two columns",
}
_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    ".gz": partial(zlib.decompressobj, wbits=31),
    ".xz": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ),
}
# Texts compress by a factor of 3 to 10. A file that grows by more than this is not a text.
_MOST_GROWTH = 100
_ALWAYS_ALLOWED = 2**26
_BLOCK = 2**12  # bytes; at most 28 MB when decompressed


def readers() -> dict[str, Reference]:
    """The formats that extensions read."""
    return {form: reader for one in extensions().values() for form, reader in one.readers.items()}


def tables() -> tuple[str, ...]:
    """The formats with both sides of a pair in one file, by the endings of their names."""
    return *_TABLES, *readers()


@dataclass(frozen=True)
class DataFile:
    """A file and what its name says: format, compression, languages, and the rest, such as `train`.

    `form` is one of `tables()`, optionally with two languages (`train.de-en.tsv`, `english-french.tsv`); `text`, in one
    language, the last part of the name; or `txt`, a text, or a tab-separated table if given on its own.
    """

    path: Path
    form: str
    compression: str
    languages: tuple[str, ...]
    stem: str

    @classmethod
    def named(cls, path: Path) -> "DataFile":
        """Parse the name of a file, without opening it."""
        compression = path.suffix if path.suffix in _DECOMPRESSORS else ""
        name = path.name.removesuffix(compression)
        form = next((form for form in (*tables(), "txt") if name.endswith(f".{form}")), "text")
        name = name.removesuffix(f".{form}")
        if form != "text" and (match := _DOTTED_PAIR.fullmatch(name) or re.fullmatch(_LOOSE_PAIR, name)):
            return cls(path, form, compression, tuple(map(code_of, match.groups()[1:])), match[1] or name)
        stem, _, language = name.rpartition(".")
        language = code_of(language)
        # The suffix of a text is its language if it looks like a code; a folder also needs a second language.
        is_language = re.fullmatch(LANGUAGE_CODE, language) and (stem or language_of(language))
        if form in tables() or language in _NO_LANGUAGES or not is_language:
            return cls(path, form, compression, (), name if form in tables() else stem or name)
        for pattern in (_DOTTED_PAIR, _JOINED_PAIR):  # corpus.de-en.de: both sides are `corpus`
            if (match := pattern.fullmatch(stem)) and language in match.groups()[1:]:
                stem = match[1]
        return cls(path, form, compression, (language,), stem)

    @property
    def identity(self) -> list[str]:
        """Strings that change whenever its pairs do."""
        return [self.form, *self.languages, digest_of(self.path) + self.compression]

    @cached_property
    def plain(self) -> Path:
        """The file itself, or a decompressed copy in the cache folder that is deleted with this object.

        Raises `InputError` if the content does not match the extension, is damaged, or unpacks to more than a text.
        """
        with regular(self.path) as raw:
            beginning = raw.peek(16)[:16]
            compression = next((suffix for suffix, magic in _FIRST_BYTES.items() if re.match(magic, beginning)), "")
            if compression != self.compression:
                kind = compression or f"not {self.compression}"
                raise InputError(self.path, f"{kind} by its first bytes", "decompress it or correct its name")
            if not compression:
                return self.path
            with cache_folder() as folder, ExitStack() as stack:
                file = stack.enter_context(temporary_file(folder))
                file.writelines(self._decompressed(raw))
                file.flush()
                weakref.finalize(self, stack.pop_all().close)
                return Path(file.name)

    def _decompressed(self, raw: BufferedReader) -> Iterator[bytes]:
        """Decompress all streams in it. Raises `InputError` for damage and for implausible growth."""
        limit = _ALWAYS_ALLOWED + _MOST_GROWTH * os.fstat(raw.fileno()).st_size
        size = 0
        stream = None
        try:
            while block := raw.read(_BLOCK):
                block = block if stream else block.lstrip(b"\0")
                while block:
                    stream = stream or _DECOMPRESSORS[self.compression]()
                    piece = stream.decompress(block)
                    size += len(piece)
                    if size > limit:
                        raise InputError(self.path, f"unpacks to more than {limit:,} bytes", "unpack it by hand")
                    yield piece
                    block = stream.unused_data.lstrip(b"\0")  # streams may be padded with zeros
                    stream = None if stream.eof else stream
            if stream:
                raise EOFError("it is truncated")
        except (EOFError, zlib.error, lzma.LZMAError) as error:
            problem = f"damaged {self.compression} ({str(error).rstrip('.')})"
            raise InputError(self.path, problem, "copy or download it again") from None


@contextmanager
def regular(path: Path) -> Iterator[BufferedReader]:
    """Open a file for reading. Raises `InputError` if it is not regular, `MachineError` if it cannot be read."""
    with read_errors(path):
        if not path.is_file():
            raise InputError(path, "not a regular file", "give one")
        with path.open("rb") as file:
            yield file


def refuse_unread(paths: Iterable[Path]) -> None:
    """Raise `InputError` for the first file that is an archive, a document or in an unsupported compression."""
    for path, (endings, remedy) in product(paths, _UNREAD.items()):
        if found := re.fullmatch(rf".+?(\.(?:{endings}))", path.name, re.IGNORECASE):
            raise InputError(path, f"{found[1]} is not supported", remedy)


def digest_of(path: Path) -> str:
    """The BLAKE2b digest of a file's bytes on disk."""
    with regular(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
