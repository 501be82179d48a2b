"""`tmt train`: from a configuration to a trained model in a run directory."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transformer_mt.cli.options import RUNS, ConfigFile, Data, Set, resolve_config

if TYPE_CHECKING:
    from transformer_mt.config.sections import Config
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
    check: Annotated[
        bool, typer.Option("--check", help="Build everything, show it, overfit one batch, write nothing.")
    ] = False,
) -> None:
    """Train a model: on the built-in German–English corpus, on your own files, or on a data set of the hub.

    \b
    Examples:
      tmt train
      tmt train --check
      tmt train --data train.de,train.en
      tmt train configs/multi30k.toml --data path/to/multi30k
      tmt train --set model.width=128 --set training.steps=1000 --run-dir runs/small

    The same command continues a run that was stopped, at the very step, bit for bit. Ctrl-C finishes the step and
    saves; a second one leaves at once.
    """
    from transformer_mt.corpus.source import short_name

    resolved = resolve_config(config, data=data, overrides=set)
    if check:
        from transformer_mt.cli.check import check_training

        check_training(resolved)
        return
    default = RUNS / (config.stem if config else short_name(resolved.data.corpus))
    raise typer.Exit(_train(resolved, run or default, overwrite=overwrite))


def _train(config: "Config", path: Path, *, overwrite: bool) -> int:
    """Train until the end or a signal; the exit code."""
    from transformer_mt.cli.signals import Stopped, graceful_shutdown
    from transformer_mt.cli.terminal import literal_console, note, result
    from transformer_mt.cli.training_display import display
    from transformer_mt.training.session import open_training

    session = open_training(config, path, overwrite=overwrite)
    trainer = session.trainer
    _introduce(session, path)
    shown = display(literal_console(stderr=True), steps=config.training.steps, first_step=trainer.progress.step)
    with graceful_shutdown(lambda: trainer.interruptible) as request, shown as show:
        with suppress(Stopped):
            for report in session.train():
                show(report)
                if request.number is not None:
                    break
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
    note(f"corpus {corpus.name}: {corpus.sizes} pairs, {' → '.join(corpus.languages)}")
    report = corpus.report
    left_out = [f"{count} {report.describe(problem)}" for problem, count in report.left_out.items()]
    if long := trainer.stream.encoded.too_long:
        left_out.append(f"{long} of train over the token limit")
    if left_out:
        note(f"left out: {', '.join(left_out)}")
    parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    note(f"model: {parameters:,} parameters, vocabulary {session.tokenizer.size}")
