"""Vocabularies with a SentencePiece model for each side, as Marian has them, in one JSON file."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from pydantic import Base64Bytes, BaseModel
from sentencepiece import SentencePieceProcessor
from typing_extensions import override

from transformer_mt.ground.errors import InputError
from transformer_mt.text.words import Span
from transformer_mt.tokenizer.sentencepiece_model import SPECIAL_TOKENS
from transformer_mt.tokenizer.symbols import SPECIAL
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer

# A target language at the start of a source, as in `>>fra<< Good morning`.
_CODE = re.compile(">>.*?<< ?", re.DOTALL)


class TwoModelsFile(BaseModel):
    """The content of the file: both model files, and the tokens in the order of their ids."""

    source: Base64Bytes
    target: Base64Bytes
    tokens: list[str]


def parse_two_models(content: bytes) -> "TwoModels":
    """The vocabulary in a file. Raises `ValueError` or `RuntimeError` if it is damaged."""
    return TwoModels(TwoModelsFile.model_validate_json(content))


class TwoModels(Tokenizer):
    """Two SentencePiece models, for source and target text, and one list of tokens: Marian's vocabulary.

    It works as transformers' MarianTokenizer: each model normalises and cuts its side, a piece that is not a token
    becomes `<unk>`, and so characters without a token are lost. A text may begin with a target language, `>>fra<<`,
    which is one token. The source model spells all ids.
    """

    unknown_become = "<unk>"

    def __init__(self, file: TwoModelsFile) -> None:
        """Raises `RuntimeError` or `ValueError` for a damaged model, or if tmt's special symbols are not first."""
        self.serialized = file.model_dump_json().encode()
        self.note = None
        self._reader = SentencePieceProcessor()
        self._target = SentencePieceProcessor()
        self._reader.LoadFromSerializedProto(file.source)
        self._target.LoadFromSerializedProto(file.target)
        if tuple(file.tokens[: len(SPECIAL)]) != SPECIAL_TOKENS:
            raise ValueError("its special symbols")
        self._processor = self._reader
        self._pieces = file.tokens

    @property
    @override
    def target(self) -> "TwoModels":
        twin = copy(self)
        twin._processor = self._target
        return twin

    @override
    def encode_batch(self, sentences: Sequence[str], *, sampling: Sampling | None = None) -> list[list[int]]:
        """The token ids of each text. Raises `InputError` for sampled ones."""
        if sampling:
            raise InputError("tokenizer.sampling", "does not work with an imported vocabulary", "set it to none")
        return [self.ids(piece for piece, _ in self._cut(text)) for text in sentences]

    @override
    def decode(self, ids: Iterable[int]) -> str:
        text: str = self._reader.DecodePieces(self.pieces(index for index in ids if index not in SPECIAL))
        return text.replace("▁", " ").strip()

    @override
    def code(self, text: str) -> str:
        return found[0] if (found := _CODE.match(text)) else ""

    @override
    def places(self, text: str, ids: Sequence[int]) -> list[Span]:
        """In the text before its model normalised it, where tokens may overlap or have no characters."""
        if self.encode(text) == [*ids]:
            return [span for _, span in self._cut(text)]
        spelled = ["" if index in SPECIAL else self._pieces[index] for index in ids]
        found = self._reader.DecodePieces(spelled, return_type="offset_mapping")
        blanks = len(found["text"]) - len(found["text"].lstrip("▁ "))
        return [(start - blanks, end - blanks) for start, end in found["offsets"]]

    @override
    def unknown_characters(self, texts: Iterable[str]) -> Counter[str]:
        """Count the characters that are read as `<unk>`."""
        return Counter(
            character
            for text in texts
            for piece, (start, end) in self._cut(text)
            if piece not in self._index
            for character in text[start:end].strip() or piece.strip("▁")
        )

    def _cut(self, text: str) -> Iterator[tuple[str, Span]]:
        """The pieces of a text, and the start and end of each in it."""
        if code := self.code(text):
            yield code.rstrip(), (0, len(code))
        cut = self._processor.Encode(text[len(code) :], return_type="offset_mapping")
        for piece, (start, end) in zip(cut["pieces"], cut["offsets"], strict=True):
            yield piece, (start + len(code), end + len(code))
