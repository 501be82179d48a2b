"""The models that link words, for the commands. Imports torch: only for use inside commands."""

from itertools import islice
from pathlib import Path

from transformer_mt.cli.load import OpenedRun, direction, open_run
from transformer_mt.cli.search_options import SearchOptions
from transformer_mt.cli.terminal import note
from transformer_mt.corpus.load import load_corpus
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.errors import InputError, TmtError
from transformer_mt.inspection.alignment.aligners import AligningModel, cross_heads
from transformer_mt.inspection.alignment.choice import DICTIONARY_PAIRS, choose_by_agreement, find_aligner
from transformer_mt.runs.alignment import ALIGNMENT, Aligner
from transformer_mt.runs.directory import Run


def aligning_model(run: OpenedRun, *, quiet: bool = False) -> AligningModel:
    """The run's model with its aligner: the stored one, or one that is found now, which is said on stderr.

    Raises `InputError` for a model without cross-attention.
    """
    model, tokenizer = run.translator.model, run.translator.tokenizer
    if not cross_heads(model):
        raise InputError(f"{run.path}: this model has no cross-attention to link words by; give another with --model")
    aligner = Run(run.path).alignment()
    if aligner is None:
        if not quiet:
            note(f"{run.path}: has no {ALIGNMENT}, which training writes at its end; choosing heads now")
        validation, training = _pairs_of(run)
        aligner = find_aligner(model, tokenizer, validation=validation, training=training)
        assert aligner is not None
    return AligningModel(model, tokenizer, aligner)


def both_directions(
    run: OpenedRun, reverse: Path | None, *, device: str, quiet: bool = False
) -> tuple[AligningModel, AligningModel | None]:
    """The run's model and, if asked for, that of a run of the other direction.

    Where neither knows its heads by links, those are taken whose links agree most on the validation pairs.
    """
    ours = aligning_model(run, quiet=quiet)
    if reverse is None:
        return ours, None
    other = open_run(reverse, SearchOptions({}), device=device, quiet=quiet)
    here, there = run.config.data, other.config.data
    if (here.source_language, here.target_language) != (there.target_language, there.source_language):
        raise InputError(f"--reverse {reverse}: translates {direction(there)}; give a model of the way back")
    theirs = aligning_model(other, quiet=quiet)
    if ours.aligner.chosen_by == theirs.aligner.chosen_by == "guess" and (pairs := _pairs_of(run)[0]):
        ours, theirs = choose_by_agreement(ours, theirs, pairs)
        if not quiet:
            note(f"heads chosen by agreement: {heads_in_words(ours.aligner)}, and {heads_in_words(theirs.aligner)}")
    return ours, theirs


def heads_in_words(aligner: Aligner) -> str:
    """Which heads are averaged: by name if they are few."""
    names = [str(head) for head in aligner.heads]
    shown = ", ".join(names) if len(names) <= 4 else f"{len(names)} heads, {names[0]} to {names[-1]}"
    return f"{shown}, one row later" if aligner.shift else shown


def _pairs_of(run: OpenedRun) -> tuple[Pairs, Pairs]:
    """Validation pairs and some training pairs of the run's corpus; none where it is not there any more."""
    try:
        splits = load_corpus(run.config.data).splits
    except TmtError:
        return [], []
    return splits.get("validation", []), list(islice(splits["train"], DICTIONARY_PAIRS))
