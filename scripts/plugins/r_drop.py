"""R-Drop: two passes over the same batch with different dropout, pulled towards each other.

    tmt --plugin scripts/plugins/r_drop.py train --set objective.name=r_drop

docs/laboratory.md has its results.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.batching.batches import Batch
from transformer_mt.config.sections import CrossEntropyConfig, add_section
from transformer_mt.models.seq2seq import log_softmax
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.training.objective import OBJECTIVES, Objective, cross_entropy


class RDropConfig(CrossEntropyConfig):
    """Cross-entropy of two passes under different dropout, with a KL term that pulls them together (R-Drop)."""

    name: str = "r_drop"
    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 5.0
    """Weight α of the divergence between the passes."""


@dataclass(frozen=True)
class RDrop(Objective):
    """½ (CE_1 + CE_2) + α/4 (KL(p_1 ‖ p_2) + KL(p_2 ‖ p_1)), p_1 and p_2 from two passes with different dropout.

    Liang et al. 2021, eq. 4, halved to keep the loss comparable to a single pass.
    """

    config: RDropConfig

    @override
    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        passes = [model(batch.source, batch.decoder_input) for _ in range(2)]
        labelled = sum(cross_entropy(z, batch.labels, label_smoothing=self.config.label_smoothing) for z in passes)
        log_p, log_q = map(log_softmax, passes)
        apart = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(dim=-1)  # both divergences of each token
        return 0.5 * labelled + 0.25 * self.config.weight * torch.where(batch.labels != PAD, apart, 0.0).sum()


OBJECTIVES["r_drop"] = RDrop
add_section("objective", RDropConfig)
