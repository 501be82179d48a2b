"""`tmt train --check`: builds and shows everything, overfits one batch, writes nothing."""

import math
from pathlib import Path

from torch import Tensor, nn

from transformer_mt.batching.batches import Batch
from transformer_mt.cli.terminal import note, result
from transformer_mt.config.sections import Config
from transformer_mt.errors import MachineError
from transformer_mt.runs.directory import Run
from transformer_mt.training.sanity_check import (
    largest_batches,
    overfit,
    peak_memory,
    seconds_per_step,
    shapes,
    try_batch,
)  # fmt: skip
from transformer_mt.training.session import build_session, open_corpora
from transformer_mt.training.trainer import Trainer

SENTENCES_SHOWN = 3
SENTENCES_LEARNED = 16


def check_training(config: Config) -> None:
    """Print what training would be like. Raises `MachineError` when the model cannot learn a single batch."""
    corpora, config = open_corpora(config)
    session = build_session(config, Run(Path("unwritten")), corpora)
    trainer, corpus, tokenizer = session.trainer, session.corpus, session.tokenizer
    note(*session.notes)
    result(f"device      {trainer.device.type}, {str(trainer.precision).removeprefix('torch.')}")
    result(f"corpus      {corpus.name}: {corpus.sizes} pairs, {sum(corpus.report.left_out.values())} left out")
    result(f"vocabulary  {tokenizer.size} subwords")
    plan = trainer.stream.plan
    result(f"batches     {len(plan)} an epoch of at most {config.training.batch_tokens} tokens a side")
    result(f"parameters  {_parameters(trainer.model):,}")
    for name, part in trainer.model.named_children():
        result(f"  {name:18} {_parameters(part):>12,}")
    batch = trainer.stream.encoded.batch(plan[0]).to(trainer.device)
    result("")
    result(f"a batch of {len(batch.pairs)} pairs, source {_size(batch.source)}, target {_size(batch.decoder_input)}")
    for row in range(min(SENTENCES_SHOWN, len(batch.pairs))):
        result(f"  {' '.join(tokenizer.pieces(batch.source[row].tolist()))}")
        result(f"  {' '.join(tokenizer.pieces(batch.labels[row].tolist()))}")
    result("")
    result("shapes (batch × length × width, heads after the batch)")
    found = shapes(trainer.model, batch)
    width = max(map(len, found))
    for name, shape in found.items():
        result(f"  {name:{width}} {shape}")
    result("")
    for large in largest_batches(trainer.stream):
        try_batch(trainer, large)
        sizes = f"source {_size(large.source)}, target {_size(large.decoder_input)}"
        result(f"fits        a batch of {len(large.pairs)} pairs, the largest: {sizes}")
    steps = config.training.steps
    if config.training.epochs:
        steps = math.ceil(config.training.epochs * len(plan) / config.training.accumulation_steps)
    seconds, memory = seconds_per_step(trainer), peak_memory(trainer.device)
    result(f"time        {seconds:.2f} s a step, {seconds * steps / 60:.1f} minutes for {steps} steps")
    if memory is not None:
        result(f"memory      {memory:.2f} GiB at the most so far")
    _overfit(trainer, trainer.stream.encoded.batch(plan[0][:SENTENCES_LEARNED]).to(trainer.device))


def _parameters(part: nn.Module) -> int:
    return sum(parameter.numel() for parameter in part.parameters())


def _overfit(trainer: Trainer, batch: Batch) -> None:
    for learned in overfit(trainer, batch):
        note(f"overfitting {len(batch.pairs)} pairs: step {learned.steps}, {100 * learned.accuracy:.1f} % right")
        if learned.accuracy == 1.0:
            result(f"learning    one batch of {len(batch.pairs)} pairs overfitted in {learned.steps} steps")
            return
    raise MachineError(
        f"--check: after {learned.steps} steps only {100 * learned.accuracy:.1f} % of one batch are right; "
        "the model is too small or something in it is broken; try a larger model.width"
    )


def _size(tensor: Tensor) -> str:
    return "×".join(map(str, tensor.shape))
