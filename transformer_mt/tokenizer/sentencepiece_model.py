"""The sentencepiece models of tmt: reads untrusted files, writes models, with whole words if they are unigram.

sentencepiece (0.2.3 and later) rejects damaged files itself. It remains to check that a model has tmt's special symbols
and bytes. The format is protobuf (https://protobuf.dev/programming-guides/encoding) with the fields of
`sentencepiece_model.proto`.

The most frequent words are one token each, to keep attention matrices readable. They are ordinary tokens: a longer word
that starts with one is still segmented as the model finds best.
"""

import math
import re
import struct
from collections.abc import Mapping, Sequence

from sentencepiece import SentencePieceProcessor

from transformer_mt.ground.errors import InputError
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, UNK

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")
# The first tokens of every vocabulary.
FIRST = (*SPECIAL_TOKENS, *(f"<0x{byte:02X}>" for byte in range(256)))

# The tag of a target language, `<2fr>`, or of a corpus, `<#bt>`. No text can produce it.
_TAG = re.compile(r"<[2#]\S{1,100}>")
_LARGEST_SCORE = 2.0**20  # sums of scores stay finite
_UNKNOWN = 2
_CONTROL = 3
_BYTE = 6
_KINDS = {"unigram": 1, "bpe": 2}
# A whole word scores at least this much more than the sum of its parts.
_MARGIN = 0.1

PieceScores = dict[str, float]
# What the sources of a corpus start with: its target language, and the name of its own tag, if any.
Start = tuple[str, str]


def load_model(content: bytes) -> SentencePieceProcessor:
    """Load a model file. Raises `RuntimeError` or `ValueError` unless it is a model as tmt trains them."""
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(content)
    first = range(len(FIRST))
    rest = range(len(FIRST), processor.GetPieceSize())
    ids = processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()
    if not rest or tuple(map(processor.IdToPiece, first)) != FIRST or ids != (PAD, UNK, BOS, EOS):
        raise ValueError("special symbols and bytes are not where tmt has them")
    are_bytes = all(map(processor.IsByte, first[len(SPECIAL_TOKENS) :]))
    tags = tags_of(processor)
    are_tags = [*tags.values()] == [*rest][len(rest) - len(tags) :] and all(
        map(_TAG.fullmatch, tags)
    )  # the last tokens
    if not are_bytes or not are_tags or any(map(processor.IsByte, rest)):
        raise ValueError("a token has another type than in tmt's models")
    scores = learned_scores(processor).values()  # raises `ValueError` if a token is not UTF-8
    are_small = all(abs(score) <= _LARGEST_SCORE for score in scores)
    if not are_small or not (is_unigram(processor) or all(map(float.is_integer, scores))):
        raise ValueError("a score that sentencepiece never assigns")
    return processor


def learned_scores(processor: SentencePieceProcessor) -> PieceScores:
    """The tokens of a model with their scores, without special symbols, bytes and tags."""
    rest = range(len(FIRST), processor.GetPieceSize())
    return {processor.IdToPiece(i): processor.GetScore(i) for i in rest if not processor.IsControl(i)}


def tags_of(processor: SentencePieceProcessor) -> dict[str, int]:
    """The ids of the tags."""
    rest = range(len(FIRST), processor.GetPieceSize())
    return {processor.IdToPiece(i): i for i in rest if processor.IsControl(i)}


def language_tag(language: str) -> str:
    """The tag of sources to translate into a language (Johnson et al. 2017, §3)."""
    return f"<2{language}>"


def corpus_tag(name: str) -> str:
    """The tag of sources from one corpus, such as back-translations (Caswell et al. 2019, §2)."""
    return f"<#{name}>"


def needed_tags(starts: Sequence[Start]) -> list[str]:
    """The tags of the target languages of corpora, if there are several, and of the corpora."""
    languages = dict.fromkeys(language_tag(language) for language, _ in starts)
    own = dict.fromkeys(corpus_tag(name) for _, name in starts if name)
    return [*(languages if len(languages) > 1 else ()), *own]


def is_unigram(processor: SentencePieceProcessor) -> bool:
    """True for a `unigram` model, False for `bpe`."""
    try:
        processor.NBestEncode("a", nbest_size=2)
    except RuntimeError:  # sentencepiece exposes the kind of a model nowhere else
        return False
    return True


def with_whole_words(model: bytes, words: Mapping[str, float], *, size: int) -> bytes:
    """Make the first of these words, each after a blank, one token of the model.

    `model` is a unigram model; `words` maps each word to its share of all words. The model does not outgrow its own
    size or `size`: words replace the rarest multi-character tokens, at most half of them.
    """
    if not words:
        return model
    subwords = sorted(learned_scores(load_model(model)).items(), key=lambda piece: -piece[1])
    characters = {text: score for text, score in subwords if len(text) == 1}
    learned = [(text, score) for text, score in subwords if len(text) > 1]
    room = max(len(learned), size - len(FIRST) - len(characters))
    wanted = {f"▁{word}": share for word, share in list(words.items())[: room // 2]}
    kept = len(learned)
    while True:
        scores = characters | dict(learned[:kept])
        _add_whole(wanted, scores)
        surplus = len(scores) - len(characters) - room
        if surplus <= 0:
            break
        kept -= surplus
    return write_model(dict(sorted(scores.items(), key=lambda piece: -piece[1])), "unigram")


def _add_whole(wanted: Mapping[str, float], scores: PieceScores) -> None:
    """Make words beat their parts: score by frequency, or just above the parts."""
    for piece in sorted(wanted, key=len):  # shorter words first, because they are parts of longer ones
        parts = score_of_parts(piece, scores)
        if scores.get(piece, -math.inf) <= parts + _MARGIN:
            scores[piece] = max(math.log(wanted[piece]), parts + _MARGIN)


def with_tags(model: bytes, tags: Sequence[str], *, kind: str) -> bytes:
    """Add tags. Raises `InputError` for a language with blanks in its name."""
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise InputError(
                "data.mixture", f"no tag can be made of the language {tag[2:-1]!r}", "give it a short code"
            )
    return write_model(learned_scores(load_model(model)), kind, tags) if tags else model


def write_model(scores: PieceScores, kind: str, tags: Sequence[str] = ()) -> bytes:
    """Write a `unigram` or `bpe` model with the special symbols, the bytes, these tokens, and tags."""
    types = [_CONTROL, _UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256]
    pieces = [_message({1: text, 2: 0.0, 3: piece_type}) for text, piece_type in zip(FIRST, types, strict=True)]
    pieces += [_message({1: text, 2: score}) for text, score in scores.items()]
    pieces += [_message({1: tag, 2: 0.0, 3: _CONTROL}) for tag in tags]
    # Trainer settings: kind, size, byte fallback, and the ids of <unk>, <s>, </s> and <pad>.
    trainer = _message({3: _KINDS[kind], 4: len(pieces), 35: 1, 40: UNK, 41: BOS, 42: EOS, 43: PAD})
    normaliser = _message({1: "identity", 2: ""})
    return b"".join(_message({1: piece}) for piece in pieces) + _message({2: trainer, 3: normaliser})


def _message(fields: Mapping[int, str | bytes | int | float]) -> bytes:
    """Encode a protobuf message from fields by number."""
    content = b""
    for field, value in fields.items():
        if isinstance(value, float):
            content += _varint(field << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            content += _varint(field << 3) + _varint(value)
        else:
            text = value.encode() if isinstance(value, str) else value
            content += _varint(field << 3 | 2) + _varint(len(text)) + text
    return content


def _varint(value: int) -> bytes:
    """Encode an integer in seven bits per byte, lowest first."""
    return bytes([value & 127 | 128]) + _varint(value >> 7) if value > 127 else bytes([value])


def score_of_parts(word: str, scores: PieceScores) -> float:
    """The best score of a word in at least two tokens, the sum of theirs (Kudo 2018, §3.2); −∞ if impossible."""
    best = [0.0]  # of each prefix
    for end in range(1, len(word) + 1):
        starts = range(1 if end == len(word) else 0, end)
        best.append(max((best[start] + scores.get(word[start:end], -math.inf) for start in starts), default=-math.inf))
    return best[-1]
