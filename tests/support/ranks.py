"""Two processes that train together, and the values each of them sees.

`python ranks.py FOLDER` runs every scenario below as one process of a launcher and pickles the results into the folder.
The scenarios share the two processes, because starting these takes longer than everything else.
"""

import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from support.plugins import FOLDER, loaded
from support.small_training import corpus_in_memory, gradients_of_a_step, small_config, unwritten
from support.variants import VARIANTS
from transformer_mt.batching.batches import plan_batches
from transformer_mt.ground.distributed import Distributed, join_processes
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import digest, weights_of
from transformer_mt.training.batch_stream import TrainingCorpora
from transformer_mt.training.session import TrainingSession, open_training
from transformer_mt.training.trainer import Trainer

COUNT = 2
WITHOUT_DROPOUT = (
    "model.dropout=0",
    "model.attention.dropout=0",
    "optimizer.max_grad_norm=999",
    "training.batch_tokens=40",
)
# Without variants that several processes refuse.
TOGETHER = [variant for variant in VARIANTS if "model.norm=batch" not in variant]

Scenario = Callable[[Distributed, Path], Any]


def trainer_of(distributed: Distributed, folder: Path, *overrides: str) -> Trainer:
    """A trainer on the small corpus at step 0; with a single process, it does the work of two."""
    run = Run(folder / "none")
    trainer = unwritten(
        small_config(*overrides), run, TrainingCorpora(corpus_in_memory()), distributed=distributed
    ).trainer
    if distributed.world_size == 1:  # the batches that two processes would share
        pairs, config = trainer.stream.encoded, trainer.config
        trainer.stream.plan = plan_batches(
            pairs.source_lengths,
            pairs.target_lengths,
            batch_tokens=config.batch_tokens,
            seed=config.seed,
            epoch=0,
            processes=2,
        )
    return trainer


def session_of(distributed: Distributed, path: Path, *overrides: str) -> TrainingSession:
    """Training on the small corpus in a run directory."""
    return open_training(small_config(*overrides), path, corpus_in_memory(), distributed=distributed)


def gradients(distributed: Distributed, folder: Path, *overrides: str) -> list[Tensor]:
    """The gradients of the first step in float64; runs a second step, where DDP detects some mistakes."""
    without = [each for each in WITHOUT_DROPOUT if "model.kind=recurrent" not in overrides or "attention" not in each]
    torch.set_default_dtype(torch.float64)
    try:
        trainer = trainer_of(distributed, folder, *without, *overrides)
        found, _ = gradients_of_a_step(trainer)
        first = [*found]
        trainer.step()
        return first
    finally:
        torch.set_default_dtype(torch.float32)


def listening(distributed: Distributed, folder: Path) -> Any:
    """The addresses this process listens on, in Linux notation."""
    ours = {os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.exists() or link.is_symlink()}
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return [row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in ours]


def exchanges(distributed: Distributed, folder: Path) -> Any:
    def late() -> float:
        time.sleep(0.3 * distributed.is_main)
        return time.monotonic()

    return (
        distributed.all_gather(lambda: distributed.rank),
        distributed.broadcast_from_main(os.getpid),
        distributed.main_first(late),
    )


def failures(distributed: Distributed, folder: Path) -> Any:
    """The errors that each process sees if one fails, and whether they can still communicate."""

    class_of = {0: InputError, 1: MachineError}

    def fail(rank: int) -> None:
        if distributed.rank == rank:
            raise class_of[rank]("process", f"of {rank}")

    seen = []
    for call in (
        lambda: distributed.all_gather(lambda: fail(1)),
        lambda: distributed.broadcast_from_main(lambda: fail(0)),
    ):
        try:
            call()
        except (InputError, MachineError) as error:
            seen.append(f"{type(error).__name__} {error}")
    return seen, sum(distributed.all_gather(lambda: 1))


def interruptions(distributed: Distributed, folder: Path) -> Any:
    """If one process is interrupted, all are."""

    def interrupted() -> None:
        assert distributed.can_interrupt
        if distributed.rank == 1:
            raise KeyboardInterrupt

    try:
        distributed.all_gather(interrupted)
    except KeyboardInterrupt:
        return "interrupted", distributed.can_interrupt, sum(distributed.all_gather(lambda: 1))


# Overrides for a gradient that equals that of one process over this many times the batches of a process.
GRADIENTS = (
    (("training.accumulation_steps=3",), 6),
    (("objective.name=r_drop", "training.accumulation_steps=2"), 4),
    (("model.kind=recurrent",), 2),
)


def all_gradients(distributed: Distributed, folder: Path) -> Any:
    with loaded(FOLDER / "r_drop.py"):
        return [gradients(distributed, folder, *overrides) for overrides, _ in GRADIENTS]


def all_variants(distributed: Distributed, folder: Path) -> Any:
    return [len(gradients(distributed, folder, *variant)) for variant in TOGETHER]


def reductions(distributed: Distributed, folder: Path) -> Any:
    """The number of gradient reductions over the processes in an accumulating step."""
    import transformer_mt.ground.distributed as module

    trainer, calls = trainer_of(distributed, folder, "training.accumulation_steps=3"), 0
    reduce = module.dist.all_reduce

    def counted(tensor: Tensor, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += "async_op" in options
        return reduce(tensor, *arguments, **options)

    module.dist.all_reduce = counted  # type: ignore[assignment]
    try:
        trainer.step()
    finally:
        module.dist.all_reduce = reduce
    return calls


def validation(distributed: Distributed, folder: Path) -> Any:
    trainer = trainer_of(distributed, folder)
    return trainer.validate(trainer.model.eval())


LONG = ("training.averaging=ema", "training.token_masking=0.1", "tokenizer.sampling=subword")


def resumption(distributed: Distributed, folder: Path) -> Any:
    """Train without a stop, and with a stop and a resume; return both digests, the notes, and the random state."""
    whole = session_of(distributed, folder / "whole", *LONG)
    list(whole.train())
    stopped = session_of(distributed, folder / "stopped", *LONG)
    for report in stopped.train():
        if report.step == 5:
            break
    stopped.trainer.save()
    torch.manual_seed(99)
    again = session_of(distributed, folder / "stopped", *LONG)
    list(again.train())
    digests = [digest(weights_of(session.trainer.model)) for session in (whole, again)]
    return digests, again.notes, torch.get_rng_state()


def single_continued(distributed: Distributed, folder: Path) -> Any:
    """Resume with two processes a run that one process started."""
    if distributed.is_main:
        alone = session_of(Distributed(), folder / "alone", *LONG)
        for report in alone.train():
            if report.step == 5:
                break
        alone.trainer.save()
    session = session_of(distributed, folder / "alone", *LONG)
    before = torch.get_rng_state()
    list(session.train())
    return session.notes, before, digest(weights_of(session.trainer.model))


def refused(distributed: Distributed, folder: Path) -> Any:
    """Errors that all processes make, or that only the first can see."""
    seen = []
    for run, override in (("new", "model.norm=batch"), ("new", "training.device=cuda:1"), ("whole", "model.width=32")):
        try:
            session_of(distributed, folder / run, override)
        except InputError as error:
            seen.append(str(error).replace(str(folder), ""))
    return seen, sum(distributed.all_gather(lambda: 1))


def divergence(distributed: Distributed, folder: Path) -> Any:
    """If one process has non-finite weights, all get a non-finite gradient."""
    trainer = trainer_of(distributed, folder)
    if distributed.rank == 1:
        with torch.no_grad():
            next(trainer.model.parameters()).fill_(torch.nan)
    try:
        trainer.step()
    except Exception as error:
        return f"{type(error).__name__} {error}"


SCENARIOS: tuple[Scenario, ...] = (
    listening, exchanges, failures, interruptions, all_gradients, all_variants, reductions,
    validation, resumption, single_continued, refused, divergence,
)  # fmt: skip


def launch(folder: Path, command: Sequence[str], *, count: int = COUNT) -> list["subprocess.Popen[str]"]:
    """Start `count` processes as a launcher would."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count), "OMP_NUM_THREADS": "1"}
    path = os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))
    return [
        subprocess.Popen(
            [sys.executable, *command],
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank), "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
        )
        for rank in range(count)
    ]


def run_scenarios(folder: Path) -> list[dict[str, Any]]:
    """The results of every scenario in each of the two processes."""
    processes = launch(folder, [__file__, str(folder)])
    written = [process.communicate(timeout=240)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * COUNT, "\n".join(written)
    return [pickle.loads((folder / str(rank)).read_bytes()) for rank in range(COUNT)]


def main() -> None:
    """Run the scenarios as one of the processes."""
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    with join_processes() as distributed:
        found = {scenario.__name__: scenario(distributed, folder) for scenario in SCENARIOS}
        (folder / str(distributed.rank)).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main()
