"""From a configuration to something that trains: a new run, or the continuation of one."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import torch

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import differences
from transformer_mt.corpus.load import Corpus, load_corpus, load_mixture, resolved
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.device import choose_device, choose_precision, describe_machine, keep_freed_memory, require_memory
from transformer_mt.errors import EnvironmentProblem, InputError
from transformer_mt.models.build import build_model
from transformer_mt.processes import Processes, SingleProcess
from transformer_mt.runs.data import DataRecord
from transformer_mt.runs.directory import CHECKPOINTS, PARTS, Run
from transformer_mt.runs.files import make_directory, original_name, writing
from transformer_mt.runs.lock import acquire, release
from transformer_mt.tokenizer import Tokenizer
from transformer_mt.training.reports import Report
from transformer_mt.training.schedules import depends_on_steps
from transformer_mt.training.stream import BatchStream
from transformer_mt.training.trainer import Trainer
from transformer_mt.training.validation import Validator

# What may change between a stopped run and its continuation, because no step before depends on it.
MAY_CHANGE = ("training.steps", "training.patience", "training.device", "search.")


@dataclass(frozen=True)
class TrainingSession:
    """A trainer with what went into it. `notes` say in words what a person should know before it starts."""

    trainer: Trainer
    corpus: Corpus
    tokenizer: Tokenizer
    notes: tuple[str, ...]

    def train(self) -> Iterator[Report]:
        """Train to the end; each report comes as soon as what it says has happened. Then others may train here."""
        try:
            yield from self.trainer.train()
        finally:
            release(self.trainer.run.path)


def open_training(
    config: Config, path: str | Path, corpus: Corpus | None = None, *, overwrite: bool = False
) -> TrainingSession:
    """Training in the run directory `path`: from its newest sound checkpoint, or from the start.

    A corpus made in Python takes the place of the one that the configuration names. With `overwrite`, what the
    directory's run has so far is deleted, once everything new has been built. Raises `InputError` when the directory
    belongs to another configuration or is no run, listing the differences.
    """
    run = Run(Path(path))
    began = run.exists()
    if not began and run.path.exists():
        refuse_other_content(run.path)
    with ExitStack() as unless_opened:
        if began and acquire(run.path):
            unless_opened.callback(release, run.path)
        session = _open(config, run, corpus, continuing=began and not overwrite, began=began)
        unless_opened.pop_all()
    return session


def _open(config: Config, run: Run, corpus: Corpus | None, *, continuing: bool, began: bool) -> TrainingSession:
    """Build everything, and only then write, under the directory's lock."""
    corpus, config = open_corpus(config, corpus)
    data = DataRecord.of(corpus, {other.name: other for other, _ in load_mixture(config.data)})
    if continuing:
        refuse_other_configuration(run, config)
        refuse_other_data(run, data)
    session = build_session(config, run, corpus, tokenizer=run.tokenizer() if continuing else None)
    if not continuing:
        with writing(run.path):
            make_directory(run.path)
        acquire(run.path)
        if run.exists() and not began:
            raise InputError(f"{run.path}: another training has begun here; choose another directory with --run-dir")
        run.clear()
        Run.create(run.path, config, session.tokenizer, data)
    run.remove_leftovers()
    session.trainer.checkpoints.remove_leftovers()
    notes = (*session.notes, *resume_newest(session.trainer))
    return TrainingSession(session.trainer, session.corpus, session.tokenizer, notes)


def build_session(
    config: Config, run: Run, corpus: Corpus | None = None, *, tokenizer: Tokenizer | None = None
) -> TrainingSession:
    """A session at its first step; writes nothing. What is not given is loaded or learned as the configuration says."""
    corpus, config = open_corpus(config, corpus)
    if tokenizer is None:
        tokenizer = train_tokenizer(corpus, config)
    trainer = build_trainer(config, run, corpus, tokenizer, processes=SingleProcess())
    notes = (*corpus.notes, *((tokenizer.note,) if tokenizer.note else ()))
    return TrainingSession(trainer, corpus, tokenizer, notes)


def open_corpus(config: Config, corpus: Corpus | None) -> tuple[Corpus, Config]:
    """The corpus, loaded if none is given, and the configuration with its name and its languages."""
    given = {} if corpus is None else {"corpus": corpus.name}
    data = config.data.model_copy(update=given)
    if corpus is None:
        corpus = load_corpus(data)
    return corpus, config.model_copy(update={"data": resolved(data, corpus)})


def build_trainer(config: Config, run: Run, corpus: Corpus, tokenizer: Tokenizer, *, processes: Processes) -> Trainer:
    """A trainer at its first step. Its weights depend on the configuration's seed alone."""
    keep_freed_memory()
    device = choose_device(config.training.device)
    precision = choose_precision(config.training.precision, device)
    require_training_memory(config, device, vocabulary_size=tokenizer.size)
    torch.manual_seed(config.training.seed)
    model = build_model(config.model, vocabulary_size=tokenizer.size)
    return Trainer(
        config,
        run,
        model=model,
        stream=BatchStream(corpus.splits["train"], tokenizer, config, processes=processes),
        validate=Validator(validation_pairs(corpus), tokenizer, config, device=device),
        device=device,
        precision=precision,
        processes=processes,
    )


def require_training_memory(config: Config, device: torch.device, *, vocabulary_size: int) -> None:
    """Raise `InputError` where the model, its gradient and Adam's two means cannot fit, nor the logits of one batch."""
    with torch.device("meta"):  # sizes without memory
        model = build_model(config.model, vocabulary_size=vocabulary_size)
    numbers = 4 * sum(parameter.numel() for parameter in model.parameters())
    numbers += config.training.batch_tokens * vocabulary_size
    require_memory(
        4 * numbers, device, what="model, training.batch_tokens", remedy="lower model.width, its layers, or the batch"
    )


def train_tokenizer(corpus: Corpus, config: Config) -> Tokenizer:
    """A joint vocabulary of both sides of the training sentences."""
    train = corpus.splits["train"]
    return Tokenizer.train((text for pair in train for text in (pair.source, pair.target)), config.tokenizer)


def validation_pairs(corpus: Corpus) -> Sequence[SentencePair]:
    """The validation split. Raises `InputError` where the corpus has none."""
    if "validation" not in corpus.splits:
        raise InputError(f"{corpus.name}: no validation split; give one")
    return corpus.splits["validation"]


def refuse_other_configuration(run: Run, config: Config) -> None:
    """Raise `InputError` when the run was started with another configuration, listing the differences."""
    changed = differences(run.config(), config)
    found = [f"{key} is {old!r} there, {new!r} now" for key, old, new in changed if not key.startswith(MAY_CHANGE)]
    if found:
        raise InputError(
            f"{run.path}: belongs to another configuration ({'; '.join(found)}); choose another directory with "
            "--run-dir, or start anew with --overwrite"
        )
    if depends_on_steps(config.schedule) and any(key == "training.steps" for key, _, _ in changed):
        raise InputError(
            f"{run.path}: training.steps was {run.config().training.steps}, and schedule.name {config.schedule.name} "
            "has set every learning rate so far by it; keep the number, or start anew with --overwrite"
        )


def refuse_other_data(run: Run, data: DataRecord) -> None:
    """Raise `InputError` when the data is not that on which the run was started, with what differs."""
    if difference := run.data().difference(data):
        raise InputError(
            f"{run.path}: the data is not the same: {difference}; give the old data, choose another directory with "
            "--run-dir, or start anew with --overwrite"
        )


def refuse_other_content(path: Path) -> None:
    """Raise `InputError` when something that is not a run stands at the path; a start that was cut off may."""
    if not path.is_dir() or any(original_name(entry.name) not in PARTS for entry in path.iterdir()):
        raise InputError(f"{path}: exists and is not a run of tmt; choose another directory with --run-dir")


def resume_newest(trainer: Trainer) -> list[str]:
    """Go to the newest sound checkpoint, if there is any; say what was found, damaged ones too."""
    damaged: list[EnvironmentProblem] = []
    for step in reversed(trainer.checkpoints.steps()):
        try:
            trainer.resume(step)
        except EnvironmentProblem as damage:
            damaged.append(damage)
            continue
        notes = [f"{damage}; trying the one before" for damage in damaged]
        there, here = trainer.progress.machine, describe_machine(trainer.device)
        if there != here:
            notes.append(f"not bit for bit what it would have been without the stop: {there} before, {here} now")
        return [*notes, f"continuing {trainer.run.path} from step {step}"]
    if damaged:
        raise EnvironmentProblem(
            f"{trainer.run.path / CHECKPOINTS}: no sound checkpoint ({damaged[0]}); start anew with --overwrite"
        )
    trainer.run.forget_metrics_after(0)
    return []
