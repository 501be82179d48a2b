"""Token embeddings with their positions."""

import math
from typing import ClassVar, NamedTuple

from jaxtyping import Int
from torch import Tensor, nn

from transformer_mt.attention.positions import EmbeddingPosition
from transformer_mt.attention.showing import show
from transformer_mt.models.dropout import Dropout
from transformer_mt.models.seq2seq import States


class Embedding(nn.Module):
    """x_i = √D e_i, then the position encoding, then dropout (Vaswani et al. 2017, §3.4, §3.5, §5.4)."""

    formulas: ClassVar = {"√D e": ""}

    def __init__(self, table: nn.Embedding, position: EmbeddingPosition, *, dropout: float) -> None:
        super().__init__()
        self.table = table
        self.position = position
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Int[Tensor, "B N"], *, start: int = 0) -> States:
        """Embed tokens that stand at the positions start, start + 1, …"""
        scaled = show(self, "√D e", self.table(tokens) * math.sqrt(self.table.embedding_dim), "B Q D")
        return self.dropout(self.position.embed(scaled, start=start))


class Embeddings(NamedTuple):
    """The embeddings of source and target, and whether the output matrix is that of the target's."""

    source: Embedding
    target: Embedding
    tie_output: bool
