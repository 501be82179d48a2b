"""The tokenizer: one sentencepiece vocabulary for both languages, special symbols no text can produce, and sampling."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MappingProxyType

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.ground.plugins import extensions, resolve
from transformer_mt.text.words import Span
from transformer_mt.tokenizer.learning import learn
from transformer_mt.tokenizer.sentencepiece_model import (
    Start,
    corpus_tag,
    language_tag,
    load_model,
    needed_tags,
    tags_of,
    with_tags,
    with_whole_words,
)
from transformer_mt.tokenizer.symbols import SPECIAL, UNK

# As in Kudo (2018, §4) for alpha = 0.1; over all segmentations, sentences would have twice as many tokens.
_BEST_SEGMENTATIONS = 64


@dataclass(frozen=True)
class Sampling:
    """Subword sampling from a unigram vocabulary with a seed, the same in every process.

    `alpha` is the smoothing of Kudo (2018, §3.2), smaller is more uniform, over the 64 best segmentations.
    """

    seed: int
    alpha: float


class Tokenizer:
    """A sentencepiece model with byte fallback: encoding any normalised text and decoding it returns the text.

    `serialized` is the sentencepiece file's content. `note` says how training had to deviate from the configuration.
    """

    # What a character without a token becomes.
    unknown_become = "bytes"
    # The tags at the start of every encoded text; see `toward`.
    tag: tuple[int, ...] = ()

    def __init__(self, model: bytes, *, note: str | None = None) -> None:
        self.serialized = model
        self.note = note
        self._processor = load_model(model)

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        config: TokenizerConfig,
        *,
        whole: Mapping[str, float] = MappingProxyType({}),
        tags: Sequence[str] = (),
    ) -> "Tokenizer":
        """Train a vocabulary. The same sentences produce the same vocabulary.

        `whole` maps words, most important first, to their share of all words. They become one token each, up to half of
        a unigram vocabulary; a BPE vocabulary has none. `tags` are its last tokens. If the sentences cannot fill the
        configured size, or their characters need more, the nearest possible size is used; `note` says so. Raises
        `InputError` without text.
        """
        kind = config.kind
        size = config.vocabulary_size - len(tags)
        model = learn(list(sentences), kind=kind, size=size, split_digits=config.split_digits)
        if kind == "unigram":
            model = with_whole_words(model, whole, size=size)
        tokenizer = cls(with_tags(model, tags, kind=kind))
        if tokenizer.size != (wanted := config.vocabulary_size):
            too_few = "the text does not support more"
            too_many = "the characters and bytes need this many"
            reason = too_few if tokenizer.size < wanted else too_many
            tokenizer.note = f"tokenizer.vocabulary_size: {tokenizer.size} instead of {wanted}; {reason}"
        return tokenizer

    @classmethod
    def parse(cls, content: bytes, *, place: str) -> "Tokenizer":
        """Parse the content of a vocabulary file. `place` names it in errors.

        Raises `MachineError` if it is damaged or not a model that tmt trains or imports.
        """
        formats = [format for extension in extensions().values() for format in extension.vocabularies.items()]
        try:
            for start, parse in formats:
                if content.startswith(start):
                    return resolve(parse)(content)
            return cls(content)
        except (ValueError, RuntimeError) as error:
            problem = f"not a vocabulary that tmt trained, or damaged ({str(error).partition(chr(10))[0]})"
            raise MachineError(place, problem, "restore it or train again") from None

    @property
    def target(self) -> "Tokenizer":
        """The same vocabulary for target text; this one is for source text, if they differ."""
        return self._tagged(()) if self.tag else self

    def toward(self, language: str, tag: str = "") -> "Tokenizer":
        """The same vocabulary for sources to translate into a language, from a corpus with this tag, if any.

        Each source starts with the tag of the language, if the vocabulary has one, and the tag of the corpus.
        """
        names = (language_tag(language), corpus_tag(tag))
        return self._tagged(tuple(self.tags[name] for name in names if name in self.tags)) if self.tags else self

    def require(self, starts: Sequence[Start]) -> None:
        """Raise `InputError` if a vocabulary lacks a tag of these corpora, the main one first."""
        needed = needed_tags(starts)
        if any(tag.startswith("<2") for tag in self.tags):
            needed.append(language_tag(starts[0][0]))
        if missing := [tag for tag in needed if tag not in self.tags]:
            known = ", ".join(self.tags) or "none"
            remedy = f"learn a vocabulary, or choose among its tags: {known}"
            raise InputError("data.mixture", f"the vocabulary has no tag {missing[0]}", remedy)

    def holds_text(self, source: Sequence[int]) -> bool:
        """True for an encoded source with more than tags."""
        return len(source) > len(self.tag)

    def _tagged(self, tag: tuple[int, ...]) -> "Tokenizer":
        twin = copy(self)
        twin.tag = tag
        return twin

    @cached_property
    def tags(self) -> dict[str, int]:
        """The ids of the tags, such as `<2fr>`; empty for a vocabulary without."""
        return tags_of(self._processor)

    @property
    def size(self) -> int:
        """The number of tokens, including special symbols and bytes."""
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        """The ids of the most probable tokens of a text, without `BOS` and `EOS`."""
        return self.encode_batch([text])[0]

    def encode_batch(self, sentences: Sequence[str], *, sampling: Sampling | None = None) -> list[list[int]]:
        """The token ids of each text. Sampled ones are a function of both arguments.

        sentencepiece's own sampling differs between processes, even for the same seed.
        """
        if sampling:
            draw = random.Random(sampling.seed)
            encoded = [self._sample(text, sampling.alpha, draw) for text in sentences]
        elif len(sentences) == 1:  # sentencepiece starts threads for a list
            encoded = [self._processor.Encode(sentences[0], out_type=int)]
        else:
            encoded = self._processor.Encode(list(sentences), out_type=int)
        return [[*self.tag, *ids] for ids in encoded] if self.tag else encoded

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token ids. Special symbols are skipped; invalid UTF-8 becomes U+FFFD."""
        return self._processor.Decode([index for index in ids if index not in SPECIAL])

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The tokens in sentencepiece's spelling: `▁` starts a word, `<0xE2>` is a byte, `</s>` is `EOS`."""
        return list(map(self._pieces.__getitem__, ids))

    def ids(self, pieces: Iterable[str]) -> list[int]:
        """The ids of tokens in sentencepiece's spelling; the inverse of `pieces`."""
        return [self._index.get(piece, UNK) for piece in pieces]

    def code(self, text: str) -> str:
        """The target language at the start of a source, if the vocabulary has a spelling for it; else empty."""
        return ""

    def places(self, text: str, ids: Sequence[int]) -> list[Span]:
        """Start and end of each token in a text that has these tokens, or that they spell."""
        return self._processor.Decode(list(ids), return_type="offset_mapping")["offsets"]

    def unknown_characters(self, texts: Iterable[str]) -> Counter[str]:
        """Count the characters that have no token and are spelled as bytes."""
        counts = Counter(chain.from_iterable(texts))
        return Counter({c: count for c, count in counts.items() if c != " " and self._processor.PieceToId(c) == UNK})

    def _sample(self, text: str, alpha: float, draw: random.Random) -> list[int]:
        """P(x | text) ∝ P(x)^α over the best segmentations x; P(x) is the product over tokens (Kudo 2018, §3.2)."""
        best: list[list[int]] = self._processor.NBestEncode(text, nbest_size=_BEST_SEGMENTATIONS, out_type=int)
        if len(best) < 2:
            return best[0] if best else []
        scores = [alpha * sum(map(self._scores.__getitem__, ids)) for ids in best]
        highest = max(scores)
        return draw.choices(best, [math.exp(score - highest) for score in scores])[0]

    @cached_property
    def _pieces(self) -> list[str]:
        return list(map(self._processor.IdToPiece, range(self._processor.GetPieceSize())))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {piece: index for index, piece in enumerate(self._pieces)}

    @cached_property
    def _scores(self) -> list[float]:
        return list(map(self._processor.GetScore, range(self.size)))
