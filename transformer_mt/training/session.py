"""From a configuration to a trainer: a new run, the continuation of one, or fine-tuning from another run."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from transformer_mt.config.sections import Config, InitFromConfig, TrainingConfig
from transformer_mt.config.toml import differences
from transformer_mt.corpus.load_corpus import Corpus, load_corpus, load_mixture, resolved
from transformer_mt.corpus.word_counts import TrainingWords
from transformer_mt.device import choose_device, choose_precision, require_memory
from transformer_mt.distributed import Distributed
from transformer_mt.errors import InputError, MachineError, checked
from transformer_mt.files import make_directory, original_name, write_errors
from transformer_mt.links.choose_heads import choose_heads
from transformer_mt.models.blocks import BatchNorm
from transformer_mt.models.build_model import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.progress import working
from transformer_mt.registry import lookup
from transformer_mt.runs.directory import CHECKPOINTS, PARTS, Run, saved_steps
from transformer_mt.runs.lock import acquire, release
from transformer_mt.runs.weights import digest, load_weights, specs_of, weights_of
from transformer_mt.seeds import derive_seed
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.averaging import AVERAGING
from transformer_mt.training.batch_stream import (
    BatchStream,
    TrainingCorpora,
    WeightedCorpus,
    sample,
    train_tokenizer,
    training_words,
)
from transformer_mt.training.objective import build_objective
from transformer_mt.training.optimizer import OPTIMIZERS
from transformer_mt.training.reports import VALIDATION_METRICS, FinishReport, Report
from transformer_mt.training.schedules import build_schedule, depends_on_steps, fitting_warmup
from transformer_mt.training.trainer import Trainer
from transformer_mt.training.validation import Validator

# What may change between a stopped run and its continuation, because no step before depends on it.
MAY_CHANGE = (
    "training.steps", "training.epochs", "training.patience", "training.device", "training.tensorboard",
    "training.keep_checkpoints", "search.",
)  # fmt: skip


@dataclass(frozen=True)
class TrainingSession:
    """A trainer with what it was made of, and remarks for the person who starts it."""

    config: Config
    trainer: Trainer
    corpus: Corpus
    tokenizer: Tokenizer
    notes: tuple[str, ...]

    def train(self) -> Iterator[Report]:
        """Train to the end, choose the heads that link words before the last report, and release the directory.

        Who leaves the loop of reports by `break` finds a checkpoint of that moment; several processes, each of which
        may leave alone, and a program that ends in the loop, the last one.
        """
        try:
            for report in self.trainer.train():
                if isinstance(report, FinishReport):
                    self.trainer.distributed.broadcast_from_main(self._write_alignment)
                yield report
        except GeneratorExit:
            is_alone, trainer = self.trainer.distributed.world_size == 1, self.trainer
            if is_alone and trainer.progress.step != trainer.saved_step and not sys.is_finalizing():
                trainer.save()
            raise
        finally:
            release(self.trainer.run.path)

    def _write_alignment(self) -> None:
        try:
            model = self.trainer.run.network()  # the selected weights, not those of the last step
        except MachineError:  # a file was damaged meanwhile; opening the run will report it
            return
        with working("finding the heads that link words"):
            chosen = choose_heads(model.to(self.trainer.device), self.tokenizer, self.corpus.splits["validation"])
        if chosen is not None:
            self.trainer.run.save_alignment(chosen)


@checked
@torch.inference_mode(False)
def open_training(
    config: Config,
    path: str | Path,
    corpus: Corpus | None = None,
    *,
    overwrite: bool = False,
    distributed: Distributed | None = None,
) -> TrainingSession:
    """Training in the run directory `path`: from its newest sound checkpoint, or from the start.

    A corpus made in Python takes the place of the configured one. With `overwrite`, a run that is there is deleted once
    everything new has been built. Raises `InputError` for a directory with something else, and with the differences for
    another configuration or other data.
    """
    distributed = distributed or Distributed()
    require_names(config, distributed)  # mistakes come before the corpus is read
    run = Run(Path(path))
    on_main = distributed.broadcast_from_main
    with ExitStack() as unless_opened:
        exists = on_main(lambda: _lock(run, unless_opened))
        corpora, config = distributed.main_first(lambda: open_corpora(config, corpus))
        begun = on_main(run.config) if exists and not overwrite else None
        if begun is not None:
            config = _as_begun(config, begun)
        tokenizer = on_main(lambda: _require_same(run, config, corpora)) if begun else None
        training = begun.training if begun else None
        session = build_session(config, run, corpora, tokenizer=tokenizer, begun=training, distributed=distributed)
        if begun is None:
            on_main(lambda: _create(run, config, corpora, session.tokenizer, exists=exists))
        on_main(run.remove_leftovers)
        notes = (*session.notes, *_resume_newest(session.trainer))
        if config.init_from.run and not on_main(session.trainer.checkpoints.steps):
            session.trainer.save()  # from now on the run needs its parent no more
        unless_opened.pop_all()
    return replace(session, notes=notes)


def build_session(
    config: Config,
    run: Run,
    corpora: TrainingCorpora,
    *,
    tokenizer: Tokenizer | None = None,
    begun: TrainingConfig | None = None,
    distributed: Distributed | None = None,
) -> TrainingSession:
    """A session at its first step, whose weights depend on the configuration's seed alone; writes nothing.

    Without a tokenizer, one is learned, or taken with the weights from the run that `init_from` names. `begun` is the
    section that a run to continue began with: its schedule stays the one for that many steps.
    """
    distributed = distributed or Distributed()
    notes, pretrained = [*corpora.main.notes, *(line for other, _ in corpora.others for line in other.notes)], None
    if missing := [split for split in ("train", "validation") if split not in corpora.main.splits]:
        raise InputError(f"{corpora.main.name}: no {missing[0]} split; give one")
    is_new = tokenizer is None
    # A run that was stopped before its first checkpoint still needs the weights that it begins with.
    if config.init_from.run and (is_new or not saved_steps(run.path / CHECKPOINTS)):
        tokenizer, pretrained = distributed.broadcast_from_main(lambda: _load_pretrained(config))
        with working("looking for characters that the vocabulary lacks"):
            notes += _pretrained_notes(config, corpora.weighted, tokenizer)
    elif tokenizer is None:
        with working(f"learning a vocabulary of {config.tokenizer.vocabulary_size} subwords"):
            tokenizer = distributed.broadcast_from_main(lambda: train_tokenizer(corpora.weighted, config.tokenizer))
        notes += [tokenizer.note] if tokenizer.note else []
    is_alone, training = distributed.world_size == 1, config.training
    device = choose_device(training.device, local_rank=None if is_alone else distributed.local_rank)
    model = _initial_model(config, device, vocabulary_size=tokenizer.size)
    if pretrained is not None:
        with torch.no_grad():
            load_weights(model, weights_of(pretrained))
    if not is_alone and any(isinstance(module, BatchNorm) for module in model.modules()):
        raise InputError("model.norm: batch would be measured by each process alone; choose layer, or train with one")
    if not distributed.is_main:  # every process draws a dropout of its own
        torch.manual_seed(derive_seed(training.seed, distributed.rank, 0))
    with working("making subwords of the pairs"):
        stream = BatchStream(corpora.weighted, tokenizer, config, distributed=distributed)
    begun = begun or training
    steps = stream.steps_of(begun.epochs) if begun.epochs else begun.steps
    configured, warmup = config.schedule.warmup, fitting_warmup(config, steps)
    if is_new and warmup != configured:
        remark = f"{warmup} instead of {configured}, for a training of {steps} steps; its peak is the same"
        notes.append(f"schedule.warmup: {remark}")
    pairs = corpora.main.splits["validation"]
    validate = Validator(pairs, tokenizer, config, device=device, distributed=distributed)
    trainer = Trainer(
        config,
        run,
        model=model,
        stream=stream,
        schedule=build_schedule(config, steps),
        validate=validate,
        device=device,
        distributed=distributed,
    )
    return TrainingSession(config, trainer, corpora.main, tokenizer, (*notes, *validate.notes))


def _as_begun(config: Config, there: Config) -> Config:
    """The configuration for a run to continue, with the place and the weights of a parent that moved or trained on."""
    parent, begun = config.init_from, there.init_from
    same = parent.run == begun.run or parent.weights == begun.weights
    return config.model_copy(update={"init_from": begun}) if same else config


def require_names(config: Config, distributed: Distributed) -> None:
    """Raise `InputError` for a name that no table knows, and for values that do not go together."""
    build_schedule(config)
    build_objective(config.objective)
    training, local_rank = config.training, None if distributed.world_size == 1 else distributed.local_rank
    choose_precision(training.precision, choose_device(training.device, local_rank=local_rank))
    lookup(OPTIMIZERS, config.optimizer.name, key="optimizer.name")
    lookup(AVERAGING, training.averaging, key="training.averaging")
    lookup(VALIDATION_METRICS, training.best_metric, key="training.best_metric")
    with torch.device("meta"):  # without memory
        build_model(config.model, vocabulary_size=config.tokenizer.vocabulary_size)


def _initial_model(config: Config, device: torch.device, *, vocabulary_size: int) -> Seq2Seq:
    """The model with weights drawn from the configuration's seed, not yet on the device.

    Raises `InputError` where it, its gradient and Adam's two means cannot fit there, nor the logits of one batch.
    """
    with torch.device("meta"):  # sizes without memory
        model = build_model(config.model, vocabulary_size=vocabulary_size)
    numbers = 4 * sum(map(Tensor.numel, model.parameters())) + config.training.batch_tokens * vocabulary_size
    remedy = "lower model.width, its layers, or the batch"
    require_memory(4 * numbers, device, what="model, training.batch_tokens", remedy=remedy)
    torch.manual_seed(config.training.seed)
    return build_model(config.model, vocabulary_size=vocabulary_size)


def init_from_run(path: Path) -> InitFromConfig:
    """The configuration section of a run that begins with the run at `path`."""
    place = str(path.resolve())
    if place != place.encode(errors="replace").decode():
        raise InputError(f"{place}: not UTF-8, as a configuration is; rename it")
    return InitFromConfig(run=place, weights=digest(weights_of(Run.open(path).network())))


def _load_pretrained(config: Config) -> tuple[Tokenizer, Seq2Seq]:
    """The vocabulary and the network of the run that `init_from` names.

    Raises `InputError` if its weights have changed, or its model does not fit.
    """
    place = config.init_from.run
    parent = Run.open(Path(place))
    tokenizer, network = parent.tokenizer(), parent.network()
    if digest(weights_of(network)) != config.init_from.weights:
        raise InputError(
            f"{place}: its weights are no longer those of init_from.weights; start anew with --from and --overwrite"
        )
    for key in ("kind", "vocabulary_size", "whole_words"):
        old, new = getattr(parent.config().tokenizer, key), getattr(config.tokenizer, key)
        if old != new:
            raise InputError(f"tokenizer.{key}: is {old} in {place}, whose vocabulary stays, and {new} now; leave it")
    with torch.device("meta"):
        ours = specs_of(weights_of(build_model(config.model, vocabulary_size=tokenizer.size)))
    if other := dict(ours.items() ^ specs_of(weights_of(network)).items()):
        raise InputError(f"model: {min(other)} is another one in {place}, whose weights are used; leave its sizes")
    return tokenizer, network


def _pretrained_notes(config: Config, corpora: Sequence[WeightedCorpus], tokenizer: Tokenizer) -> list[str]:
    """Remarks: the run that training begins with, and how many characters of the data its vocabulary lacks."""
    notes = [f"beginning with the weights and the vocabulary of {config.init_from.run}"]
    pairs = (pair for corpus in corpora for pair in sample(corpus.pairs, config.tokenizer.sample))
    if unknown := tokenizer.unknown_characters(text for pair in pairs for text in (pair.source, pair.target)):
        commonest = ", ".join(f"{character} {count}" for character, count in unknown.most_common(9))
        notes.append(f"characters that are not in the vocabulary, and become bytes: {unknown.total()} ({commonest})")
    return notes


def open_corpora(config: Config, corpus: Corpus | None = None) -> tuple[TrainingCorpora, Config]:
    """The corpora to train on, loaded unless one is given, and the configuration with its name and its languages."""
    data = config.data if corpus is None else config.data.model_copy(update={"corpus": corpus.name})
    corpus = corpus or load_corpus(data)
    data = resolved(data, corpus)
    return TrainingCorpora(corpus, tuple(load_mixture(data, corpus))), config.model_copy(update={"data": data})


def _lock(run: Run, unless_opened: ExitStack) -> bool:
    """True where a run is there, which from now on no other training may enter."""
    path, exists = run.path, run.exists()
    # Parts of a start that was cut off may stand there, but nothing else.
    is_ours = path.is_dir() and all(original_name(entry.name) in PARTS for entry in path.iterdir())
    if path.exists() and not (exists or is_ours):
        raise InputError(f"{path}: exists and is not a run of tmt; choose another directory with --run-dir")
    if exists and acquire(path):
        unless_opened.callback(release, path)
    return exists


def _require_same(run: Run, config: Config, corpora: TrainingCorpora) -> Tokenizer:
    """The tokenizer of a run to continue. Raises `InputError` for another configuration or other data."""
    remedy = "choose another directory with --run-dir, or start anew with --overwrite"
    # The last step sets the learning rate of every step of such a schedule.
    fixed = ("training.steps", "training.epochs") if depends_on_steps(config.schedule) else ()
    changed = [
        f"{key} is {old!r} there, {new!r} now"
        for key, old, new in differences(run.config(), config)
        if key in fixed or not key.startswith(MAY_CHANGE)
    ]
    if changed:
        raise InputError(f"{run.path}: belongs to another configuration ({'; '.join(changed)}); {remedy}")
    if difference := run.data().difference(corpora.record):
        raise InputError(f"{run.path}: the data is not the same: {difference}; give the old data, {remedy}")
    return run.tokenizer()


def _create(run: Run, config: Config, corpora: TrainingCorpora, tokenizer: Tokenizer, *, exists: bool) -> None:
    """Write the files with which a run begins, in place of one that existed, under the directory's lock."""
    with working("counting words"):
        words: TrainingWords | None = training_words(corpora.weighted)
    if config.init_from.run:  # those of all earlier training too, where they are known
        before = Run(Path(config.init_from.run)).words()
        words = None if before is None or words is None else before + words
    with write_errors(run.path):
        make_directory(run.path)
    acquire(run.path)
    if run.exists() and not exists:
        raise InputError(f"{run.path}: another training has begun here; choose another directory with --run-dir")
    run.clear()
    Run.create(run.path, config, tokenizer, corpora.record, words)


def _resume_newest(trainer: Trainer) -> list[str]:
    """Continue from the newest sound checkpoint, if there is one; returns remarks."""
    on_main, checkpoints = trainer.distributed.broadcast_from_main, trainer.checkpoints
    damaged: list[MachineError] = []
    for step in reversed(on_main(checkpoints.steps)):
        try:
            trainer.resume(step)
        except MachineError as damage:
            damaged.append(damage)
            continue
        notes = [f"{damage}; trying the one before" for damage in damaged]
        there, here = trainer.progress.machine, trainer.machine
        if there != here:
            notes.append(f"not bit for bit as without the stop: {there} before, {here} now")
        return [*notes, f"continuing {trainer.run.path} from step {step}"]
    if on_main(lambda: saved_steps(checkpoints.directory)):
        reason = f"no sound checkpoint ({damaged[0]})" if damaged else "no complete checkpoint"
        raise MachineError(f"{checkpoints.directory}: {reason}; start anew with --overwrite")
    if trainer.distributed.is_main:
        trainer.run.forget_metrics_after(0)
    return []
