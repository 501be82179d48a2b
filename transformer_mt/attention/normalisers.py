"""Normalisers turn the scores of a query into the weights of its neighbours.

To add one, subclass `Normaliser` and enter it in `NORMALISERS`; `formulas` holds its formula under α_j.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.attention.shapes import Mask, Scores
from transformer_mt.ground.registry import Table


class Normaliser(nn.Module, ABC):
    """α(e) over the keys where the mask is True: weights ≥ 0 that sum to 1, or all zero for a query without keys.

    `fused` says whether a fused kernel computes it. Subclasses do not inherit `fused`, because they may differ.
    """

    formulas: ClassVar[dict[str, str]] = {}
    fused: ClassVar[bool] = False

    @override
    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.fused = vars(cls).get("fused", False)

    def forward(self, scores: Scores, mask: Mask | None) -> Scores:
        """Return the weights. Without a mask, all keys count.

        Masked scores are set to the lowest finite number, not −∞. The weights of an empty row are then finite and are
        zeroed at the end, and no NaN arises in either direction.
        """
        if mask is None:
            return self.normalise(scores)
        return self.normalise(scores.masked_fill(~mask, torch.finfo(scores.dtype).min)).masked_fill(~mask, 0.0)

    @abstractmethod
    def normalise(self, scores: Scores) -> Scores:
        """The weights of all keys. A score far below the largest of its row must get 0."""


class Softmax(Normaliser):
    """α_j = exp(e_j) / Σ_j exp(e_j) (Vaswani et al. 2017, §3.2.1)."""

    formulas: ClassVar = {"α_j": "exp(e_j) / Σ_j exp(e_j), over j ∈ N"}
    fused = True

    @override
    def normalise(self, scores: Scores) -> Scores:
        return scores.softmax(dim=-1)


class Sparsemax(Normaliser):
    """α_j = max(0, e_j − τ), the distribution nearest to the scores (Martins and Astudillo 2016, §2.2, algorithm 1)."""

    formulas: ClassVar = {"α_j": "max(0, e_j − τ), over j ∈ N, with τ so that Σ_j α_j = 1"}

    @override
    def normalise(self, scores: Scores) -> Scores:
        shifted, ordered, rank = ranked(scores)
        sums = ordered.cumsum(dim=-1)
        support = (1.0 + rank * ordered > sums).sum(dim=-1, keepdim=True)
        threshold = (sums.gather(-1, support - 1) - 1.0) / support
        return (shifted - threshold).relu().to(scores.dtype)


class Entmax15(Normaliser):
    """α_j = max(0, e_j / 2 − τ)², entmax for α = 1.5, between softmax and sparsemax.

    Peters, Niculae and Martins 2019, §3.2 and algorithm 2.
    """

    formulas: ClassVar = {"α_j": "max(0, e_j / 2 − τ)², over j ∈ N, with τ so that Σ_j α_j = 1"}

    @override
    def normalise(self, scores: Scores) -> Scores:
        shifted, ordered, rank = ranked(scores / 2.0)
        mean = ordered.cumsum(dim=-1) / rank
        squares = ordered.square().cumsum(dim=-1) / rank
        # Clamp above 0, where the root has no gradient.
        spread = (1.0 / rank - (squares - mean.square())).clamp(min=torch.finfo(rank.dtype).tiny)
        thresholds = mean - spread.sqrt()
        support = (thresholds <= ordered).sum(dim=-1, keepdim=True)
        return (shifted - thresholds.gather(-1, support - 1)).relu().square().to(scores.dtype)


def ranked(scores: Scores) -> tuple[Scores, Scores, Tensor]:
    """Scores minus the row maximum, in at least float32; the same in descending order; and 1, 2, … K.

    Anything more than 1 below the maximum gets no weight. It is clamped at −2 so that no square overflows.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    shifted = (scores - scores.detach().amax(dim=-1, keepdim=True)).clamp(min=-2.0)
    ranks = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)
    return shifted, shifted.sort(dim=-1, descending=True).values, ranks


NORMALISERS: Table[type[Normaliser]] = Table(
    "model.attention.normaliser", {"softmax": Softmax, "sparsemax": Sparsemax, "entmax15": Entmax15}
)
