"""The parts of a training that do not depend on its data, so that errors come before reading the corpus."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from transformer_mt.config.sections import Config, TrainingConfig
from transformer_mt.ground.device import choose_device, choose_precision, free_memory_of
from transformer_mt.ground.distributed import Distributed
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.memory import require
from transformer_mt.ground.plugins import naming_plugins
from transformer_mt.ground.registry import lookup
from transformer_mt.models.blocks import BatchNorm
from transformer_mt.models.build_model import build_model, checking_size
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.training.averaging import AVERAGING, Averaging
from transformer_mt.training.objective import Objective, build_objective
from transformer_mt.training.optimizer import OPTIMIZERS
from transformer_mt.training.reports import VALIDATION_METRICS, Validation
from transformer_mt.training.schedules import schedule_function


@dataclass(frozen=True)
class TrainingParts:
    """The parts of a training that its configuration chooses."""

    config: Config
    distributed: Distributed
    device: torch.device
    precision: torch.dtype
    objective: Objective
    averaging: Callable[[Seq2Seq, TrainingConfig], Averaging]
    score_of: Callable[[Validation], float]


def build_parts(config: Config, distributed: Distributed | None = None) -> TrainingParts:
    """Build the configured parts. Raises `InputError` for unknown names, incompatible values, or too large a model."""
    training = config.training
    distributed = distributed or Distributed()
    schedule_function(config.schedule)
    local_rank = None if distributed.world_size == 1 else distributed.local_rank
    device = choose_device(training.device, local_rank=local_rank, key="training.device")
    objective = build_objective(config.objective)
    if (config.tokenizer.kind, config.tokenizer.sampling) == ("bpe", "subword"):
        raise InputError("tokenizer.sampling", "subword needs a unigram vocabulary", "choose none, or another kind")
    precision = choose_precision(training.precision, device)
    lookup(OPTIMIZERS, config.optimizer.name, key="optimizer.name")
    averaging = lookup(AVERAGING, training.averaging, key="training.averaging")
    score_of = lookup(VALIDATION_METRICS, training.best_metric, key="training.best_metric")
    with torch.device("meta"):  # without values
        model = initial_model(config, device, vocabulary_size=config.tokenizer.vocabulary_size)
    if distributed.world_size > 1 and any(isinstance(module, BatchNorm) for module in model.modules()):
        problem = "batch would use separate statistics in each process"
        raise InputError("model.norm", problem, "choose layer, or train with one process")
    return TrainingParts(config, distributed, device, precision, objective, averaging, score_of)


def initial_model(config: Config, device: torch.device, *, vocabulary_size: int) -> Seq2Seq:
    """Build the model with weights drawn from the configuration's seed, which torch then goes on with.

    Raises `InputError` if the model, its gradient, Adam's two means and the logits of one batch do not fit into the
    device's memory.
    """
    logits = 4 * config.training.batch_tokens * vocabulary_size
    what = "model, training.batch_tokens"
    remedy = "lower model.width, its layers, or the batch"
    torch.manual_seed(config.training.seed)
    free = free_memory_of(device)

    def check(size: int) -> None:
        require(4 * size + logits, lambda: free, what=what, remedy=remedy)

    with checking_size(check), naming_plugins(config.plugins):
        return build_model(config.model, vocabulary_size=vocabulary_size)
