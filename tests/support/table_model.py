"""A model small enough to enumerate: the next token depends on the source and on every token so far."""

from dataclasses import dataclass
from itertools import product
from typing import Self

import torch
from torch import Tensor

from transformer_mt.models.seq2seq import Memory, Seq2Seq, State
from transformer_mt.tokenizer import BOS, EOS, PAD, SPECIAL

CELLS = 10_007


@dataclass(frozen=True, slots=True)
class TableState:
    """The source's key and the tokens read."""

    key: Tensor
    tokens: Tensor

    @property
    def length(self) -> int:
        return self.tokens.shape[1]

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.key[rows], self.tokens[rows])


class TableModel(Seq2Seq):
    """Logits from a random table, at a hash of the source and the target so far.

    It fails when a row's state and memory are of different sentences, and notes how many sentences each call encoded
    and what shape each call decoded.
    """

    def __init__(self, *, vocabulary: int, seed: int, scale: float = 1.5, max_length: int = 31) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.max_length = max_length
        self.register_buffer("table", scale * torch.randn(CELLS, vocabulary, generator=generator, dtype=torch.float64))
        self.encoded: list[int] = []
        self.decoded: list[tuple[int, int]] = []

    def encode(self, source: Tensor) -> Memory:
        self.encoded.append(len(source))
        mask = source != PAD
        place = torch.arange(1, source.shape[1] + 1)
        key = (source**2 * place * mask).sum(dim=1)
        return Memory(key[:, None, None].expand(-1, source.shape[1], 1).double(), mask)

    def decode(self, target: Tensor, memory: Memory, state: State | None = None) -> tuple[Tensor, TableState]:
        self.decoded.append((target.shape[0], target.shape[1]))
        key = memory.states[:, 0, 0].long()
        tokens = target
        if state is not None:
            assert isinstance(state, TableState)
            assert torch.equal(state.key, key)
            tokens = torch.cat((state.tokens, target), dim=1)
        assert torch.all(tokens[:, 0] == BOS)
        assert not torch.any(tokens == EOS)
        cell, cells = key, []
        for token in tokens.T:
            cell = (cell * 31 + token + 7) % CELLS
            cells.append(cell)
        return self.table[torch.stack(cells, dim=1)[:, -target.shape[1] :]], TableState(key, tokens)


def words(vocabulary: int) -> list[int]:
    """The tokens that a translation may contain."""
    return [token for token in range(vocabulary) if token not in SPECIAL]


def all_translations(vocabulary: int, max_length: int) -> list[tuple[int, ...]]:
    """Every translation of at most `max_length` tokens, `EOS` included but not written."""
    return [tokens for length in range(max_length) for tokens in product(words(vocabulary), repeat=length)]


def log_probability(model: Seq2Seq, source: Tensor, tokens: tuple[int, ...]) -> float:
    """ln p of the tokens and `EOS`, by teacher forcing; the source is one sentence."""
    target = torch.tensor([[BOS, *tokens]])
    following = model(source[None], target).log_softmax(dim=-1)[0]
    return float(sum(following[i, token] for i, token in enumerate([*tokens, EOS])))
