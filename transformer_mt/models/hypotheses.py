"""Hypotheses of a search: the source is cached once per sentence, the target once per hypothesis."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_mt.attention.shapes import Rows


@dataclass(frozen=True)
class Hypotheses:
    """Maps N hypotheses to the B sentences they translate, so that the source is cached once per sentence.

    Each sentence has at most W hypotheses. Cross-attention sees them side by side, as queries of one sentence. `seat`
    is sentence · W + the number of the hypothesis within its sentence. It is None if each sentence has one hypothesis,
    in order, as after `start`.
    """

    sentences: int
    width: int = 1
    seat: Rows | None = None

    def select(self, rows: Rows) -> "tuple[Hypotheses, Int[Tensor, ' B2'] | None]":
        """Select the hypotheses `rows`, and return the sentences that still have any; None if all do."""
        sentence = rows if self.seat is None else (self.seat // self.width)[rows]
        left, sentence, counts = torch.unique(sentence, return_inverse=True, return_counts=True)
        kept = None if len(left) == self.sentences else left
        if len(left) == len(rows) and torch.equal(sentence, torch.arange(len(rows), device=rows.device)):
            return Hypotheses(len(left)), kept
        order = sentence.argsort(stable=True)
        number = torch.empty_like(order)  # of each hypothesis within its sentence
        number[order] = torch.arange(len(rows), device=rows.device) - (counts.cumsum(0) - counts)[sentence[order]]
        width = int(counts.max())
        return Hypotheses(len(left), width, sentence * width + number), kept

    def by_sentence(self, x: Float[Tensor, "N T D"]) -> Float[Tensor, "B WT D"]:
        """Put the states of a sentence's hypotheses side by side, with zeros at free seats."""
        if self.seat is None:
            return x
        seats = x.new_zeros(self.sentences * self.width, *x.shape[1:]).index_copy(0, self.seat, x)
        return seats.view(self.sentences, -1, x.shape[2])  # B*W T D -> B W*T D

    def by_hypothesis(self, x: Float[Tensor, "B WT D"]) -> Float[Tensor, "N T D"]:
        """The inverse of `by_sentence`."""
        if self.seat is None:
            return x
        return x.reshape(self.sentences * self.width, -1, x.shape[2]).index_select(0, self.seat)
