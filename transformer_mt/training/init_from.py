"""Fine-tuning: a run that begins with the weights and the vocabulary of another one, which is already trained."""

from collections.abc import Sequence
from pathlib import Path

import torch

from transformer_mt.config.sections import Config, InitFromConfig
from transformer_mt.errors import InputError
from transformer_mt.models.build import build_model
from transformer_mt.runs.directory import Run, TrainedModel
from transformer_mt.runs.weights import digest, specs_of, weights_of
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.data import WeightedCorpus, sample

_SHOWN = 9


def init_from_run(path: Path) -> InitFromConfig:
    """The configuration section of a run that begins with the run at `path`."""
    return InitFromConfig(run=str(path.resolve()), weights=digest(weights_of(Run.open(path).load().model)))


def load_pretrained(config: Config) -> TrainedModel:
    """The run that `init_from` names, if its weights are still the ones meant.

    Raises `InputError` where its weights have changed since, and for another model or vocabulary in the configuration.
    """
    place = config.init_from.run
    parent = Run.open(Path(place)).load()
    if digest(weights_of(parent.model)) != config.init_from.weights:
        raise InputError(f"{place}: its weights are no longer those of init_from.weights; give it with --from again")
    for key in ("kind", "vocabulary_size", "whole_words"):
        old, new = getattr(parent.config.tokenizer, key), getattr(config.tokenizer, key)
        if old != new:
            raise InputError(f"tokenizer.{key}: is {old} in {place}, whose vocabulary stays, and {new} now; leave it")
    with torch.device("meta"):
        ours = specs_of(weights_of(build_model(config.model, vocabulary_size=parent.tokenizer.size)))
    if other := dict(ours.items() ^ specs_of(weights_of(parent.model)).items()):
        raise InputError(f"model: {min(other)} is another one in {place}, whose weights are used; leave its sizes")
    return parent


def pretrained_notes(config: Config, corpora: Sequence[WeightedCorpus], tokenizer: Tokenizer) -> list[str]:
    """Remarks: the run that training begins with, and how many characters of the data its vocabulary lacks."""
    notes = [f"beginning with the weights and the vocabulary of {config.init_from.run}"]
    pairs = (pair for corpus in corpora for pair in sample(corpus.pairs, config.tokenizer.sample))
    if unknown := tokenizer.unknown_characters(text for pair in pairs for text in (pair.source, pair.target)):
        shown = ", ".join(f"{character} {count}" for character, count in unknown.most_common(_SHOWN))
        more = ", …" if len(unknown) > _SHOWN else ""
        notes.append(f"characters that are not in the vocabulary, and become bytes: {unknown.total()} ({shown}{more})")
    return notes
