"""Stochastic gradient descent with momentum.

    tmt --plugin scripts/plugins/sgd.py train --set optimizer.name=sgd

docs/laboratory.md has its results.
"""

from torch import nn
from torch.optim import SGD, Optimizer

from transformer_mt.config.sections import OptimizerSection, Probability, add_section
from transformer_mt.training.optimizer import OPTIMIZERS


class SGDConfig(OptimizerSection):
    """Stochastic gradient descent with momentum (Sutskever et al. 2013)."""

    name: str = "sgd"
    momentum: Probability = 0.9
    """Share of the last step that the next one repeats."""


def sgd(model: nn.Module, config: SGDConfig) -> Optimizer:
    """m ← μ m + g, w ← w − η m (Sutskever et al. 2013, §2, in torch's form)."""
    return SGD(model.parameters(), lr=1.0, momentum=config.momentum)


OPTIMIZERS["sgd"] = sgd
add_section("optimizer", SGDConfig)
