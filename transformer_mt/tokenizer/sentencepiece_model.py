"""A sentencepiece model read by ourselves: its own parser and its normaliser trust the file, and we do not.

What is read is written anew, and sentencepiece gets only that.

The format is protobuf (https://protobuf.dev/programming-guides/encoding), its fields are those of
`sentencepiece_model.proto`: a model has pieces (1), the trainer's settings (2) and the normaliser's (3); a piece has a
string (1), a score (2) and a type (3).
"""

import math
import struct
from collections.abc import Iterator

# How far sizes may go: the configuration has no larger vocabulary. sentencepiece learns no piece of more than 16
# characters, but words that are added whole may have 64 and the mark before them.
_MOST_PIECES = 1_000_000
_LONGEST_PIECE = 65
_LARGEST_SCORE = 2.0**20
_LONGEST_PART = 2**12

NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_SPECIAL = (("<pad>", _CONTROL), ("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL))
# The pieces that every vocabulary of ours begins with.
FIRST = (*_SPECIAL, *((f"<0x{byte:02X}>", _BYTE) for byte in range(256)))

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_PIECE, _TRAINER, _NORMALISER = 1, 2, 3
# The trainer's settings, by field: the kind; byte fallback and the numbers of <unk>, <s>, </s> and <pad>; whether the
# mark of a word stands at its end.
_KIND, UNIGRAM, _BPE = 3, 1, 2
_SETTINGS = {35: 1, 40: 1, 41: 2, 42: 3, 43: 0}
_MARK_AT_END = 24
# The normaliser's: its name and its tables, of which ours has none; and three steps that are taken unless it says not.
_NAME, _TABLES, _STEPS = 1, (2, 6), (3, 4, 5)

Value = int | bytes
# Text, score and type.
Piece = tuple[str, float, int]


def rewritten(content: bytes) -> bytes:
    """The model that a file holds, with nothing in it but what was understood and is as we train it.

    It segments every text as the file would. Raises `ValueError` with the reason for any other file.
    """
    return write_model(*read_model(content))


def read_model(content: bytes) -> tuple[list[Piece], int]:
    """The pieces of a model and its kind, checked as `rewritten` does."""
    pieces, kind = _read_fields(content)
    _check(pieces, kind)
    return pieces, kind


def write_model(pieces: list[Piece], kind: int) -> bytes:
    """A model of this kind with these pieces."""
    settings = {_KIND: kind, 4: len(pieces), **_SETTINGS}
    trainer = b"".join(_varint(field << 3) + _varint(value) for field, value in settings.items())
    body = b"".join(_field(_PIECE, _written(*piece)) for piece in pieces)
    return body + _field(_TRAINER, trainer) + _field(_NORMALISER, _field(_NAME, b"identity") + _field(_TABLES[0], b""))


def _read_fields(content: bytes) -> tuple[list[Piece], int]:
    """The pieces, each with score and type, and the kind of the model: 1 is unigram, 2 BPE."""
    pieces: list[Piece] = []
    parts: dict[int, bytes] = {}
    for field, value in _fields(content):
        if not isinstance(value, bytes) or field not in (_PIECE, _TRAINER, _NORMALISER) or field in parts:
            raise ValueError(f"field {field} is not of ours")
        if len(value) > _LONGEST_PART:
            raise ValueError(f"{len(value)} bytes in field {field}")
        if field != _PIECE:
            parts[field] = value
        elif len(pieces) < _MOST_PIECES:
            pieces.append(_read_piece(value))
        else:
            raise ValueError(f"more than {_MOST_PIECES} pieces")
    trainer, normaliser = (dict(_fields(parts.get(part, b""))) for part in (_TRAINER, _NORMALISER))
    kind = trainer.get(_KIND)
    if kind not in (UNIGRAM, _BPE) or any(trainer.get(field) != value for field, value in _SETTINGS.items()):
        raise ValueError("not the kind, byte fallback or special symbols of ours")
    if normaliser.get(_NAME) != b"identity" or any(normaliser.get(field) for field in _TABLES):
        raise ValueError("a normaliser, where ours has none")
    if trainer.get(_MARK_AT_END, 0) or not all(normaliser.get(field, 1) == 1 for field in _STEPS):
        raise ValueError("spaces are not treated as ours")
    return pieces, kind


def _read_piece(content: bytes) -> Piece:
    found: dict[int, Value] = {}
    for field, value in _fields(content):
        if field in found or field not in (1, 2, 3):
            raise ValueError("a piece has unknown fields")
        found[field] = value
    text, score, kind = found.get(1), found.get(2), found.get(3, NORMAL)
    if not (isinstance(text, bytes) and isinstance(score, bytes) and len(score) == 4 and isinstance(kind, int)):
        raise ValueError("a piece is not text, score and type")
    return text.decode("utf-8"), struct.unpack("<f", score)[0], kind


def _check(pieces: list[Piece], kind: int) -> None:
    """Raise `ValueError` unless the pieces are special symbols, bytes and subwords, as we train them."""
    if tuple((text, kind) for text, _, kind in pieces[: len(FIRST)]) != FIRST:
        raise ValueError("special symbols and bytes are not where ours are")
    subwords = pieces[len(FIRST) :]
    if any(form != NORMAL or not 0 < len(text) <= _LONGEST_PIECE or "\0" in text for text, _, form in subwords):
        raise ValueError("a piece that is no subword")
    if not all(math.isfinite(score) and abs(score) <= _LARGEST_SCORE for _, score, _ in pieces):
        raise ValueError("a score that is no number of ours")
    if kind == _BPE and not all(score.is_integer() for _, score, _ in subwords):  # the number of a merge
        raise ValueError("a score that numbers no merge")
    if len({text for text, _, _ in pieces}) != len(pieces):
        raise ValueError("a piece comes twice")


def _written(text: str, score: float, kind: int) -> bytes:
    piece = _field(1, text.encode()) + _varint(2 << 3 | _FIXED32) + struct.pack("<f", score)
    return piece if kind == NORMAL else piece + _varint(3 << 3) + _varint(kind)


def _fields(content: bytes) -> Iterator[tuple[int, Value]]:
    """Number and value of each field of a message. Raises `ValueError` for what is cut off or of another form."""
    place = 0
    while place < len(content):
        tag, place = _read_varint(content, place)
        wire = tag & 7
        if wire == _VARINT:
            value, place = _read_varint(content, place)
            yield tag >> 3, value
            continue
        if wire == _BYTES:
            size, place = _read_varint(content, place)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise ValueError("no protobuf")
        if size > len(content) - place:
            raise ValueError("cut off")
        yield tag >> 3, content[place : place + size]
        place += size


def _read_varint(content: bytes, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    number = shift = 0
    for byte in content[place : place + 10]:
        number |= (byte & 127) << shift
        shift += 7
        place += 1
        if byte < 128:
            return number, place
    raise ValueError("a number without an end")


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes((*found, number))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content
