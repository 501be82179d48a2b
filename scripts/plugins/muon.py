"""Muon for weight matrices, and Adam for everything else.

    tmt --plugin scripts/plugins/muon.py train --set optimizer.name=muon

configs/README.md has its results.
"""

from torch import nn
from torch.optim import Adam, Muon, Optimizer
from typing_extensions import override

from transformer_mt.config.sections import AdamConfig, Decay, Factor, Probability, add_section
from transformer_mt.training.optimizer import OPTIMIZERS, split_parameters


class MuonConfig(AdamConfig):
    """Muon (Jordan et al. 2024) for weight matrices; Adam, with its betas and epsilon, for everything else."""

    name: str = "muon"
    matrix_rate: Factor = 5.0
    """Learning rate of the matrices, as a multiple of the scheduled one."""
    momentum: Probability = 0.95
    """Decay per step of the matrices' running gradient."""
    weight_decay: Decay = 0.0
    """Decay of the matrices per step, times their learning rate."""


class MuonAndAdam(Optimizer):
    """Two optimizers as one. They share its state and its groups, the first one for Muon."""

    def __init__(self, muon: Muon, adam: Adam) -> None:
        self.parts = muon, adam
        super().__init__([*muon.param_groups, *adam.param_groups], {})

    @override
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for part, groups in zip(self.parts, (self.param_groups[:1], self.param_groups[1:]), strict=True):
            part.state, part.param_groups = self.state, groups  # loading has replaced them
            part.step()


def muon(model: nn.Module, config: MuonConfig) -> Optimizer:
    """Matrices: m ← μ m + g, w ← w − η U V^T √max(1, rows / columns), U Σ V^T = g + μ m; others: Adam.

    Jordan et al. 2024; torch computes U V^T approximately by five Newton–Schulz iterations.
    """
    matrices, others = split_parameters(model)
    own = Muon(matrices, lr=config.matrix_rate, momentum=config.momentum, weight_decay=config.weight_decay)
    return MuonAndAdam(own, Adam(others, lr=1.0, betas=config.betas, eps=config.epsilon, fused=True))


OPTIMIZERS["muon"] = muon
add_section("optimizer", MuonConfig)
