"""The weights to validate and use: those being trained, or a running average."""

import copy

from torch.optim.swa_utils import get_ema_multi_avg_fn
from typing_extensions import override

from transformer_mt.config.sections import TrainingConfig
from transformer_mt.ground.registry import Table
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.weights import Tensors, load_weights, weights_of


class Averaging:
    """`none`: validate the weights being trained, and use the best."""

    def __init__(self, model: Seq2Seq, config: TrainingConfig) -> None:
        self.model = model
        self.config = config

    def update(self, step: int) -> None:
        """Update a running average with the weights after a step, counted from 1."""

    def candidate(self) -> Seq2Seq:
        """The model to validate."""
        return self.model

    def state(self) -> Tensors:
        """The tensors needed to resume training, except the candidate's weights."""
        return {}

    def load(self, weights: Tensors, state: Tensors) -> None:
        """Restore the candidate's weights and the tensors of `state()`."""
        load_weights(self.candidate(), weights)


class ExponentialMovingAverage(Averaging):
    """`ema`: w̄ ← d w̄ + (1 − d) w after every step t, d = min(decay, t / (9 + t)); use the best w̄.

    Polyak and Juditsky 1992. The average starts at the first w; the rising decay makes it forget the random start.
    """

    def __init__(self, model: Seq2Seq, config: TrainingConfig) -> None:
        super().__init__(model, config)
        self.average = copy.deepcopy(model)
        self.pairs = list(zip(weights_of(self.average).values(), weights_of(model).values(), strict=True))

    @override
    def update(self, step: int) -> None:
        means = []
        weights = []
        for mean, weight in self.pairs:
            if mean.is_floating_point():
                means.append(mean)
                weights.append(weight)
            else:  # a counter
                mean.copy_(weight)
        decay = min(self.config.ema_decay, step / (9 + step)) if step > 1 else 0.0
        get_ema_multi_avg_fn(decay)(means, weights, step)

    @override
    def candidate(self) -> Seq2Seq:
        return self.average

    @override
    def state(self) -> Tensors:
        return weights_of(self.model)

    @override
    def load(self, weights: Tensors, state: Tensors) -> None:
        super().load(weights, state)
        load_weights(self.model, state)


AVERAGING = Table("training.averaging", {"none": Averaging, "ema": ExponentialMovingAverage})
