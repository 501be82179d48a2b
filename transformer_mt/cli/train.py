"""`tmt train`: from a configuration to a trained model in a run directory."""

import os
import signal
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transformer_mt.cli.options import RUNS, ConfigFile, Data, Set, command_line, resolve_config
from transformer_mt.errors import InputError

if TYPE_CHECKING:
    from transformer_mt.config.sections import Config
    from transformer_mt.processes import Processes
    from transformer_mt.training.session import TrainingSession


def train(
    config: ConfigFile = None,
    data: Data = None,
    run: Annotated[
        Path | None,
        typer.Option("--run-dir", metavar="DIR", help="Where everything goes. [runs/ and the configuration's name]"),
    ] = None,
    set: Set = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Delete the run that is there and start anew.")
    ] = False,
    processes: Annotated[
        int, typer.Option("--processes", metavar="N", help="Train with so many processes of this machine.")
    ] = 1,
    check: Annotated[
        bool, typer.Option("--check", help="Build everything, show it, overfit one batch, write nothing.")
    ] = False,
) -> None:
    """Train a model: on the built-in German–English corpus, on a folder of JSONL, or on a data set of the hub.

    \b
    Examples:
      tmt train
      tmt train --check
      tmt train configs/multi30k.toml --data path/to/multi30k
      tmt train --set model.width=128 --set training.steps=800 --run-dir runs/wide
      tmt train --processes 2

    The same command continues a run that was stopped, at the very step, bit for bit. Ctrl-C finishes the step and
    saves; a second one leaves at once.

    --processes N is for one machine. On several, or under a scheduler, start the processes with torchrun:
    torchrun --nnodes 2 --nproc-per-node 4 … -m transformer_mt train … --run-dir DIR
    """
    launched = os.environ.get("WORLD_SIZE", "1")
    if check and (processes, launched) != (1, "1"):
        raise InputError("--check: looks at a single process; leave out --processes, and torchrun")
    if processes != 1 and launched != str(processes):
        from transformer_mt.cli.launcher import train_in_processes

        raise typer.Exit(train_in_processes(processes, command_line.get()))
    resolved = resolve_config(config, data=data, overrides=set)
    if check:
        from transformer_mt.cli.check import check_training

        check_training(resolved)
        return
    default = RUNS / (config.stem if config else Path(resolved.data.corpus).name)
    raise typer.Exit(_train(resolved, run or default, overwrite=overwrite))


def _train(config: "Config", path: Path, *, overwrite: bool) -> int:
    """Train until the end or a signal, with the other processes that the launcher has started; the exit code."""
    from transformer_mt.processes import launched_processes

    with launched_processes() as processes, ExitStack() as silence:
        if not processes.is_first:  # one speaks for all
            nowhere = silence.enter_context(open(os.devnull, "w", encoding="utf-8"))
            silence.enter_context(redirect_stdout(nowhere))
            silence.enter_context(redirect_stderr(nowhere))
        return _train_here(config, path, overwrite=overwrite, processes=processes)


def _train_here(config: "Config", path: Path, *, overwrite: bool, processes: "Processes") -> int:
    from transformer_mt.cli.signals import Stopped, graceful_shutdown
    from transformer_mt.cli.terminal import literal_console, note, result
    from transformer_mt.cli.training_display import display
    from transformer_mt.training.session import open_training

    session = open_training(config, path, overwrite=overwrite, processes=processes)
    trainer, launcher = session.trainer, os.getppid()
    _introduce(session, path)
    shown = display(literal_console(stderr=True), steps=config.training.steps, first_step=trainer.progress.step)
    with graceful_shutdown(lambda: trainer.interruptible) as request, shown as show:
        with suppress(Stopped):
            for report in session.train():
                show(report)
                if processes.count > 1 and os.getppid() != launcher:  # which has been killed
                    request.number = signal.SIGTERM
                if processes.sum(int(request.number is not None)):
                    break
        # All of them are here, stopped by a signal that may have come to one alone.
        request.number = max(processes.gather(lambda: request.number or 0)) or None
        if request.number is not None:
            trainer.save()
    if request.number is not None:
        note(f"stopped at step {trainer.progress.step}, saved; the same command continues")
        return request.exit_code
    note(f'try: tmt translate --model {path} "…" and tmt attend --model {path}')
    best = abs(trainer.progress.best_score or 0.0)  # a loss is kept negated, so that higher is better
    result(f"{path}: validation {config.training.score} {best:.4f} at step {trainer.progress.best_step}")
    return 0


def _introduce(session: "TrainingSession", path: Path) -> None:
    from transformer_mt.cli.terminal import note

    trainer, corpus = session.trainer, session.corpus
    note(*session.notes)
    note(f"run {path}: {trainer.device.type}, {str(trainer.precision).removeprefix('torch.')}")
    counts = ", ".join(f"{split} {len(pairs)}" for split, pairs in corpus.splits.items())
    note(f"corpus {corpus.name}: {counts} pairs")
    empty = sum(split.empty for split in corpus.report.splits.values())
    wordy = sum(split.too_long for split in corpus.report.splits.values())
    long = trainer.stream.encoded.too_long
    if empty or wordy or long:
        limits = f"{wordy} over {corpus.report.max_words} words, {long} of train over the token limit"
        note(f"left out: {empty} with an empty side, {limits}")
    parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    note(f"model: {parameters:,} parameters, vocabulary {session.tokenizer.size}")
