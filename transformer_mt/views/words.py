"""A sentence pair as a model reads and writes it: tokens, their pieces, and how pieces become words.

A matrix over pieces becomes one over words by the mean over the rows of a word and the sum over its columns
(Clark et al. 2019, §4.1), so rows that sum to 1 still do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_mt.corpus.pairs import words
from transformer_mt.errors import InputError
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Tokens:
    """One side of a pair: ids, pieces and words; `word_of_piece` says for each piece which of `words` it belongs to.

    Words are those of `corpus.pairs.words`; a special symbol is a word of its own, and so is a piece that has none.
    """

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    words: tuple[str, ...]
    word_of_piece: tuple[int, ...]

    def membership(self) -> Float[Tensor, "W N"]:
        """W words, N pieces: 1 where a piece belongs to the word."""
        return torch.from_numpy(membership(range(len(self.words)), self.word_of_piece))


@dataclass(frozen=True, slots=True)
class PairTokens:
    """A pair under teacher forcing: the source with `</s>`; the decoder's input, `<s>` and the target; and its output
    at each of these positions, the target and `</s>`."""

    source: Tokens
    read: Tokens
    written: Tokens

    def sides(self, stack: str) -> tuple[Tokens, Tokens]:
        return {
            "encoder": (self.source, self.source),
            "decoder": (self.written, self.read),
            "cross": (self.written, self.source),
        }[stack]

    def inputs(self, device: torch.device) -> tuple[Int[Tensor, "1 S"], Int[Tensor, "1 T"]]:
        """The model's arguments: source and target tokens, a batch of one."""
        return torch.tensor([self.source.ids], device=device), torch.tensor([self.read.ids], device=device)


def tokenize(tokenizer: Tokenizer, text: str, *, before: Sequence[int] = (), after: Sequence[int] = ()) -> Tokens:
    """The most probable pieces of a text and their words, with special symbols before or after them."""
    ids = [*before, *tokenizer.encode(text), *after]
    pieces, labels = tokenizer.pieces(ids), words(text)
    numbers = [*(-1 for _ in before), *tokenizer.word_of_piece(text), *(-1 for _ in after)]
    # A piece of no word is a word of its own, with a key that no other has.
    keys = [(number, -1 if number >= 0 else place) for place, number in enumerate(numbers)]
    names = {key: labels[key[0]] if key[0] >= 0 else piece for key, piece in zip(keys, pieces, strict=True)}
    return Tokens(tuple(ids), tuple(pieces), tuple(names.values()), tuple(map([*names].index, keys)))


def tokenize_pair(tokenizer: Tokenizer, source: str, target: str, *, limit: int) -> PairTokens:
    """The tokens of a pair, each text cut into its most probable pieces.

    Raises `InputError` for a text of more than `limit` tokens, which counts the end symbol.
    """
    pair = PairTokens(
        source=tokenize(tokenizer, source, after=[EOS]),
        read=tokenize(tokenizer, target, before=[BOS]),
        written=tokenize(tokenizer, target, after=[EOS]),
    )
    for place, tokens in (("SENTENCE", pair.source), ("--target", pair.written)):
        if len(tokens.ids) > limit:
            raise InputError(f"{place}: {len(tokens.ids)} tokens, the model takes at most {limit}; shorten it")
    return pair


def is_word(text: str) -> bool:
    """Whether it is a word, and no punctuation mark."""
    return any(letter.isalnum() for letter in text)


def membership(numbers: Sequence[int], word_of_piece: Sequence[int]) -> Float[np.ndarray, "W N"]:
    """A row for each word, by its number, a column for each piece: 1 where the piece belongs to the word."""
    return np.equal.outer(np.array(numbers, int), np.array(word_of_piece, int)).astype(np.float32)


def over_words(
    weights: Float[np.ndarray, "*N Q K"], rows: Float[np.ndarray, "W Q"], columns: Float[np.ndarray, "V K"]
) -> Float[np.ndarray, "*N W V"]:
    """Matrices over words, by the memberships of both sides: the mean over a word's rows, the sum over its columns.

    A word without a piece has zeros. In NumPy: for matrices this small, torch's threads cost more than they gain.
    """
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0) @ weights @ columns.T
