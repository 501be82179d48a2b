"""Checks of a configuration before the corpus is read, and the first weights."""

import torch

from transformer_mt.config.sections import Config
from transformer_mt.ground.device import choose_device, choose_precision, free_memory_of
from transformer_mt.ground.distributed import Distributed
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.memory import require
from transformer_mt.ground.plugins import naming_plugins
from transformer_mt.models.blocks import BatchNorm
from transformer_mt.models.build_model import build_model, checking_size
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.training.averaging import AVERAGING
from transformer_mt.training.objective import build_objective
from transformer_mt.training.optimizer import OPTIMIZERS
from transformer_mt.training.reports import VALIDATION_METRICS, metric_of
from transformer_mt.training.schedules import schedule_function


def check_configuration(config: Config, distributed: Distributed) -> None:
    """Raise `InputError` for unknown names, incompatible values, or too large a model."""
    training = config.training
    schedule_function(config.schedule)
    device = device_of(config, distributed)
    build_objective(config.objective)
    if (config.tokenizer.kind, config.tokenizer.sampling) == ("bpe", "subword"):
        raise InputError("tokenizer.sampling", "subword needs a unigram vocabulary", "choose none, or another kind")
    choose_precision(training.precision, device)
    OPTIMIZERS.find(config.optimizer.name)
    AVERAGING.find(training.averaging)
    VALIDATION_METRICS.find(metric_of(training, pairs=0))
    with torch.device("meta"):  # without values
        model = initial_model(config, device, vocabulary_size=config.tokenizer.vocabulary_size)
    if distributed.world_size > 1 and any(isinstance(module, BatchNorm) for module in model.modules()):
        problem = "batch would use separate statistics in each process"
        raise InputError("model.norm", problem, "choose layer, or train with one process")


def device_of(config: Config, distributed: Distributed) -> torch.device:
    """The device that this process trains on. Raises as `choose_device`."""
    local_rank = None if distributed.world_size == 1 else distributed.local_rank
    return choose_device(config.training.device, local_rank=local_rank, key="training.device")


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
