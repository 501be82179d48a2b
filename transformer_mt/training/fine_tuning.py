"""Starting from other runs: a parent's weights and vocabulary, or only its vocabulary."""

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import torch

from transformer_mt.config.fine_tuning import fine_tuning_defaults, old_pairs
from transformer_mt.config.sections import Config, DataConfig, InitFromConfig, MixedConfig, NoamConfig
from transformer_mt.config.toml import differences
from transformer_mt.corpus.load_corpus import Corpus, data_of, held_out_texts, load_corpus, load_mixed
from transformer_mt.corpus.source import BUILTIN, IMPORTED, short_code
from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.directory import Run
from transformer_mt.runs.fingerprints import DataRecord
from transformer_mt.runs.weights import digest, load_weights, specs_of, weights_of
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.batch_stream import WeightedCorpus, sampled_pairs
from transformer_mt.training.schedules import build_schedule


def init_from_run(path: Path) -> InitFromConfig:
    """The configuration section for fine-tuning the run at `path`."""
    return InitFromConfig(run=place_of(path), weights=digest(weights_of(Run.open(path).network())))


def fine_tuned(
    parent: Path,
    begun: Config | None,
    resolve: Callable[[Config, list[str]], Config],
    *,
    given: Collection[str],
    mixes: bool,
) -> tuple[Config, list[str]]:
    """The configuration for fine-tuning a parent run, and notes on the data mixed in, if it `mixes`.

    `resolve` applies defaults, and then the user's settings of the keys `given`, to a configuration. A run that has
    `begun` from this parent keeps its mixture, and can continue after the parent is deleted.
    """
    begun = begun if begun and begun.init_from.run == os.path.realpath(parent) else None
    mixture = {name: one for name, one in begun.data.mixture.items() if name.startswith("parent")} if begun else {}
    notes: list[str] = []
    if begun and not Run(parent).exists():
        section = begun.init_from
        config = resolve(begun, [])
    else:
        opened = Run.open(parent)
        theirs = opened.config()
        section = init_from_run(parent)
        own = load_corpus(resolve(theirs, []).data)
        config = resolve(theirs, defaults_for(theirs, own, given=given))
        if mixes and not mixture:
            mixture, notes = mixture_for(opened, own)
    data = config.data.model_copy(update={"mixture": mixture}) if mixes else config.data
    return config.model_copy(update={"init_from": section, "data": data}), notes


def defaults_for(parent: Config, own: Corpus, *, given: Collection[str]) -> list[str]:
    """Overrides of a parent's configuration for fine-tuning it on `own`, except of the keys `given`."""
    peak = build_schedule(parent, 10**9)(parent.schedule.warmup)
    defaults = fine_tuning_defaults(len(own.splits["train"]), width=parent.model.width, peak=peak, given=given)
    if isinstance(parent.schedule, NoamConfig) and "schedule.name" not in given:
        defaults.append(f"schedule.factor={NoamConfig().factor}")  # the other key that sets the peak
    return defaults


def mixture_for(parent: Run, own: Corpus) -> tuple[dict[str, MixedConfig], list[str]]:
    """The corpora of a parent run that are at hand, as a mixture for `own`, in their proportions; and notes.

    All but the built-in one must be on disk and match the fingerprints of the run.
    """
    theirs = parent.config().data
    main = MixedConfig.model_validate(theirs.model_dump(include={*MixedConfig.model_fields}) | {"hold_out": True})
    found = {}
    notes = []
    for name, one in {"parent": main, **{f"parent-{key}": one for key, one in theirs.mixture.items()}}.items():
        data = theirs if one is main else data_of(theirs, one)
        if problem := _why_not(parent, one, data, own, is_main=one is main):
            notes.append(f"not mixing in {one.corpus}, the parent's data: {problem}")
        elif one.corpus != own.name:
            found[name] = one.model_copy(update=data.model_dump(include={"source_language", "target_language"}))
    if not found:
        return {}, notes
    each = old_pairs(len(own.splits["train"]))
    names = ", ".join(one.corpus for one in found.values())
    amount = f"{each:g} pairs per pair of yours, so that the model does not forget"
    notes.append(f"mixing in the parent's data ({names}): {amount}; to turn it off: --only-own")
    total = sum(one.weight for one in found.values())
    return {name: one.model_copy(update={"weight": each * one.weight / total}) for name, one in found.items()}, notes


def _why_not(parent: Run, one: MixedConfig, data: DataConfig, own: Corpus, *, is_main: bool) -> str | None:
    """Why a corpus of the parent cannot be mixed into `own`; None if it can.

    It has another target language, or is missing, or has changed. `data` is the section to load it with.
    """
    theirs = parent.config().data
    target = own.languages[1]
    if short_code(data.target_language) != short_code(target) and len(theirs.directions()) == 1:
        return f"translates into {data.target_language}, not {target}"
    if one.corpus in (BUILTIN, own.name):
        return None
    recorded = None if parent.pack else parent.data().fingerprints.get("train" if is_main else f"{one.corpus} train")
    if one.corpus == IMPORTED or recorded is None:
        return "its content is not recorded"
    try:
        if is_main:
            now = load_corpus(data, offline=True)
        else:
            overlaps = "overlap" in data.remove
            texts = held_out_texts(load_corpus(theirs, offline=True)) if overlaps else frozenset[str]()
            now = load_mixed(data, cut=one.hold_out, held_out=texts, offline=True)
    except TmtError as error:
        return error.problem
    return DataRecord({"train": recorded}, {}).difference(DataRecord({"train": now.fingerprints["train"]}, {}))


def place_of(path: Path) -> str:
    """The absolute path of a run, for a configuration. Raises `InputError` if it is not valid UTF-8."""
    place = os.path.realpath(path)
    if place != place.encode(errors="replace").decode():
        raise InputError(place, "not UTF-8, as a configuration requires", "rename it")
    return place


def taken_vocabulary(config: Config, run: Run) -> Tokenizer:
    """The vocabulary of another run. Raises `InputError` if the configuration asks for a different one."""
    theirs = run.config().tokenizer
    for key in ("kind", "vocabulary_size", "whole_words"):
        old = getattr(theirs, key)
        new = getattr(config.tokenizer, key)
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
        raise InputError(parent.path, "its weights do not match init_from.weights", "start over with --overwrite")
    return taken_vocabulary(config, parent), network


def take_weights(model: Seq2Seq, pretrained: Seq2Seq, config: Config) -> None:
    """Copy the weights of the parent run into a model. Raises `InputError` if they do not fit."""
    theirs = weights_of(pretrained)
    if other := dict(specs_of(weights_of(model)).items() ^ specs_of(theirs).items()):
        parent = Run.open(Path(config.init_from.run))
        changed = [key for key, *_ in differences(parent.config(), config) if key.startswith("model.")]
        problem = f"{min(other)} differs in {parent.path}, whose weights are used"
        raise InputError(", ".join(changed) or "model", problem, "do not change its sizes")
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
