"""A sentence pair as a model reads and writes it, and matrices over its tokens and words.

A matrix over tokens becomes one over words by averaging the rows of a word and summing its columns (Clark et al. 2019,
§4.1), so rows that sum to 1 still do.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_mt.ground.errors import InputError
from transformer_mt.ground.registry import suggest
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.text.brief import Brief
from transformer_mt.text.normalize import normalize
from transformer_mt.tokenizer.prepared import Owners, PreparedSentence, Preparer
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer

# Letters of a word that is likely to have content.
CONTENT = 4


@dataclass(frozen=True, repr=False)
class Tokens(Brief):
    """One side of a pair: ids, tokens (`pieces`) and words. A special symbol counts as a word.

    `words_of_piece` lists for each token the numbers of its words.
    """

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    words: tuple[str, ...]
    words_of_piece: tuple[Owners, ...]

    @classmethod
    def of(cls, sentence: PreparedSentence, *, begins: bool = False) -> "Tokens":
        """Append `</s>` to a sentence or, with `begins`, prepend `<s>`."""
        ids, pieces, words, owners = sentence.ids, sentence.pieces, sentence.words, sentence.words_of_piece
        if begins:
            owners = ((0,), *(tuple(word + 1 for word in of_piece) for of_piece in owners))
            return cls(sentence.text, (BOS, *ids), ("<s>", *pieces), ("<s>", *words), owners)
        return cls(sentence.text, (*ids, EOS), (*pieces, "</s>"), (*words, "</s>"), (*owners, (len(words),)))

    def by_words(self) -> list[tuple[str, list[str]]]:
        """Pair every word with its tokens."""
        pieces: list[list[str]] = [[] for _ in self.words]
        for owners, piece in zip(self.words_of_piece, self.pieces, strict=True):
            for word in owners:
                pieces[word].append(piece)
        return list(zip(self.words, pieces, strict=True))

    def membership(self) -> Float[np.ndarray, "W N"]:
        """W words × N tokens: 1 where a token belongs to the word."""
        matrix = np.zeros((len(self.words), len(self.pieces)), np.float32)
        for piece, owners in enumerate(self.words_of_piece):
            matrix[list(owners), piece] = 1.0
        return matrix


@dataclass(frozen=True, repr=False)
class PairTokens(Brief):
    """A pair under teacher forcing: the source with `</s>`, the target with `<s>`, and the target with `</s>`."""

    source: Tokens
    read: Tokens
    written: Tokens

    @classmethod
    def of(cls, source: PreparedSentence, target: PreparedSentence, *, limit: int) -> "PairTokens":
        """Build the tokens of a pair. Raises `InputError` if a side, with its end symbol, exceeds `limit` tokens."""
        for place, sentence in (("source", source), ("target", target)):
            if (length := len(sentence.ids) + 1) > limit:
                raise InputError(place, f"{length} tokens, the model takes at most {limit}", "shorten it")
        return cls(Tokens.of(source), Tokens.of(target, begins=True), Tokens.of(target))

    def sides(self, stack: str) -> tuple[Tokens, Tokens]:
        """The tokens along the rows and along the columns of a stack's matrices."""
        if stack == "encoder":
            return self.source, self.source
        return self.written, self.read if stack == "decoder" else self.source

    def inputs(self, model: Seq2Seq) -> tuple[Int[Tensor, "1 S"], Int[Tensor, "1 T"]]:
        """The source and target ids to feed the model, on its device."""
        device = next(model.parameters()).device
        return torch.tensor([self.source.ids], device=device), torch.tensor([self.read.ids], device=device)


def prepare_pair(model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str) -> PairTokens:
    """Tokenize two texts, each as one sentence. Raises `InputError` for a text that is too long for the model."""
    prepare = Preparer(tokenizer)
    return PairTokens.of(prepare.sentence(source), prepare.target.sentence(target), limit=model.max_length)


def over_words(
    weights: Float[np.ndarray, "*N Q K"], rows: Float[np.ndarray, "W Q"], columns: Float[np.ndarray, "V K"]
) -> Float[np.ndarray, "*N W V"]:
    """Turn matrices over tokens into matrices over words: average a word's rows, sum its columns.

    `rows` and `columns` are memberships. Words share the column of a token that belongs to several. This uses NumPy:
    for such small matrices, torch's threads cost more than they gain.
    """
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0) @ weights @ shared(columns).T


def shared(columns: Float[np.ndarray, "W N"]) -> Float[np.ndarray, "W N"]:
    """Divide each token among its words, so that a row's sum over words equals its sum over tokens."""
    return columns / np.maximum(columns.sum(axis=0, keepdims=True), 1.0)


def find_row(sides: Mapping[str, Tokens], *, word: str | None, token: int) -> tuple[str, int, int]:
    """The side of the pair with the word, the word's place, and the row of its token number `token`; both from 0.

    The word is matched exactly, or else ignoring case; or it is a number from 1, in the first side. By default, it is
    the first word of the first side with at least `CONTENT` letters. Raises `InputError` if it does not exist.
    """
    first = next(iter(sides))
    words = sides[first].words
    if word is None:
        content = [text[:1].isalpha() * (1 + (len(text) >= CONTENT)) for text in words]
        found = [(first, content.index(max(content)))]
    else:
        word = normalize(word)
        found = [
            (title, place)
            for title, side in sides.items()
            for form in (str, str.casefold)
            for place, text in enumerate(side.words)
            if form(text) == form(word)
        ]
        found += [(first, place) for place in range(len(words)) if str(place + 1) == word]
        if not found:
            texts = " or ".join("the translation" if title == "target" else "the source" for title in sides)
            every = dict.fromkeys(text for side in sides.values() for text in side.words)
            raise InputError("word", f"{word!r} is not in {texts}", suggest(word, every))
    title, place = found[0]
    rows = [row for row, owners in enumerate(sides[title].words_of_piece) if place in owners]
    if not 1 <= token <= len(rows):
        remedy = f"give a number from 1 to {len(rows)}"
        raise InputError("token", f"{sides[title].words[place]!r} has no token {token}", remedy)
    return title, place, rows[token - 1]
