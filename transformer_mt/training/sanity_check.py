"""A look at training before it starts: shapes, cost, and whether the model can learn a single batch at all."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from transformer_mt.batching.batches import Batch
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.training.stream import BatchStream
from transformer_mt.training.trainer import Trainer

# Constant: one batch does not need a schedule.
LEARNING_RATE = 1e-3
MOST_STEPS = 400
TIMED_STEPS = 5


@dataclass(frozen=True, slots=True)
class Learned:
    """Progress on one batch: the share of its target tokens that come first after this many steps, and the loss."""

    steps: int
    accuracy: float
    loss: float


def shapes(model: nn.Module, batch: Batch) -> dict[str, str]:
    """The shape of the tensor that each part of the model makes, in the order of their first use."""
    shapes: dict[str, str] = {}

    def note(_: nn.Module, inputs: object, output: object, *, name: str) -> None:
        del inputs
        first = output[0] if isinstance(output, tuple) and output else output
        if isinstance(first, Tensor):
            shapes.setdefault(name, "×".join(map(str, first.shape)))

    hooks = [module.register_forward_hook(partial(note, name=name)) for name, module in model.named_modules() if name]
    try:
        with torch.no_grad():
            model(batch.source, batch.decoder_input)
    finally:
        for hook in hooks:
            hook.remove()
    return shapes


def seconds_per_step(trainer: Trainer) -> float:
    """The time of a real training step, after one that warms up. Changes the trainer; writes nothing."""
    float(trainer.step().gradient_norm)
    start = time.perf_counter()
    steps = [trainer.step() for _ in range(TIMED_STEPS)]
    float(steps[-1].gradient_norm)  # waits for a GPU to finish
    return (time.perf_counter() - start) / TIMED_STEPS


def largest_batches(stream: BatchStream) -> list[Batch]:
    """The batch with the most tokens, padding included, and the one with the longest sentences, if it is another."""
    plan, pairs = stream.plan, stream.encoded
    widths = [(int(pairs.source_lengths[rows].max()), int(pairs.target_lengths[rows].max())) for rows in plan]
    largest = max(range(len(plan)), key=lambda index: len(plan[index]) * sum(widths[index]))
    longest = max(range(len(plan)), key=lambda index: max(widths[index]))
    return [pairs.batch(plan[index]) for index in dict.fromkeys((largest, longest))]


def try_batch(trainer: Trainer, batch: Batch) -> None:
    """Both passes over a batch, which take most of a step's memory. Raises `MachineError` where it is not enough."""
    trainer.model.train()
    float(trainer.backward(batch.to(trainer.device), trainer.objective.tokens(batch)))
    trainer.model.zero_grad()


def overfit(trainer: Trainer, batch: Batch) -> Iterator[Learned]:
    """Train on one batch until every target token comes first; yields after every ten steps."""
    model = trainer.model.eval()  # without dropout, the easiest case
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for step in range(1, MOST_STEPS + 1):
        loss = trainer.backward(batch, trainer.objective.tokens(batch))
        trainer.scaler.step(optimizer)
        trainer.scaler.update()
        optimizer.zero_grad()
        if step % 10 == 0:
            learned = Learned(step, _accuracy(model, batch), float(loss))
            yield learned
            if learned.accuracy == 1.0:
                return


@torch.no_grad()
def _accuracy(model: nn.Module, batch: Batch) -> float:
    real = batch.labels != PAD
    right: Tensor = model(batch.source, batch.decoder_input).argmax(dim=-1) == batch.labels
    return float((right & real).sum() / real.sum())


def peak_memory(device: torch.device) -> float | None:
    """The most memory that the process has held in GiB, on its GPU or in main memory; None on Windows."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**30
    if sys.platform == "win32":
        return None
    import resource

    unit = 1 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
