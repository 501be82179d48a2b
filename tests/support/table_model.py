"""A model small enough to enumerate: the next token depends on the source and all previous tokens."""

from dataclasses import dataclass
from itertools import product
from typing import Self

import torch
from torch import Tensor, nn

from transformer_mt.models.seq2seq import Seq2Seq, State
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, SPECIAL

CELLS = 10_007
# Sentences of 4, 1 and 2 tokens, for models with this vocabulary.
VOCABULARY = 7
SOURCE = torch.tensor([[4, 5, 6, 4, EOS], [6, EOS, PAD, PAD, PAD], [5, 5, EOS, PAD, PAD]])


@dataclass(frozen=True, slots=True)
class TableState:
    """The source's key and the tokens read."""

    key: Tensor
    tokens: Tensor

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.key[rows], self.tokens[rows])


class TableModel(Seq2Seq):
    """Logits from a random table, at a hash of the source and the target so far.

    Records how many sentences each call started, and the shape each call decoded.
    """

    def __init__(self, *, vocabulary: int, seed: int, scale: float = 1.5, max_length: int = 31) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.max_length = max_length
        self.output = nn.Identity()  # the table contains logits
        self.register_buffer("table", scale * torch.randn(CELLS, vocabulary, generator=generator, dtype=torch.float64))
        self.started: list[int] = []
        self.decoded: list[tuple[int, int]] = []

    def attention_stacks(self) -> dict[str, list[nn.Module]]:
        return {}

    def start(self, source: Tensor) -> TableState:
        self.started.append(len(source))
        place = torch.arange(1, source.shape[1] + 1)
        key = (source**2 * place * (source != PAD)).sum(dim=1)
        return TableState(key, source[:, :0])

    def read(self, target: Tensor, state: State) -> tuple[Tensor, TableState]:
        self.decoded.append((target.shape[0], target.shape[1]))
        assert isinstance(state, TableState)
        tokens = torch.cat((state.tokens, target), dim=1)
        assert torch.all(tokens[:, 0] == BOS)
        assert not torch.any(tokens == EOS)
        cell, cells = state.key, []
        for token in tokens.T:
            cell = (cell * 31 + token + 7) % CELLS
            cells.append(cell)
        logits = self.table[torch.stack(cells, dim=1)[:, -target.shape[1] :]]
        return logits, TableState(state.key, tokens)


def words(vocabulary: int) -> list[int]:
    """The tokens that a translation may contain."""
    return [token for token in range(vocabulary) if token not in SPECIAL]


def all_translations(vocabulary: int, max_length: int) -> list[tuple[int, ...]]:
    """Every translation of at most `max_length` tokens, counting an implicit `EOS`."""
    return [tokens for length in range(max_length) for tokens in product(words(vocabulary), repeat=length)]


def log_probability(model: Seq2Seq, source: Tensor, tokens: tuple[int, ...]) -> float:
    """ln p of the tokens and `EOS`, by teacher forcing; the source is one sentence."""
    target = torch.tensor([[BOS, *tokens]])
    following = model(source[None], target).log_softmax(dim=-1)[0]
    return float(sum(following[i, token] for i, token in enumerate([*tokens, EOS])))
