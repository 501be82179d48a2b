"""SimCut: a second pass over the same pair with some tokens masked, pulled towards the whole one.

    tmt --plugin scripts/plugins/simcut.py train --set objective.name=simcut

configs/README.md has its results.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from transformer_mt.batching.batches import Batch
from transformer_mt.config.sections import CrossEntropyConfig, Probability, add_section
from transformer_mt.models.seq2seq import log_softmax
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.training.objective import OBJECTIVES, Objective, cross_entropy, mask_tokens


class SimCutConfig(CrossEntropyConfig):
    """Cross-entropy with a KL term that pulls a pass with masked tokens towards the whole one (SimCut)."""

    name: str = "simcut"
    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 3.0
    """Weight α of the divergence between the passes."""
    cut: Probability = 0.05
    """Share of tokens masked, on both sides."""


@dataclass(frozen=True)
class SimCut(Objective):
    """CE + α KL(p ‖ p_cut), p_cut from the same pair with some tokens of both sides masked; both passes learn.

    Gao et al. 2022, eq. 4. Their masked embeddings are zero; ours is the learned one of `MASK`.
    """

    config: SimCutConfig

    @override
    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        read = batch.source, batch.decoder_input
        whole = model(*read)
        cut = model(*(mask_tokens(tokens, share=self.config.cut) for tokens in read))
        log_p = log_softmax(whole)
        apart = (log_p.exp() * (log_p - log_softmax(cut))).sum(dim=-1)  # KL of each token
        labelled = cross_entropy(whole, batch.labels, label_smoothing=self.config.label_smoothing)
        return labelled + self.config.weight * torch.where(batch.labels != PAD, apart, 0.0).sum()


OBJECTIVES["simcut"] = SimCut
add_section("objective", SimCutConfig)
