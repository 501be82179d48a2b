"""`tmt heads`: what each attention head does, whether it matters, and a run without those that do not."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transformer_mt.cli.options import DEFAULT_DEVICE, DataToMeasure, Device, Json, Model, Npz, Quiet
from transformer_mt.cli.search_options import SearchOptions
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup

if TYPE_CHECKING:
    from transformer_mt.cli.load import OpenedRun
    from transformer_mt.corpus.pairs import SentencePair


def heads(
    model: Model = None,
    data: DataToMeasure = None,
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="The part of the corpus to measure on.")
    ] = "validation",
    sentences: Annotated[
        int | None, typer.Option("--sentences", metavar="N", min=1, help="Only the first N sentences of it.")
    ] = None,
    bleu: Annotated[
        bool, typer.Option("--bleu", help="Also the change of BLEU without each head: translates once a head.")
    ] = False,
    faithful: Annotated[
        bool,
        typer.Option("--faithful", help="How far attention, and each method of tmt attend, agrees with erasing words."),
    ] = False,
    prune: Annotated[
        str | None,
        typer.Option("--prune", metavar="N", help="How many heads to remove: a count (12) or a share (0.33, 33%)."),
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option("--run-dir", metavar="DIR", help="Where --prune writes the run without them.")
    ] = None,
    importance: Annotated[
        str,
        typer.Option("--importance", metavar="NAME", help="How --prune ranks heads: unnormalised, gradient or exact."),
    ] = "unnormalised",
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
    npz: Npz = None,
    quiet: Quiet = False,
) -> None:
    """Show what each head does over many sentences: where it looks, which relations it finds, what is lost without it.

    \b
    Examples:
      tmt heads
      tmt heads --sentences 100 --bleu
      tmt heads --data test.de,test.en --split test
      tmt heads --faithful --sentences 100
      tmt heads --prune 33% --run-dir runs/pruned
      tmt heads --prune 12 --importance exact --run-dir runs/pruned

    The model is given the reference translations. Where a head looks is told in words: the entropy of its weights in
    bits, its mean distance, and the percentage of weight on the word before, at the same place and after, on words that
    the gold links name, on punctuation marks, and on </s>, or <s> in the decoder, where the row of a word is that in
    which it is written. A relation is found where the word with the most weight is the true one, the word itself and
    </s> aside; a fixed offset is the best guess that does not look at the sentence (Clark et al. 2019, §4.2). Relations
    need a corpus with structure, such as the built-in one; cross-attention finds those of the source word that a target
    word is linked with. Of at least 20 cases in the text, all in --json.

    What is lost without a head is the rise of the loss when it is switched off; beside it stands its importance by the
    gradient of the loss in the head mask, which one pass gives for all heads, normalised in every layer; Kendall's tau
    tells how far the two agree on the order of heads.

    --prune writes a run in which the least important heads are masked (Michel et al. 2019; model.attention.head_mask in
    its configuration), and shows loss and BLEU on the same sentences before and after. Every command takes such a run,
    and tmt train --from trains it on. Heads are ranked by that gradient, unnormalised, or normalised as in that paper;
    or exactly, by what is lost.

    --faithful takes each source word out of the sentence, and compares how far ln p of each target word falls with
    what attention, and every other method, says of it: where the picture misleads.

    JSON keys: sentences, loss, bleu, heads, relations; with --prune pruned, heads, importance, before, after, change;
    with --faithful sentences and agreements.
    """
    from transformer_mt.cli.load import open_run
    from transformer_mt.cli.sentence import save_arrays
    from transformer_mt.cli.terminal import literal_console, note, result
    from transformer_mt.models.head_mask import head_names
    from transformer_mt.runs.directory import Run
    from transformer_mt.training.init_from import init_from_run
    from transformer_mt.views.data import to_json
    from transformer_mt.views.faithfulness import faithfulness, faithfulness_lines
    from transformer_mt.views.head_importance import IMPORTANCE, prune_run, pruning_lines
    from transformer_mt.views.heads import head_lines, measure_heads, with_bleu

    if (prune is None) != (run_dir is None):
        raise InputError("--prune, --run-dir: the one says how many heads, the other where the run goes; give both")
    lookup(IMPORTANCE, importance, key="--importance")
    run = open_run(model, SearchOptions(), device=device, quiet=quiet)
    if not run.translator.model.attention_stacks():
        raise InputError(f"{run.path}: this model has no attention to show; give one that has with --model")
    pairs, corpus = _pairs(run, data=data, split=split, most=sentences, quiet=quiet)
    if not quiet:
        note(f"measuring on {len(pairs)} sentences of {corpus}, split {split}")
    width = literal_console().width
    view: Any
    if prune is not None and run_dir is not None:
        view = prune_run(
            Run(run.path),
            run.config.model_copy(update={"init_from": init_from_run(run.path)}),
            run.translator,
            pairs,
            count=parse_amount(prune, heads=len(head_names(run.translator.model))),
            method=importance,
            path=run_dir,
        )
        lines = pruning_lines(view, run_dir)
    elif faithful:
        view = faithfulness(run.translator.model, run.translator.tokenizer, pairs)
        lines = faithfulness_lines(view, width=width)
    else:
        table = measure_heads(run.translator.model, run.translator.tokenizer, pairs)
        view = with_bleu(table, run.translator, pairs) if bleu else table
        lines = head_lines(view, width=width)
    if npz is not None:
        save_arrays(view, npz)
    result(*([json.dumps(to_json(view))] if as_json else lines))


def _pairs(
    run: "OpenedRun", *, data: str | None, split: str, most: int | None, quiet: bool
) -> "tuple[list[SentencePair], str]":
    """The pairs to measure on, and the name of their corpus."""
    from transformer_mt.batching.encoded_pairs import fitting
    from transformer_mt.cli.evaluate import corpus_to_measure

    corpus = corpus_to_measure(run.config.data, data, split=split, structure=True, quiet=quiet)
    pairs = lookup(corpus.splits, split, key="--split")
    limit = run.translator.model.max_length
    kept = fitting(pairs[:most], run.translator.tokenizer, max_length=limit)
    if not kept:
        raise InputError(f"--split {split}: no pair is within the model's {limit} tokens; give another")
    return kept, corpus.name


def parse_amount(text: str, *, heads: int) -> int:
    """The number of heads of a count, or of a share such as 0.33 or 33%. Raises `InputError` for anything else."""
    found = re.fullmatch(r"(\d{1,9})|(0?\.\d{1,9})|(\d{1,3}(?:\.\d{1,9})?)%", text, re.ASCII)
    if not found:
        raise InputError(
            f"--prune: {text!r} is no number of heads; give one such as 12, or a share such as 0.33 or 33%"
        )
    count, share, percent = found.groups()
    return int(count) if count else round(heads * (float(share) if share else float(percent) / 100))
