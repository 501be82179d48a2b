"""Packed runs: what translation and views need, in one zip file. It is read in memory and never unpacked to disk.

config.toml, tokenizer.model, words.tsv, alignment.json, doubt.json, metrics.jsonl    as in the run
model.safetensors    the weights to use, in float32 or bfloat16
progress.json        the progress of training
README.md            the model card
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.ground.files import read_regular, size_of
from transformer_mt.ground.memory import free_memory, require

CARD = "README.md"
PROGRESS = "progress.json"
MEMBERS = (
    CARD, PROGRESS, "config.toml", "tokenizer.model", "words.tsv", "alignment.json", "doubt.json", "metrics.jsonl",
    "model.safetensors",
)  # fmt: skip

_MAGIC = b"PK\x03\x04"
_REMEDY = "pack the run again"
# The record at the end of a zip file without comment: signature, disks, entries, size and place of the directory.
_END = struct.Struct("<4s4H2LH")
_MOST_DIRECTORY_BYTES = 2**12
_ENCRYPTED = 1


class Pack:
    """The members of a packed run, by name. Untrusted: every size is bounded before anything is read."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises `InputError` if it is not a zip file, `MachineError` if it is damaged."""
        self.path = path
        place = path.resolve()  # the file may be a link, because a person named it
        size = size_of(place)
        require(size, free_memory, what=str(path), remedy="use a machine with more")
        content = read_regular(place, limit=size)
        if not content.startswith(_MAGIC):
            raise InputError(path, "neither a run directory nor a packed run", "give one of these")
        with self._checked():
            _require_short_directory(content)
            self._archive = ZipFile(BytesIO(content))
            entries = self._archive.infolist()
            self._members = {entry.filename: entry for entry in entries}
            names = self._members.keys()
            if len(names) != len(entries) or not {"config.toml"} <= names <= set(MEMBERS):
                raise BadZipFile
            if any(e.flag_bits & _ENCRYPTED or e.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for e in entries):
                raise BadZipFile

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def size(self, name: str) -> int:
        """The size of a member in bytes. Raises `MachineError` if it is missing."""
        if name not in self:
            raise MachineError(self.path / name, "missing", _REMEDY)
        return self._members[name].file_size

    def read(self, name: str, *, limit: int) -> bytes:
        """The content of a member. Raises `MachineError` if it is missing, damaged or longer than `limit` bytes."""
        if self.size(name) > limit:
            raise MachineError(self.path / name, f"more than {limit:,} bytes", _REMEDY)
        with self._checked():
            return self._archive.read(name)  # reads no more than that size, and compares the CRC

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (BadZipFile, zlib.error, struct.error, EOFError, LookupError, NotImplementedError, OSError, RuntimeError,
                ValueError):  # fmt: skip
            raise MachineError(self.path, "damaged or not a packed run", _REMEDY) from None


def packed(members: Mapping[str, bytes]) -> bytes:
    """A zip file with these members. The same members give the same bytes."""
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        for name, content in members.items():
            entry = ZipInfo(name)  # dated 1980
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return file.getvalue()


def _require_short_directory(content: bytes) -> None:
    """Raise `BadZipFile` unless the file ends with a plain record of a short directory, which `ZipFile` then reads."""
    signature, *_, entries, size, _, comment = _END.unpack(content[-_END.size :])
    is_plain = signature == b"PK\x05\x06" and not comment and content[-_END.size - 20 :][:4] != b"PK\x06\x07"
    if not (is_plain and entries <= len(MEMBERS) and size <= _MOST_DIRECTORY_BYTES):
        raise BadZipFile
