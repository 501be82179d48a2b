"""`tmt check`: report shapes and cost, and overfit a single batch, before training starts."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from transformer_mt.batching.batches import Batch
from transformer_mt.config.sections import Config
from transformer_mt.ground.distributed import Distributed
from transformer_mt.ground.errors import MachineError
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.training.build import check_configuration
from transformer_mt.training.session import TrainingSession, build_session, open_corpora
from transformer_mt.training.trainer import Trainer

LEARNING_RATE = 1e-3
MOST_STEPS = 400
PAIRS_LEARNED = 16
TIMED_STEPS = 5
PAIRS_SHOWN = 3


def check_training(config: Config, note: Callable[..., object]) -> Iterator[str]:
    """Yield lines about the training to come; pass notes to `note`.

    Raises `MachineError` if one batch cannot be learned.
    """
    check_configuration(config, Distributed())  # errors come before reading the corpus
    corpora, config = open_corpora(config)
    session = build_session(config, Run(Path("unwritten")), corpora)
    note(*session.notes)
    stream = session.trainer.stream
    rows = stream.plan[0]  # timing may go on to another epoch
    first, few = (stream.encoded.batch(part).to(session.trainer.device) for part in (rows, rows[:PAIRS_LEARNED]))
    yield from _sizes(session)
    yield from ("", f"a batch of {_size(first)}")
    for source, target in zip(first.source[:PAIRS_SHOWN].tolist(), first.labels.tolist(), strict=False):
        yield from (f"  {' '.join(session.tokenizer.pieces(tokens))}" for tokens in (source, target))
    yield from ("", "shapes (batch × length × width, heads after the batch)")
    made = shapes(session.trainer.model, first)
    yield from (f"  {name:{max(map(len, made))}} {shape}" for name, shape in made.items())
    yield from _cost(session)
    yield from _learning(session, few, note)


def _sizes(session: TrainingSession) -> Iterator[str]:
    trainer = session.trainer
    corpus = session.corpus
    yield f"device      {trainer.device.type}, {str(trainer.precision).removeprefix('torch.')}"
    yield f"corpus      {corpus.name}: {corpus.sizes} pairs, {sum(corpus.left_out.values())} left out"
    yield f"vocabulary  {session.tokenizer.size} tokens"
    yield f"batches     {len(trainer.stream.plan)} per epoch, at most {trainer.config.batch_tokens} tokens per side"
    sizes = {"parameters": trainer.model} | {f"  {name}": part for name, part in trainer.model.named_children()}
    yield from (f"{name:11} {sum(map(Tensor.numel, part.parameters())):,}" for name, part in sizes.items())


def _cost(session: TrainingSession) -> Iterator[str]:
    trainer = session.trainer
    yield ""
    for large in try_largest(trainer):
        yield f"fits        a batch of {_size(large)}, the largest"
    seconds = seconds_per_step(trainer)
    yield f"time        {seconds:.2f} s a step, {seconds * len(session) / 60:.1f} minutes for {len(session)} steps"
    if trainer.device.type == "cuda":
        yield f"memory      {torch.cuda.max_memory_allocated(trainer.device) / 2**30:.2f} GiB peak so far"


def _learning(session: TrainingSession, batch: Batch, note: Callable[..., object]) -> Iterator[str]:
    for step, accuracy in overfit(session.trainer, batch):
        note(f"overfitting {len(batch.pairs)} pairs: step {step}, {100 * accuracy:.1f} % right")
    if accuracy < 1.0:
        right = f"only {100 * accuracy:.1f} % of one batch are right"
        raise MachineError("training", f"after {step} steps {right}", "try a larger model.width")
    yield f"learning    one batch of {len(batch.pairs)} pairs overfitted in {step} steps"


def shapes(model: nn.Module, batch: Batch) -> dict[str, str]:
    """The output shape of each module of the model, in order of first use."""
    shapes: dict[str, str] = {}

    def note(_: nn.Module, inputs: object, output: object, *, name: str) -> None:
        first = output[0] if isinstance(output, tuple) and output else output
        if isinstance(first, Tensor):
            shapes.setdefault(name, "×".join(map(str, first.shape)))

    hooks = [module.register_forward_hook(partial(note, name=name)) for name, module in model.named_modules() if name]
    with torch.no_grad():
        model(batch.source, batch.decoder_input)
    for hook in hooks:
        hook.remove()
    return shapes


def seconds_per_step(trainer: Trainer) -> float:
    """Time real training steps, after one warm-up step. Changes the trainer; writes nothing."""
    float(trainer.step().gradient_norm)
    start = time.perf_counter()
    steps = [trainer.step() for _ in range(TIMED_STEPS)]
    float(steps[-1].gradient_norm)  # waits for a GPU to finish
    return (time.perf_counter() - start) / TIMED_STEPS


def try_largest(trainer: Trainer) -> Iterator[Batch]:
    """Run both passes on the largest and on the longest batch, which need the most memory; yield each afterwards."""
    plan = trainer.stream.plan
    pairs = trainer.stream.encoded
    widths = [(int(pairs.source_lengths[rows].max()), int(pairs.target_lengths[rows].max())) for rows in plan]
    largest = max(range(len(plan)), key=lambda index: len(plan[index]) * sum(widths[index]))
    longest = max(range(len(plan)), key=lambda index: max(widths[index]))
    trainer.model.train()
    for batch in (pairs.batch(plan[index]) for index in dict.fromkeys((largest, longest))):
        float(trainer.backward(batch.to(trainer.device), batch.target_tokens))
        trainer.model.zero_grad()
        yield batch


def overfit(trainer: Trainer, batch: Batch) -> Iterator[tuple[int, float]]:
    """Train on one batch until all target tokens are the argmax; yield (step, share of them) every ten steps."""
    model = trainer.model.eval()  # without dropout, the easiest case
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    real = batch.labels != PAD
    for step in range(1, MOST_STEPS + 1):
        trainer.backward(batch, batch.target_tokens)
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            with torch.no_grad():
                right: Tensor = model(batch.source, batch.decoder_input).argmax(dim=-1) == batch.labels
            accuracy = float((right & real).sum() / real.sum())
            yield step, accuracy
            if accuracy == 1.0:
                return


def _size(batch: Batch) -> str:
    source, target = batch.sizes
    return f"{len(batch.pairs)} pairs, source {source}, target {target}"
