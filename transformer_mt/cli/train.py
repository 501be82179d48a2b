"""`tmt train`: train a model from a configuration into a run directory."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from transformer_mt.cli.options import RUNS, ConfigFile, Data, Set, resolve_config
from transformer_mt.cli.terminal import literal_console, note, result
from transformer_mt.config.toml import load_config
from transformer_mt.ground.errors import InputError

if TYPE_CHECKING:
    from transformer_mt.config.sections import Config
    from transformer_mt.training.session import TrainingSession


Vocabulary = Annotated[
    Path | None, Option("--vocabulary", metavar="RUN", help="Use this run's vocabulary, but new weights.")
]


def train(
    config: ConfigFile = None,
    data: Data = None,
    run: Annotated[
        Path | None,
        Option("--run-dir", metavar="DIR", help="Where the run is written. [runs/NAME]"),
    ] = None,
    init_from: Annotated[
        Path | None, Option("--from", metavar="RUN", help="Fine-tune this run: start from its weights.")
    ] = None,
    vocabulary: Vocabulary = None,
    resume: Annotated[
        Path | None, Option(metavar="RUN", help="Resume a run; raise --steps or --epochs to extend it.")
    ] = None,
    epochs: Annotated[int | None, Option(metavar="N", min=1, help="Passes over the data. [training.epochs]")] = None,
    steps: Annotated[int | None, Option(metavar="N", min=1, help="Total optimizer steps. [training.steps]")] = None,
    learning_rate: Annotated[
        float | None, Option(metavar="X", min=1e-12, help="Peak rate. [schedule.learning_rate]")
    ] = None,
    set: Set = None,
    only_own: Annotated[bool, Option("--only-own", help="With --from: do not mix in the run's training data.")] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Delete an existing run and start over.")] = False,
) -> None:
    """Train a model on the built-in German–English corpus, your own files, or a hub data set.

    \b
    Examples:
      tmt train
      tmt train --data train.de,train.en
      tmt train multi30k --data path/to/multi30k
      tmt train --from runs/builtin --data own.de,own.en
      tmt train --epochs 5 --set model.width=128 --run-dir runs/small
      tmt train --resume runs/small

    Ctrl-C finishes the step and saves; a second Ctrl-C quits at once. Run the same command again, or use --resume, to
    continue exactly where it stopped.

    \b
    With several processes:
      torchrun --nproc-per-node 2 -m transformer_mt train --run-dir DIR
    """
    from transformer_mt.corpus.source import short_name

    if only_own and init_from is None:
        raise InputError("--only-own", "belongs to --from", "leave it out")
    overrides = [*(set or []), *_length_and_rate(steps, epochs, learning_rate)]
    if resume:
        if any((config, data, run, init_from, vocabulary, overwrite)):
            raise InputError("--resume", f"takes its settings from {resume}", "add only --steps, --epochs or --set")
        resolved = _resumed(resume, overrides)
    else:
        resolved = new_config(
            config, data, overrides, init_from=init_from, vocabulary=vocabulary, run=run, only_own=only_own,
            overwrite=overwrite,
        )  # fmt: skip
    default = RUNS / (config.stem if config else short_name(resolved.data.corpus))
    raise typer.Exit(_train(resolved, resume or run or default, overwrite=overwrite))


def _length_and_rate(steps: int | None, epochs: int | None, learning_rate: float | None) -> Iterator[str]:
    """Yield the options for common keys as overrides."""
    if epochs is not None and steps is not None:
        raise InputError("--epochs", "--steps also sets the end of training", "give one of them")
    keys = {
        "training.steps": steps,
        "training.epochs": epochs if steps is None else 0,
        "schedule.learning_rate": learning_rate,
    }
    yield from (f"{key}={value}" for key, value in keys.items() if value is not None)


def _resumed(path: Path, overrides: list[str]) -> "Config":
    """The configuration of a run with its last `steps` and `epochs`, changed by the options."""
    from transformer_mt.runs.checkpoints import last_aims
    from transformer_mt.runs.directory import Run

    begun = Run.open(path)
    last = last_aims(begun)
    ends = [f"training.steps={last.steps}", f"training.epochs={last.epochs}"]
    return load_config(begun.config(), [*ends, *overrides])


def new_config(
    config: Path | None,
    data: str | None,
    overrides: list[str],
    *,
    init_from: Path | None,
    vocabulary: Path | None,
    run: Path | None = None,
    only_own: bool = False,
    overwrite: bool = False,
) -> "Config":
    """The configuration of a new run, from a file or from the run to fine-tune, changed by the options.

    `run` is where the new run will be; one that has begun there from this parent goes on. Without a file, few pairs in
    `data` have defaults of their own. Prints these defaults, and what it mixes in.
    """
    from transformer_mt.config.fine_tuning import FEW_OWN_PAIRS, OF_FEW_OWN_PAIRS
    from transformer_mt.corpus.load_corpus import OF_ONE_CORPUS, load_corpus
    from transformer_mt.corpus.source import BUILTIN, short_name
    from transformer_mt.runs.directory import Run, named_path
    from transformer_mt.training.fine_tuning import fine_tuned

    given = {override.partition("=")[0].strip() for override in overrides}
    if not init_from:
        overrides = [*_vocabulary_of(vocabulary), *overrides]
        resolved = resolve_config(config, data=data, overrides=overrides)
        if config or resolved.data.corpus == BUILTIN or len(load_corpus(resolved.data).splits["train"]) > FEW_OWN_PAIRS:
            return resolved
        if resolved.training.epochs:
            given.add("training.steps")
        if defaults := [one for one in OF_FEW_OWN_PAIRS if not one.startswith(tuple(given))]:
            note(f"defaults for up to {FEW_OWN_PAIRS:,} pairs: {', '.join(defaults)}")
        return resolve_config(None, data=data, overrides=[*defaults, *overrides])
    if vocabulary:
        raise InputError("--vocabulary", "--from also sets the vocabulary", "give one of them")
    if config or data is None:
        problem = f"takes the configuration from {init_from}, but not the data"
        raise InputError("--from", problem, "give --data, and no CONFIG")
    parent = named_path(init_from)
    path = run or RUNS / short_name(data)
    if os.path.realpath(path) == os.path.realpath(parent):
        raise InputError("--run-dir", f"{path} is the run to start from", "give another directory")
    begun = Run(path).config() if Run(path).exists() and not overwrite else None
    inherited = [f"data.{key}={json.dumps(value)}" for key, value in OF_ONE_CORPUS.items()]
    resolved, notes = fine_tuned(
        parent,
        begun,
        lambda theirs, defaults: resolve_config(theirs, data=data, overrides=[*inherited, *defaults, *overrides]),
        given=given,
        mixes=not (only_own or any(key.startswith("data.mixture") for key in given)),
    )
    note(*notes)
    return resolved


def _vocabulary_of(path: Path | None) -> list[str]:
    """The tokenizer keys that take the vocabulary of a run, if one is given."""
    from transformer_mt.runs.directory import Run, named_path
    from transformer_mt.training.fine_tuning import place_of

    if path is None:
        return []
    theirs = Run.open(path).config().tokenizer.model_dump() | {"from_run": place_of(named_path(path))}
    return [f"tokenizer.{key}={json.dumps(value, ensure_ascii=False)}" for key, value in theirs.items()]


def _train(config: "Config", path: Path, *, overwrite: bool) -> int:
    """Train until the end or a signal, together with torchrun's other processes; return the exit code."""
    from transformer_mt.cli.signals import Stopped, graceful_shutdown
    from transformer_mt.cli.training_display import TrainLog, display
    from transformer_mt.ground.distributed import join_processes
    from transformer_mt.training.session import open_training

    with join_processes() as distributed, ExitStack() as silence:
        if not distributed.is_main:  # only one process prints
            nowhere = silence.enter_context(open(os.devnull, "w", encoding="utf-8"))
            silence.enter_context(redirect_stdout(nowhere))
            silence.enter_context(redirect_stderr(nowhere))
        session = open_training(config, path, overwrite=overwrite, distributed=distributed)
        trainer = session.trainer
        reports = session.train()
        launcher = os.getppid()
        log = TrainLog(trainer.run, is_main=distributed.is_main)
        log.write(*_introduction(session, path))
        shown = display(literal_console(stderr=True), log, trainer)
        with log.errors(), graceful_shutdown(lambda: trainer.can_interrupt) as request, shown as show:
            with suppress(Stopped):
                for report in reports:  # named, because the directory stays locked until the iterator is closed
                    show(report)
                    if distributed.world_size > 1 and os.getppid() != launcher:  # the launcher was killed
                        request.number = signal.SIGTERM
                    if any(distributed.all_gather(lambda: request.number)):
                        break
            # All processes meet here, even if only one of them got the signal.
            request.number = max(distributed.all_gather(lambda: request.number or 0)) or None
            if request.number:
                trainer.save()
        if request.number:
            log.write(f"stopped at step {trainer.progress.step}, saved; run the same command to resume")
            return 128 + request.number
        log.write(f'try: tmt translate --model {path} "…" and tmt attend --model {path}')
        best = abs(trainer.progress.best_score or 0.0)  # a loss is stored negated, so that higher is better
        result(
            f"{path}: validation {session.config.training.choose_by} {best:.4f} at step {trainer.progress.best_step}"
        )
        return 0


def _introduction(session: "TrainingSession", path: Path) -> Iterator[str]:
    from transformer_mt.corpus.cleaning import describe_all

    trainer = session.trainer
    corpus = session.corpus
    yield from session.notes
    yield f"run {path}: {trainer.device.type}, {str(trainer.precision).removeprefix('torch.')}"
    yield f"corpus {corpus.name}: {corpus.sizes} pairs, {' → '.join(corpus.languages)}"
    if corpus.left_out:
        yield f"left out: {describe_all(corpus.left_out, corpus.config)}"
    if long := trainer.stream.encoded.too_long:
        yield f"left out: {long} of train over the token limit"
    parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    yield f"model: {parameters:,} parameters, vocabulary {session.tokenizer.size}"
