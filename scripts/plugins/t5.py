"""T5's positions: a learned number per bucket of distances, shared by all layers of a stack.

    tmt --plugin scripts/plugins/t5.py train --set 'model.attention.position=t5(32, 128)'

docs/laboratory.md has its results.
"""

import math
from typing import ClassVar

import torch
from torch import Tensor
from typing_extensions import override

from transformer_mt.attention.hooks import show
from transformer_mt.attention.initialisation import embedding_table
from transformer_mt.attention.positions import POSITIONS, AttentionPosition, Place, distances
from transformer_mt.attention.shapes import Queries, Scores


class T5(AttentionPosition):
    """e + b_{c,r}: a learned number for head r and each bucket c of j − i, shared by all layers of a stack.

    Raffel et al. 2020, §2.1. In a decoder, half of the buckets cover one distance each, the other half ranges that grow
    exponentially up to the maximum distance; anything beyond falls into the last bucket. An encoder has half as many
    per direction.
    """

    formulas: ClassVar = {"bucket_j": "bucket of j − i", "b_j": "b_bucket", "e′_j": "e_j + b_j"}
    adds_terms = True
    shared = True
    buckets: Tensor

    def __init__(self, place: Place, buckets: int, max_distance: int) -> None:
        super().__init__(place)
        if buckets < 4 or buckets % 2 or max_distance <= buckets // 2:
            raise ValueError("the buckets must be even, at least 4, and fewer than twice the maximum distance")
        self.max_distance = max_distance
        each = buckets if place.causal else buckets // 2
        self.terms = embedding_table(buckets, place.score.sizes.heads)
        exact = each // 2
        right = torch.arange(-max_distance, max_distance + 1, dtype=torch.float64, device="cpu")
        apart = (-right).clamp(min=0.0) if place.causal else right.abs()
        grown = (apart / exact).clamp(min=1.0).log() / math.log(max_distance / exact) * (each - exact) + exact
        bucket = torch.where(apart < exact, apart, grown).long().clamp(max=each - 1)
        self.register_buffer("buckets", bucket + each * ((right > 0) & (apart > 0)), persistent=False)

    @override
    def add_to_scores(self, scores: Scores, queries: Queries) -> Scores:
        right = distances(*scores.shape[-2:], device=scores.device).clamp(-self.max_distance, self.max_distance)
        terms = self.terms(show(self, "bucket_j", self.buckets[right + self.max_distance], "Q K"))  # Q K H
        return self.added(scores, terms.permute(2, 0, 1)[None])


POSITIONS["t5"] = T5
