"""Training objectives, as sums over the target tokens of a batch without padding.

To add one, subclass `Objective`, register it in `OBJECTIVES`, and give it a section in `config/sections.py`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from transformer_mt.attention.shapes import Logits, States, Target
from transformer_mt.batching.batches import Batch
from transformer_mt.config.sections import CrossEntropyConfig, ObjectiveConfig
from transformer_mt.ground.registry import Table
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, UNK
from transformer_mt.training.chunked_loss import Sum, chunked_linear_cross_entropy

# With byte fallback, no text has unknown tokens, so their symbol can mark masked ones.
MASK = UNK


class Objective(ABC):
    """A loss to minimise, summed over the target tokens of a batch; the model is in training mode."""

    @abstractmethod
    def __call__(self, model: nn.Module, batch: Batch) -> Sum:
        """Return the differentiable loss, a scalar in nats, summed over the batch's target tokens."""


@dataclass(frozen=True)
class CrossEntropy(Objective):
    """Σ −Σ_k q_k log p_k over target tokens, q = (1 − ε) one-hot + ε/V; see `cross_entropy`."""

    config: CrossEntropyConfig

    @override
    def __call__(self, model: nn.Module, batch: Batch) -> Sum:
        labels = batch.labels
        smoothing = self.config.label_smoothing
        tokens = batch.target_tokens

        def of_states(states: States, output: nn.Linear) -> Sum:
            return chunked_linear_cross_entropy(states, output, labels, tokens=tokens, label_smoothing=smoothing)

        loss: Tensor = model(batch.source, batch.decoder_input, of_states)
        return loss


def mask_tokens(tokens: Int[Tensor, "B L"], *, share: float) -> Int[Tensor, "B L"]:
    """Replace each token by `MASK` with probability `share`, except `BOS`, `EOS` and padding.

    As in BERT (Devlin et al. 2019, §3.1), but without a separate loss.
    """
    if share == 0.0:
        return tokens
    hidden = torch.rand(tokens.shape, device=tokens.device) < share
    for symbol in (BOS, EOS, PAD):
        hidden &= tokens != symbol
    return tokens.masked_fill(hidden, MASK)


def cross_entropy(logits: Logits, labels: Target, *, label_smoothing: float) -> Sum:
    """Σ −Σ_k q_k log p_k over tokens that are not padding, q = (1 − ε) one-hot + ε/V.

    Szegedy et al. 2016, §7; Vaswani et al. 2017, §5.4. Logits B T V, labels B T; computed in float32 or more.
    """
    logits = logits.flatten(0, 1)  # B T V -> BT V
    if logits.dtype == torch.bfloat16:
        logits = logits.float()
    return F.cross_entropy(logits, labels.flatten(), ignore_index=PAD, label_smoothing=label_smoothing, reduction="sum")


def entropy_of_targets(label_smoothing: float, vocabulary: int) -> float:
    """H(q) = −Σ_k q_k ln q_k of q = (1 − ε) one-hot + ε/V, in nats: the least `cross_entropy` per token, at p = q."""
    other = label_smoothing / vocabulary
    own = 1.0 - label_smoothing + other
    return math.fsum(-count * q * math.log(q) for count, q in ((1, own), (vocabulary - 1, other)) if q)


OBJECTIVES: Table[Callable[..., Objective]] = Table("objective.name", {"cross_entropy": CrossEntropy})


def build_objective(config: ObjectiveConfig) -> Objective:
    """Build the configured objective. Raises `InputError` for an unknown name."""
    return OBJECTIVES.find(config.name)(config)
