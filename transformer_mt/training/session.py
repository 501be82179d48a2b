"""From a configuration to a trainer: start a new run or resume one."""

import copy
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from tqdm import tqdm  # `tqdm.auto` would need ipywidgets in a notebook
from typing_extensions import override

from transformer_mt.config.sections import Config, TrainingConfig
from transformer_mt.corpus.load_corpus import Corpus, load_corpus, load_mixture, resolved, with_languages
from transformer_mt.corpus.word_counts import TrainingWords
from transformer_mt.ground import plugins
from transformer_mt.ground.distributed import Distributed
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.ground.files import make_directory, original_name, write_errors
from transformer_mt.ground.progress import working
from transformer_mt.ground.seeds import derive_seed
from transformer_mt.links.choose_heads import choose_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.alignment import ALIGNMENT
from transformer_mt.runs.directory import CHECKPOINTS, PARTS, Run, saved_steps
from transformer_mt.runs.doubt import DOUBT
from transformer_mt.runs.lock import acquire, release
from transformer_mt.runs.weights import load_weights
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.batch_stream import (
    BatchStream,
    TrainingCorpora,
    train_tokenizer,
    training_words,
)
from transformer_mt.training.build import check_configuration, device_of, initial_model
from transformer_mt.training.doubt import choose_doubt
from transformer_mt.training.fine_tuning import load_parent, take_weights, taken_vocabulary, vocabulary_notes
from transformer_mt.training.reports import FinishReport, Report, StepReport, metric_of
from transformer_mt.training.resume import as_begun, require_same, resume_newest
from transformer_mt.training.schedules import build_schedule, fitting_warmup
from transformer_mt.training.trainer import Trainer
from transformer_mt.training.validation import Validator


@dataclass(frozen=True, repr=False)
class TrainingSession:
    """A trainer, its configuration, corpus and tokenizer, and notes for the user.

    `len` is the number of steps; training may stop earlier if validation stops improving.
    """

    config: Config
    trainer: Trainer
    corpus: Corpus
    tokenizer: Tokenizer
    notes: tuple[str, ...]

    @override
    def __repr__(self) -> str:
        trainer = self.trainer
        return f"TrainingSession({str(trainer.run.path)!r}, step {trainer.progress.step} of {len(self)}, {self.corpus})"

    def __len__(self) -> int:
        return self.trainer.steps

    def train(self, *, progress: bool = False) -> Iterator[Report]:
        """Train to the end, and release the directory.

        Before the last report, choose the heads for word links and the threshold of doubt. With `progress`, show a bar
        on the terminal or in the notebook.
        `break` saves a checkpoint. With several processes, or at interpreter exit, only the last periodic one remains.
        Raises `Diverged` if loss or weights stop being finite, and `MachineError` if memory or a file fails.
        """
        trainer = self.trainer
        in_notebook = "ipykernel" in sys.modules
        place = sys.stdout if in_notebook else sys.stderr
        is_hidden = not (progress and (in_notebook or place.isatty()))
        start = trainer.progress.step
        try:
            with tqdm(desc="training", total=len(self), initial=start, file=place, disable=is_hidden) as bar:
                for report in trainer.train():
                    if isinstance(report, FinishReport):
                        trainer.distributed.broadcast_from_main(self._write_choices)
                    bar.update(isinstance(report, StepReport))
                    yield report
        except GeneratorExit:
            is_alone = trainer.distributed.world_size == 1
            if is_alone and trainer.progress.step != trainer.saved_step and not sys.is_finalizing():
                trainer.save()
            raise
        finally:
            release(trainer.run.path)

    def _write_choices(self) -> None:
        """Choose the heads for word links and the threshold of doubt, with the weights to use."""
        trainer = self.trainer
        try:
            weights = Run(trainer.run.path).read_weights(trainer.checkpoints.weights)  # may differ from the last step's
        except MachineError:  # damaged meanwhile; opening the run will report it
            return
        model = copy.deepcopy(trainer.model).eval()
        with torch.no_grad():
            load_weights(model, weights)
        pairs = self.corpus.splits["validation"]
        with working("choosing the heads for word links"):
            chosen = choose_heads(model, self.tokenizer, pairs)
        if chosen:
            trainer.run.save_beside(ALIGNMENT, chosen)
        with working("choosing when to doubt a translation"):
            validate = trainer.validate
            trainer.run.save_beside(DOUBT, choose_doubt(validate.translator(model), validate.kept))


@torch.inference_mode(False)
def open_training(
    config: Config,
    path: str | Path,
    corpus: Corpus | None = None,
    *,
    overwrite: bool = False,
    distributed: Distributed | None = None,
) -> TrainingSession:
    """Open training in the run directory `path`: resume from its newest sound checkpoint, or start.

    `corpus` replaces the configured one. With `overwrite`, an existing run is deleted once the new one has been built.
    Raises `InputError` for invalid settings, for a directory with other files, for a run that another process trains,
    and, listing the differences, for a changed configuration or changed data; `MachineError` if no checkpoint is sound.
    """
    distributed = distributed or Distributed()
    check_configuration(config, distributed)
    run = Run(Path(path))
    with ExitStack() as unless_opened:
        exists = distributed.broadcast_from_main(lambda: _lock(run, unless_opened))
        corpora, config = distributed.main_first(lambda: open_corpora(config, corpus))
        if exists and not overwrite:
            session = _resumed(config, run, corpora, distributed)
        else:
            session = _started(config, run, corpora, distributed, exists=exists)
        unless_opened.pop_all()
    return session


def _started(
    config: Config, run: Run, corpora: TrainingCorpora, distributed: Distributed, *, exists: bool
) -> TrainingSession:
    """Create a run, replacing one that `exists`."""
    config = config.model_copy(update={"plugins": plugins.names()})
    on_main = distributed.broadcast_from_main
    session = build_session(config, run, corpora, distributed)
    on_main(lambda: _create(run, config, corpora, session.tokenizer, exists=exists))
    on_main(run.remove_leftovers)
    on_main(lambda: run.forget_metrics_after(0))
    if config.init_from.run:
        session.trainer.save()  # so the run no longer needs its parent
    return session


def _resumed(config: Config, run: Run, corpora: TrainingCorpora, distributed: Distributed) -> TrainingSession:
    """Resume a run from its newest sound checkpoint."""
    on_main = distributed.broadcast_from_main
    begun = on_main(run.config)
    config = as_begun(config, begun)
    tokenizer = on_main(lambda: require_same(run, config, corpora))
    parent = None
    if config.init_from.run and not saved_steps(run.path / CHECKPOINTS):  # stopped before it saved the parent's weights
        tokenizer, parent = on_main(lambda: load_parent(config))
    session = _assembled(config, run, corpora, tokenizer, distributed, parent=parent, begun=begun.training)
    on_main(run.remove_leftovers)
    notes = resume_newest(session.trainer)
    if parent and not on_main(session.trainer.checkpoints.steps):
        session.trainer.save()  # so the run no longer needs its parent
    return replace(session, notes=(*session.notes, *notes))


def build_session(
    config: Config,
    run: Run,
    corpora: TrainingCorpora,
    distributed: Distributed | None = None,
    *,
    tokenizer: Tokenizer | None = None,
) -> TrainingSession:
    """Build a session at step 0 of a new run. Writes nothing.

    The vocabulary is `tokenizer`, or comes from another run, or is learned from the corpora. The weights come from the
    parent run, or depend only on the seed. Raises `InputError` for a parent or vocabulary that does not fit.
    """
    distributed = distributed or Distributed()
    on_main = distributed.broadcast_from_main
    parent = None
    notes: list[str] = []
    if config.init_from.run:
        tokenizer, parent = on_main(lambda: load_parent(config))
    elif config.tokenizer.from_run:
        tokenizer = on_main(lambda: taken_vocabulary(config, Run.open(Path(config.tokenizer.from_run))))
    elif tokenizer is None:
        with working(f"learning a vocabulary of {config.tokenizer.vocabulary_size} tokens"):
            tokenizer = on_main(lambda: train_tokenizer(corpora.weighted, config.tokenizer))
        notes = [tokenizer.note] if tokenizer.note else []
    if config.init_from.run or config.tokenizer.from_run:
        with working("looking for characters missing from the vocabulary"):
            notes += vocabulary_notes(config, corpora.weighted, tokenizer)
    return _assembled(config, run, corpora, tokenizer, distributed, parent=parent, notes=notes)


def _assembled(
    config: Config,
    run: Run,
    corpora: TrainingCorpora,
    tokenizer: Tokenizer,
    distributed: Distributed,
    *,
    parent: Seq2Seq | None,
    begun: TrainingConfig | None = None,
    notes: Sequence[str] = (),
) -> TrainingSession:
    """A session at step 0 with this vocabulary and the weights of `parent`, if any.

    `begun` is the training section that a resumed run was created with: its schedule keeps that number of steps.
    """
    device = device_of(config, distributed)
    said = [*corpora.main.notes, *(line for other, _ in corpora.others for line in other.notes)]
    model = initial_model(config, device, vocabulary_size=tokenizer.size)  # and the random state to train with
    if parent:
        take_weights(model, parent, config)
        said.append(f"starting from the weights and vocabulary of {config.init_from.run}")
    said += notes
    if not distributed.is_main:  # each process draws its own dropout
        torch.manual_seed(derive_seed(config.training.seed, distributed.rank, 0))
    tokenizer.require([corpus.start for corpus in corpora.weighted])
    tokenizer = tokenizer.toward(config.data.target_language)
    with working("encoding the pairs"):
        stream = BatchStream(corpora.weighted, tokenizer, config, distributed=distributed)
    first = begun or config.training
    steps = stream.steps_of(first.epochs) if first.epochs else first.steps
    configured = config.schedule.warmup
    warmup = fitting_warmup(config, steps)
    if not begun and warmup != configured:
        remark = f"{warmup} instead of {configured}, because training has only {steps} steps; the peak stays"
        said.append(f"schedule.warmup: {remark}")
    validate = Validator(corpora.main.splits["validation"], tokenizer, config, device, distributed)
    trainer = Trainer(
        run, config, model, device=device, distributed=distributed, stream=stream,
        schedule=build_schedule(config, steps), validate=validate,
    )  # fmt: skip
    return TrainingSession(config, trainer, corpora.main, tokenizer, (*said, *validate.notes))


def open_corpora(config: Config, corpus: Corpus | None = None) -> tuple[TrainingCorpora, Config]:
    """Load the corpora to train on, unless one is given; return them and the configuration with its automatic values.

    Raises `InputError` if a split is missing.
    """
    data = config.data.model_copy(update={"corpus": corpus.name}) if corpus else config.data
    corpus = corpus or load_corpus(data)
    for split in ("train", "validation"):
        if split not in corpus.splits:
            raise InputError(Path(corpus.name), f"no {split} split", "give one")
    data = resolved(data, corpus)
    others = tuple(load_mixture(data, corpus))
    data = with_languages(data, [other for other, _ in others])
    metric = metric_of(config.training, pairs=len(corpus.splits["validation"]))
    training = config.training.model_copy(update={"choose_by": metric})
    return TrainingCorpora(corpus, others), config.model_copy(update={"data": data, "training": training})


def _lock(run: Run, unless_opened: ExitStack) -> bool:
    """Lock an existing run against other training processes; return whether there is one."""
    path = run.path
    exists = path.is_dir() and run.exists()  # training cannot continue a packed run
    # Otherwise only the remains of an interrupted start may be there.
    is_ours = path.is_dir() and all(original_name(entry.name) in PARTS for entry in path.iterdir())
    if path.exists() and not (exists or is_ours):
        raise InputError(path, "exists and is not a tmt run", "choose another directory")
    if exists and acquire(path):
        unless_opened.callback(release, path)
    return exists


def _create(run: Run, config: Config, corpora: TrainingCorpora, tokenizer: Tokenizer, *, exists: bool) -> None:
    """Lock the directory and write the first files of a run, replacing one that `exists`."""
    with working("counting words"):
        words: TrainingWords | None = training_words(corpora.weighted)
    if config.init_from.run:  # add the words of all earlier training, if known
        before = Run(Path(config.init_from.run)).words()
        words = None if before is None or words is None else before + words
    with write_errors(run.path):
        make_directory(run.path)
    acquire(run.path)
    if run.exists() and not exists:
        raise InputError(run.path, "another process has started training here", "choose another directory")
    run.clear()
    Run.create(run.path, config, tokenizer, corpora.record, words)
