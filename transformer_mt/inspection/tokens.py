"""A sentence pair as a model reads and writes it: tokens, their pieces, and the words that they make up."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_mt.corpus.pairs import words
from transformer_mt.errors import InputError
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Tokens:
    """One side of a pair: ids, pieces and words; `word_of_piece` says for each piece which of `words` it belongs to.

    Words are those of `corpus.pairs.words`, punctuation marks among them; a special symbol is a word of its own, and so
    is a piece that belongs to none.
    """

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    words: tuple[str, ...]
    word_of_piece: tuple[int, ...]

    def membership(self) -> Float[Tensor, "W N"]:
        """W words, N pieces: 1 where a piece belongs to the word."""
        numbers = torch.arange(len(self.words))[:, None]
        return (numbers == torch.tensor(self.word_of_piece)[None, :]).float()


@dataclass(frozen=True, slots=True)
class PairTokens:
    """A pair under teacher forcing: the source with `</s>`; what the decoder reads, `<s>` and the target; and what it
    writes at each of these positions, the target and `</s>`."""

    source: Tokens
    read: Tokens
    written: Tokens

    def sides(self, stack: str) -> tuple[Tokens, Tokens]:
        """What stands along the rows and the columns of a stack's matrices."""
        return {
            "encoder": (self.source, self.source),
            "decoder": (self.written, self.read),
            "cross": (self.written, self.source),
        }[stack]

    def inputs(self, device: torch.device) -> tuple[Int[Tensor, "1 S"], Int[Tensor, "1 T"]]:
        """What a model is called with: source and target tokens, a batch of one."""
        return torch.tensor([self.source.ids], device=device), torch.tensor([self.read.ids], device=device)


def tokenize_pair(tokenizer: Tokenizer, source: str, target: str, *, limit: int) -> PairTokens:
    """The tokens of a pair, each text cut into its most probable pieces.

    Raises `InputError` for a text of more than `limit` tokens, which counts the end symbol.
    """
    return PairTokens(
        source=_tokens(tokenizer, source, "SENTENCE", limit=limit, end=EOS),
        read=_tokens(tokenizer, target, "--target", limit=limit, begin=BOS),
        written=_tokens(tokenizer, target, "--target", limit=limit, end=EOS),
    )


def merge_pieces(weights: Float[Tensor, "... Q K"], rows: Tokens, columns: Tokens) -> Float[Tensor, "... W V"]:
    """Matrices over words: the mean over a word's rows, the sum over its columns (Clark et al. 2019, §4.1).

    Rows that sum to 1 still do.
    """
    by_row = rows.membership()
    by_row = by_row / by_row.sum(dim=1, keepdim=True)
    return by_row @ weights @ columns.membership().T


def sum_pieces(matrix: Float[Tensor, "... Q K"], rows: Tokens, columns: Tokens) -> Float[Tensor, "... W V"]:
    """Matrices over words: the sum over a word's rows and columns, as ln p of a word is the sum over its pieces."""
    return rows.membership() @ matrix @ columns.membership().T


def merge_mask(mask: Bool[Tensor, "... Q K"], rows: Tokens, columns: Tokens) -> Bool[Tensor, "... W V"]:
    """True where any piece of the row's word may attend to any piece of the column's."""
    return rows.membership() @ mask.float() @ columns.membership().T > 0.0


def _tokens(
    tokenizer: Tokenizer, text: str, place: str, *, limit: int, begin: int | None = None, end: int | None = None
) -> Tokens:
    ids = tokenizer.encode(text)
    if len(ids) >= limit:
        raise InputError(f"{place}: {len(ids) + 1} tokens, the model takes at most {limit}; shorten it")
    pieces = tokenizer.pieces(ids)
    labels, numbers = list(words(text)), []
    for piece, word in zip(pieces, tokenizer.word_of_piece(text), strict=True):
        numbers.append(word if word >= 0 else len(labels))
        labels += [piece] if word < 0 else []
    if begin is not None:
        (symbol,) = tokenizer.pieces([begin])
        ids, pieces = [begin, *ids], [symbol, *pieces]
        labels, numbers = [symbol, *labels], [0, *(number + 1 for number in numbers)]
    if end is not None:
        (symbol,) = tokenizer.pieces([end])
        ids, pieces, labels, numbers = [*ids, end], [*pieces, symbol], [*labels, symbol], [*numbers, len(labels)]
    places = {number: place for place, number in enumerate(dict.fromkeys(numbers))}
    return Tokens(tuple(ids), tuple(pieces), tuple(labels[n] for n in places), tuple(places[n] for n in numbers))
