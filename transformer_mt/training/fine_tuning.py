"""Starting from other runs: a parent's weights and vocabulary, only a vocabulary, or a teacher."""

from collections.abc import Sequence
from pathlib import Path

import torch

from transformer_mt.config.sections import Config, InitFromConfig, TeacherConfig
from transformer_mt.errors import InputError
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import digest, load_weights, specs_of, weights_of
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.batch_stream import WeightedCorpus, sampled_pairs
from transformer_mt.translation.model import Model


def init_from_run(path: Path) -> InitFromConfig:
    """The configuration section for fine-tuning the run at `path`."""
    return InitFromConfig(run=place_of(path), weights=digest(weights_of(Run.open(path).network())))


def place_of(path: Path) -> str:
    """The absolute path of a run, for a configuration. Raises `InputError` if it is not valid UTF-8."""
    place = str(path.resolve())
    if place != place.encode(errors="replace").decode():
        raise InputError(place, "not UTF-8, as a configuration requires", "rename it")
    return place


def open_teacher(config: Config, device: torch.device) -> tuple[Config, Model | None]:
    """Open the teacher, if the objective has one; return the configuration with the digest of its weights, and it.

    Raises `InputError` if no teacher is given, or if its weights have changed since.
    """
    section = config.objective
    if not isinstance(section, TeacherConfig):
        return config, None
    if not section.teacher:
        raise InputError("objective.teacher", "missing", "give the run of the teacher")
    place = place_of(Path(section.teacher))
    teacher = Model.open(Run.open(Path(place)), device=str(device))
    found = digest(weights_of(teacher.network.requires_grad_(False)))
    if section.teacher_weights not in ("", found):
        remedy = "restore them, or overwrite the run"
        raise InputError(place, "its weights do not match objective.teacher_weights", remedy)
    named = section.model_copy(update={"teacher": place, "teacher_weights": found})
    return config.model_copy(update={"objective": named}), teacher


def taken_vocabulary(config: Config, run: Run) -> Tokenizer:
    """The vocabulary of another run. Raises `InputError` if the configuration asks for a different one."""
    theirs = run.config().tokenizer
    for key in ("kind", "vocabulary_size", "whole_words"):
        old, new = getattr(theirs, key), getattr(config.tokenizer, key)
        if old != new:
            raise InputError(
                f"tokenizer.{key}", f"is {old} in {run.path}, whose vocabulary is used, and {new} now", "do not set it"
            )
    return run.tokenizer()


def load_parent(config: Config) -> tuple[Tokenizer, Seq2Seq]:
    """The vocabulary and network of the parent run. Raises `InputError` if its weights have changed."""
    parent = Run.open(Path(config.init_from.run))
    network = parent.network()
    if digest(weights_of(network)) != config.init_from.weights:
        remedy = "overwrite the run"
        raise InputError(parent.path, "its weights do not match init_from.weights", remedy)
    return taken_vocabulary(config, parent), network


def take_weights(model: Seq2Seq, pretrained: Seq2Seq, *, place: str) -> None:
    """Copy the weights of the run at `place` into a model. Raises `InputError` if they do not fit."""
    theirs = weights_of(pretrained)
    if other := dict(specs_of(weights_of(model)).items() ^ specs_of(theirs).items()):
        raise InputError("model", f"{min(other)} differs in {place}, whose weights are used", "do not change its sizes")
    with torch.no_grad():
        load_weights(model, theirs)


def vocabulary_notes(config: Config, corpora: Sequence[WeightedCorpus], tokenizer: Tokenizer) -> list[str]:
    """A note on characters of the data that another run's vocabulary lacks, if any."""
    pairs = list(sampled_pairs(corpora, config.tokenizer.sample))
    unknown = tokenizer.unknown_characters(pair.source for pair in pairs)
    unknown += tokenizer.target.unknown_characters(pair.target for pair in pairs)
    if not unknown:
        return []
    commonest = ", ".join(f"{character} {count}" for character, count in unknown.most_common(9))
    missing = f"characters missing from the vocabulary become {tokenizer.unknown_become}"
    return [f"{missing}: {unknown.total()} ({commonest})"]
