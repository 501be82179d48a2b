"""A decoder's cache: the source is kept once a sentence, the target once a hypothesis."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_mt.attention.shapes import Rows


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The sentences that N hypotheses translate, so that the source is kept once for all hypotheses of a sentence.

    Of each of the B sentences there are at most W hypotheses. Cross-attention sees them side by side, as queries of one
    sentence. `seat` is sentence · W + the number of the hypothesis among those of its sentence; None where every
    sentence has one hypothesis and they stand in order, as after `start`.
    """

    sentences: int
    width: int = 1
    seat: Rows | None = None

    def select(self, rows: Rows) -> "tuple[Hypotheses, Int[Tensor, ' B2'] | None]":
        """The hypotheses `rows`, and the sentences that are left with any; None where that is all of them."""
        sentence = rows if self.seat is None else (self.seat // self.width)[rows]
        left, sentence, counts = torch.unique(sentence, return_inverse=True, return_counts=True)
        kept = None if len(left) == self.sentences else left
        if len(left) == len(rows) and torch.equal(sentence, torch.arange(len(rows), device=rows.device)):
            return Hypotheses(len(left)), kept
        order = sentence.argsort(stable=True)
        number = torch.empty_like(order)  # of each hypothesis among those of its sentence
        number[order] = torch.arange(len(rows), device=rows.device) - (counts.cumsum(0) - counts)[sentence[order]]
        width = int(counts.max())
        return Hypotheses(len(left), width, sentence * width + number), kept

    def by_sentence(self, x: Float[Tensor, "N T D"]) -> Float[Tensor, "B WT D"]:
        """The states of all hypotheses of a sentence side by side, zeros at seats that are free."""
        if self.seat is None:
            return x
        seats = x.new_zeros(self.sentences * self.width, *x.shape[1:]).index_copy(0, self.seat, x)
        return seats.view(self.sentences, -1, x.shape[2])  # B*W T D -> B W*T D

    def by_hypothesis(self, x: Float[Tensor, "B WT D"]) -> Float[Tensor, "N T D"]:
        """The inverse of `by_sentence`."""
        if self.seat is None:
            return x
        return x.reshape(self.sentences * self.width, -1, x.shape[2])[self.seat]
