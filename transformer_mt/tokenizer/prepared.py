"""Lines of text as a model reads them: normalised, split and tokenized once, here, for all commands and views.

A token belongs to every word it overlaps. A token that overlaps none, such as a bare `▁`, belongs to the next word.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from transformer_mt.corpus.word_counts import SeenWords
from transformer_mt.text.normalize import normalize
from transformer_mt.text.sentences import join_sentences, split_sentences
from transformer_mt.text.terminal import JsonObject
from transformer_mt.text.words import Span, script_of, word_spans
from transformer_mt.tokenizer.tokenizer import Tokenizer

# The words that a token belongs to, by number.
Owners = tuple[int, ...]


@dataclass(frozen=True)
class PreparedSentence:
    """A normalised sentence and its token ids, without special symbols.

    `case` is `restored` if an all-lowercase sentence got capitals, `lowered` if an all-caps one lost them.
    """

    text: str
    ids: tuple[int, ...]
    tokenizer: Tokenizer = field(repr=False, compare=False)
    case: str | None = None

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The tokens in sentencepiece's spelling."""
        return tuple(self.tokenizer.pieces(self.ids))

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Start and end of each word in the text."""
        return tuple(word_spans(self.text))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words and punctuation marks of the text."""
        return tuple(self.text[start:end] for start, end in self.spans)

    @cached_property
    def words_of_piece(self) -> tuple[Owners, ...]:
        """For each token, the numbers of its words, at least one."""
        return words_of_places(self.tokenizer.places(self.text, self.ids), self.spans)


@dataclass(frozen=True)
class PreparedLine:
    """A line as given, and its sentences as the model reads them. A blank line has one sentence without text."""

    given: str
    sentences: tuple[PreparedSentence, ...]
    preparer: "Preparer" = field(repr=False)

    @property
    def text(self) -> str:
        """The text that the model reads."""
        return join_sentences(sentence.text for sentence in self.sentences)

    def only(self, number: int) -> "PreparedLine":
        """The line with only one of its sentences, counted from 1."""
        return replace(self, sentences=(self.sentences[number - 1],))

    @cached_property
    def word_counts(self) -> dict[str, int] | None:
        """How often each word with a letter occurs in training; None if the run did not record its words."""
        known = self.preparer.known
        return known.counts(word for one in self.sentences for word in one.words) if known else None

    @property
    def never_seen(self) -> list[str] | None:
        """The words unseen in training; None if the run did not record its words."""
        counts = self.word_counts
        return None if counts is None else [word for word, count in counts.items() if not count]

    @cached_property
    def remarks(self) -> "Remarks":
        """Reasons to doubt the translation of this line."""
        return self.preparer.remarks(self)


@dataclass(frozen=True)
class Remarks:
    """Reasons to doubt the translation of a line.

    `spelled_as_bytes` are characters without a token. `read_as_unknown` are such characters in a vocabulary without
    bytes: they are lost. `other_case` are words that training has only with other
    capitals. `new_scripts` are scripts unseen in the training sources. `longer_than_training` is the length of the
    longest sentence, in words and punctuation marks, if it exceeds all of training. `case` is `lowered` if any sentence
    was lowered, else `restored` if any was restored. If the run did not record its words, only the first two apply.
    """

    spelled_as_bytes: tuple[str, ...]
    read_as_unknown: tuple[str, ...]
    other_case: tuple[str, ...]
    new_scripts: tuple[str, ...]
    longer_than_training: int | None
    case: str | None

    def to_json(self) -> JsonObject:
        """The remarks that apply, keyed by name."""
        return {name: value for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class Preparer:
    """Prepares lines for a model with its tokenizer and, for text to translate, the word counts of training."""

    tokenizer: Tokenizer
    known: SeenWords | None = None
    language: str = ""

    def lines(self, texts: Sequence[str], *, split: bool, restore: bool = True) -> list[PreparedLine]:
        """Prepare lines, in one call of the tokenizer.

        With `split`, each line is split into sentences; a target language at its start, `>>fra<<`, is repeated. With
        `restore`, all-lowercase and all-caps lines are recapitalised as in training.
        """
        texts_read = []
        for text in map(normalize, texts):
            code = self.tokenizer.code(text)
            rest = text[len(code) :]
            sentences = (split_sentences(rest, self.language) if split else []) or [rest]
            texts_read.append([self._restored(code + one) if restore else (code + one, None) for one in sentences])
        encoded = iter(self.tokenizer.encode_batch([one for sentences in texts_read for one, _ in sentences]))
        return [
            PreparedLine(
                text,
                tuple(PreparedSentence(one, tuple(next(encoded)), self.tokenizer, case) for one, case in sentences),
                self,
            )
            for text, sentences in zip(texts, texts_read, strict=True)
        ]

    @property
    def target(self) -> "Preparer":
        """Prepares target text for the same model."""
        return Preparer(self.tokenizer.target)

    def sentence(self, text: str) -> PreparedSentence:
        """Prepare a text as a single sentence, without changing its capitals."""
        (line,) = self.lines([text], split=False, restore=False)
        return line.sentences[0]

    def _restored(self, sentence: str) -> tuple[str, str | None]:
        """Return the sentence with training's capitals, and its `case`."""
        if self.known is None:
            return sentence, None
        if self.known.is_shouted(sentence):
            return self.known.without_capitals(sentence), "lowered"
        read = self.known.with_capitals(sentence)
        return read, None if read == sentence else "restored"

    def remarks(self, line: PreparedLine) -> Remarks:
        """Collect reasons to doubt the translation of a line."""
        known = self.known
        counts = line.word_counts or {}
        unknown = tuple(self.tokenizer.unknown_characters(sentence.text for sentence in line.sentences))
        spelled, lost = (unknown, ()) if self.tokenizer.unknown_become == "bytes" else ((), unknown)
        cases = {sentence.case for sentence in line.sentences}
        longest = max(len(sentence.words) for sentence in line.sentences)
        scripts = dict.fromkeys(script_of(word[0]) for word in counts)
        return Remarks(
            spelled_as_bytes=spelled,
            read_as_unknown=lost,
            other_case=tuple(word for word, count in counts.items() if count and self._is_odd(word)),
            new_scripts=tuple(script for script in scripts if script and script not in self._scripts),
            longer_than_training=longest if known and longest > known.longest else None,
            case=next((case for case in ("lowered", "restored") if case in cases), None),
        )

    def _is_odd(self, word: str) -> bool:
        """True for a known word that training only has with other capitals, allowing for sentence starts."""
        assert self.known
        return word not in self.known.written and word[:1].lower() + word[1:] not in self.known.written

    @cached_property
    def _scripts(self) -> frozenset[str]:
        return frozenset(script_of(word[0]) for word in self.known.folded) if self.known else frozenset()


def words_of_places(places: Sequence[Span], spans: Sequence[Span]) -> tuple[Owners, ...]:
    """For each token at a place, the numbers of the words with these spans it overlaps, or of the next word."""
    starts, ends = ([span[side] for span in spans] for side in (0, 1))
    owners = []
    for place, end in places:
        first = bisect_right(ends, place)  # the first word that ends after the token's start
        last = bisect_right(starts, end - 1)  # the first word that starts after the token
        owners.append(tuple(range(first, last)) or ((min(first, len(spans) - 1),) if spans else ()))
    return tuple(owners)
