"""A corpus of a few dozen pairs and a model that trains on it within moments."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from support.variants import with_sizes
from transformer_mt.batching.batches import Batch
from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.config.sections import Config, TokenizerConfig
from transformer_mt.config.toml import load_config
from transformer_mt.corpus.load_corpus import Corpus
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.distributed import Distributed
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import digest, weights_of
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.batch_stream import TrainingCorpora
from transformer_mt.training.reports import Report, StepReport, ValidationReport
from transformer_mt.training.session import TrainingSession, build_session, open_training
from transformer_mt.training.trainer import Trainer

SUBJECTS = {
    "der Hund": "the dog",
    "die Katze": "the cat",
    "das Haus": "the house",
    "mein alter Freund": "my old friend",
}
VERBS = {"sieht": "sees", "sucht": "seeks", "hat": "has"}
OBJECTS = {"das Kind": "the child", "die Tür": "the door", "die alte Stadt": "the old town"}

PAIRS = [
    SentencePair(f"{subject} {verb} {thing}.", f"{SUBJECTS[subject]} {VERBS[verb]} {OBJECTS[thing]}.")
    for subject in SUBJECTS
    for verb in VERBS
    for thing in OBJECTS
]
random.Random(1).shuffle(PAIRS)
TRAIN, VALIDATION = PAIRS[:31], PAIRS[33:]
TEXTS = [text for pair in TRAIN for text in (pair.source, pair.target)]

SMALL = (
    "tokenizer.vocabulary_size=300",
    "model.width=16",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.max_length=31",
    "schedule.warmup=5",
    "training.batch_tokens=120",
    "training.steps=8",
    "training.validate_every=4",
    "training.checkpoint_every=3",
    "training.log_every=2",
    "training.device=cpu",
    "training.precision=float32",
    "search.max_length_margin=0",  # an untrained model does not stop, and would slow down each validation
)
SMALL_TRANSFORMER = ("model.attention.heads=2", "model.feed_forward_width=17")


def small_config(*overrides: str) -> Config:
    """A configuration that trains within moments, changed as by `--set`."""
    return load_config(None, with_sizes(overrides, SMALL, transformer=SMALL_TRANSFORMER))


def corpus_in_memory(train: Sequence[SentencePair] = TRAIN, validation: Sequence[SentencePair] = VALIDATION) -> Corpus:
    """The pairs as an in-memory corpus."""
    return Corpus.from_pairs({"train": train, "validation": validation}, name="small")


def small_batch() -> Batch:
    """The first five pairs as a batch, with a vocabulary of 300 tokens."""
    tokenizer = Tokenizer.train(TEXTS, TokenizerConfig(vocabulary_size=300))
    return encode_pairs(TRAIN[:5], tokenizer, max_length=31).batch(range(5))


def write_corpus(folder: Path) -> Path:
    """Write the same pairs as a folder of JSONL."""
    folder.mkdir()
    for name, pairs in (("train", TRAIN), ("val", VALIDATION)):
        lines = (json.dumps({"de": pair.source, "en": pair.target}, ensure_ascii=False) + "\n" for pair in pairs)
        (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    return folder


def opened(path: Path, *overrides: str, overwrite: bool = False) -> TrainingSession:
    """Training on the small corpus in the run directory `path`, with all parts built again as in a new process."""
    return open_training(small_config(*overrides), path, corpus_in_memory(), overwrite=overwrite)


def unwritten(
    config: Config, run: Run, corpora: TrainingCorpora, *, distributed: Distributed | None = None, **given: Any
) -> TrainingSession:
    """A session at step 0 that writes nothing."""
    return build_session(config, run, corpora, distributed, **given)


def train(session: TrainingSession, *, until: int | None = None) -> list[Report]:
    """Train to the end, or leave (and so save) at the report of a step."""
    reports = []
    for report in session.train():
        reports.append(report)
        if isinstance(report, StepReport) and report.step == until:
            break
    return reports


def weights_digest(model: Seq2Seq) -> str:
    """A digest of the weights, equal only if they are bit-identical."""
    return digest(weights_of(model))


def assert_resumed(start: Callable[[Path], TrainingSession], folder: Path, *, stop: int = 5) -> TrainingSession:
    """Assert that training resumed after a stop ends with the weights of training in one go; return the latter."""
    whole = start(folder / "whole")
    train(whole)
    train(start(folder / "stopped"), until=stop)
    again = start(folder / "stopped")
    assert again.notes[-1].endswith(f"from step {stop}")
    assert steps_of(train(again))[0].step == stop + 1
    assert weights_digest(whole.trainer.model) == weights_digest(again.trainer.model)
    return whole


def steps_of(reports: Sequence[Report]) -> list[StepReport]:
    """The step reports."""
    return [report for report in reports if isinstance(report, StepReport)]


def validations_of(reports: Sequence[Report]) -> list[ValidationReport]:
    """The validation reports."""
    return [report for report in reports if isinstance(report, ValidationReport)]


def gradients_of_a_step(trainer: Trainer) -> tuple[list[Tensor], StepReport]:
    """The gradients that the optimizer gets in the next step, and its report."""
    seen: list[Tensor] = []
    step = trainer.optimizer.step

    def observed(number: int) -> float:
        seen.extend(parameter.grad.clone() for parameter in trainer.model.parameters() if parameter.grad is not None)
        return step(number)

    trainer.optimizer.step = observed  # type: ignore[method-assign]
    return seen, trainer.step()
