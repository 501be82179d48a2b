"""The weights to use after training: the best, a running average, or a mean over checkpoints."""

import copy
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

import torch
from torch.optim.swa_utils import get_ema_multi_avg_fn
from typing_extensions import override

from transformer_mt.config.sections import TrainingConfig
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.weights import Tensors, load_weights, weights_of

# The validated steps with their scores (higher is better), the current one last.
History = Sequence[tuple[int, float]]


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

    def averaged(self, history: History, count: int) -> list[int]:
        """The validated steps to average, at most `count`, in order of training; empty to use the best."""
        return []

    def select_weights(self, history: History, *, best: bool, read: Callable[[int], Tensors]) -> Tensors | None:
        """The weights to use after a validation, or None to keep the old ones; `read` reads an earlier step's."""
        if steps := self.averaged(history, self.config.average_checkpoints):
            present = history[-1][0]
            return mean_weights(weights_of(self.model) if step == present else read(step) for step in steps)
        return weights_of(self.candidate()) if best else None

    def steps_to_keep(self, history: History) -> set[int]:
        """The steps whose weights a later mean may need, plus one in case the newest checkpoint gets damaged."""
        return set(self.averaged(history, self.config.average_checkpoints + 1))

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


class LastCheckpoints(Averaging):
    """`last`: the mean of the last validated weights (Vaswani et al. 2017, §6.1)."""

    @override
    def averaged(self, history: History, count: int) -> list[int]:
        return [step for step, _ in history][-count:]


class BestCheckpoints(Averaging):
    """`best`: the mean of the validated weights with the best scores."""

    @override
    def averaged(self, history: History, count: int) -> list[int]:
        return sorted(step for step, _ in sorted(history, key=itemgetter(1), reverse=True)[:count])


AVERAGING: dict[str, type[Averaging]] = {
    "none": Averaging,
    "ema": ExponentialMovingAverage,
    "last": LastCheckpoints,
    "best": BestCheckpoints,
}


def mean_weights(several: Iterable[Tensors]) -> Tensors:
    """Average each tensor over several sets of weights, summed in float64."""
    sums: Tensors = {}
    for count, weights in enumerate(several, start=1):  # noqa: B007 - used below
        for name, tensor in weights.items():
            value = tensor.detach().to("cpu", torch.float64)
            sums[name] = sums[name] + value if name in sums else value
    return {name: (total / count).float() for name, total in sums.items()}
