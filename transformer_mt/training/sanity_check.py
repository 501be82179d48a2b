"""A look at training before it starts: sizes, shapes, cost, and whether the model can learn one batch at all."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from transformer_mt.batching.batches import Batch
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.training.session import TrainingSession
from transformer_mt.training.stream import BatchStream

# Constant: one batch does not need a schedule.
LEARNING_RATE = 1e-3
MOST_STEPS = 400
TIMED_STEPS = 5


@dataclass(frozen=True, slots=True)
class Cost:
    """What a training step takes, and what all of them will, validations not counted."""

    seconds_per_step: float
    hours: float
    memory_gib: float | None


@dataclass(frozen=True, slots=True)
class Learned:
    """How the model did on one batch: after so many steps, this share of its target tokens came first."""

    steps: int
    accuracy: float
    loss: float


def shapes(model: nn.Module, batch: Batch) -> Iterator[tuple[str, str]]:
    """The name of every part of the model that makes a tensor, and the tensor's shape, in order of computation.

    A part that is used more than once, as in every step of a recurrent model, is named where it is used first.
    """
    found: dict[str, str] = {}

    def note(_: nn.Module, inputs: object, output: object, *, name: str) -> None:
        del inputs
        found.setdefault(name, _shape(output))

    hooks = [module.register_forward_hook(partial(note, name=name)) for name, module in model.named_modules() if name]
    try:
        with torch.no_grad():
            model(batch.source, batch.decoder_input)
    finally:
        for hook in hooks:
            hook.remove()
    return ((name, shape) for name, shape in found.items() if shape)


def measure_cost(session: TrainingSession, *, steps: int) -> Cost:
    """Time real steps of training, after one that warms up. Changes the trainer; writes nothing."""
    trainer = session.trainer
    float(trainer.step().gradient_norm)
    start = time.perf_counter()
    steps_timed = [trainer.step() for _ in range(TIMED_STEPS)]
    float(steps_timed[-1].gradient_norm)  # for which a GPU must have done all of them
    seconds = (time.perf_counter() - start) / TIMED_STEPS
    return Cost(seconds, seconds * steps / 3600, _peak_memory(trainer.device))


def largest_batches(stream: BatchStream) -> list[Batch]:
    """The batch with most cells, padding included, and the one with the longest sentences, where that is another."""

    def widths(number: int) -> tuple[int, int]:
        rows = stream.plan[number]
        return int(stream.encoded.source_lengths[rows].max()), int(stream.encoded.target_lengths[rows].max())

    batches = range(len(stream.plan))
    largest = max(batches, key=lambda number: len(stream.plan[number]) * sum(widths(number)))
    longest = max(batches, key=lambda number: max(widths(number)))
    return [stream.encoded.batch(stream.plan[number]) for number in dict.fromkeys((largest, longest))]


def try_batch(session: TrainingSession, batch: Batch) -> None:
    """Both passes over a batch, which take most of a step's memory. Raises `MachineError` without it."""
    trainer = session.trainer
    trainer.model.train()
    float(trainer.backward(batch.to(trainer.device), trainer.objective.tokens(batch)))
    trainer.model.zero_grad()


def overfit(session: TrainingSession, batch: Batch) -> Iterator[Learned]:
    """Train on one batch, without dropout, until every target token comes first; yields after every ten steps."""
    trainer = session.trainer
    model = trainer.model.eval()  # without dropout: a model that cannot learn a batch by heart so never will
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


def _shape(output: object) -> str:
    match output:
        case Tensor():
            return "×".join(map(str, output.shape))
        case (Tensor() as first, *_):
            return _shape(first)
    return ""


def _peak_memory(device: torch.device) -> float | None:
    """The most memory that the process has held, in GiB: on the GPU where it runs there, else in main memory.

    None on Windows, whose Python cannot tell.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**30
    if sys.platform == "win32":
        return None
    import resource  # only Unix has it

    unit = 1 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
