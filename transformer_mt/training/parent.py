"""Fine-tuning: a run that begins with the weights and the vocabulary of another one, its parent."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch

from transformer_mt.config.sections import Config, InitFromConfig
from transformer_mt.errors import InputError
from transformer_mt.models.build import build_model
from transformer_mt.runs.directory import Run, TrainedModel
from transformer_mt.runs.weights import digest, layout_of, weights_of
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.data import WeightedCorpus, sample

_SHOWN = 9


def begun_with(path: Path) -> InitFromConfig:
    """What the configuration of a run says that is to begin with the run at `path`."""
    return InitFromConfig(run=str(path.resolve()), weights=digest(weights_of(Run.open(path).load().model)))


def load_parent(config: Config) -> TrainedModel:
    """The parent that a configuration names, which has to be the one that it meant.

    Raises `InputError` for one whose weights have changed since, and where the configuration describes a model or a
    vocabulary that the parent does not have.
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
        layout = layout_of(weights_of(build_model(config.model, vocabulary_size=parent.tokenizer.size)))
    theirs = layout_of(weights_of(parent.model))
    if layout != theirs:
        name = sorted(key for key in {*layout, *theirs} if layout.get(key) != theirs.get(key))[0]
        raise InputError(f"model: {name} is another one in {place}, whose weights are to be used; leave its sizes")
    return parent


def parent_notes(config: Config, corpora: Sequence[WeightedCorpus], tokenizer: Tokenizer) -> list[str]:
    """Where training begins, and how many characters of the data the parent's vocabulary spells as bytes."""
    notes = [f"beginning with the weights and the vocabulary of {config.init_from.run}"]
    pairs = (pair for corpus in corpora for pair in sample(corpus.pairs, config.tokenizer.sample))
    unknown = tokenizer.unknown_characters(text for pair in pairs for text in (pair.source, pair.target))
    if unknown:
        notes.append(_unknown(unknown))
    return notes


def _unknown(counts: Counter[str]) -> str:
    shown = ", ".join(f"{character} {count}" for character, count in counts.most_common(_SHOWN))
    more = ", …" if len(counts) > _SHOWN else ""
    return f"characters that are not in the vocabulary, and become bytes: {counts.total()} ({shown}{more})"
