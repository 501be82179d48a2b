"""The sentencepiece models that we train: reading one from a stranger, and writing one with other pieces.

sentencepiece (0.2.3 and later) refuses damaged files itself. What is left to check is that a model has our special
symbols and bytes. The format is protobuf (https://protobuf.dev/programming-guides/encoding), its fields are those of
`sentencepiece_model.proto`.
"""

import struct
from collections.abc import Mapping

from sentencepiece import SentencePieceProcessor

from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, UNK

_SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
# The pieces that every vocabulary of ours begins with.
FIRST = (*_SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)))

_LARGEST_SCORE = 2.0**20  # sums of scores stay finite
_UNKNOWN, _CONTROL, _BYTE = 2, 3, 6
_KINDS = {"unigram": 1, "bpe": 2}


def load_model(content: bytes) -> SentencePieceProcessor:
    """The processor for the content of a file. Raises `RuntimeError` or `ValueError` unless we train such models."""
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(content)
    first, rest = range(len(FIRST)), range(len(FIRST), processor.GetPieceSize())
    if not rest or tuple(map(processor.IdToPiece, first)) != FIRST:
        raise ValueError("special symbols and bytes are not where ours are")
    ids = processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()
    if ids != (PAD, UNK, BOS, EOS) or not all(map(processor.IsByte, first[len(_SPECIAL) :])):
        raise ValueError("special symbols or bytes are of another type than ours")
    if any(processor.IsControl(index) or processor.IsByte(index) for index in rest):
        raise ValueError("a piece that is not a subword")
    scores = learned_scores(processor).values()  # raises a `ValueError` where a piece is not UTF-8
    if not all(abs(score) <= _LARGEST_SCORE for score in scores):
        raise ValueError("a score that is too large")
    if not (is_unigram(processor) or all(map(float.is_integer, scores))):
        raise ValueError("a score that is not the number of a merge")
    return processor


def learned_scores(processor: SentencePieceProcessor) -> dict[str, float]:
    """The subwords of a model with their scores, without special symbols and bytes."""
    return {processor.IdToPiece(i): processor.GetScore(i) for i in range(len(FIRST), processor.GetPieceSize())}


def is_unigram(processor: SentencePieceProcessor) -> bool:
    """Whether a model is of the kind `unigram`, else `bpe`."""
    try:
        processor.NBestEncode("a", nbest_size=2)
    except RuntimeError:  # sentencepiece says a model's kind nowhere else
        return False
    return True


def write_model(scores: Mapping[str, float], kind: str) -> bytes:
    """A `unigram` or `bpe` model with these subwords after the special symbols and bytes."""
    types = [_CONTROL, _UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256]
    pieces = [_piece(text, 0.0) + _number(3, piece_type) for text, piece_type in zip(FIRST, types, strict=True)]
    pieces += [_piece(text, score) for text, score in scores.items()]
    # The trainer's settings: kind, size, byte fallback, and the ids of <unk>, <s>, </s> and <pad>.
    settings = {3: _KINDS[kind], 4: len(pieces), 35: 1, 40: UNK, 41: BOS, 42: EOS, 43: PAD}
    trainer = b"".join(_number(field, value) for field, value in settings.items())
    normaliser = _bytes(1, b"identity") + _bytes(2, b"")
    return b"".join(_bytes(1, piece) for piece in pieces) + _bytes(2, trainer) + _bytes(3, normaliser)


def _piece(text: str, score: float) -> bytes:
    return _bytes(1, text.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", score)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes((*digits, value))
