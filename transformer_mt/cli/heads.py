"""`tmt heads`: what each attention head does, whether it matters, and a run without those that do not."""

import json
import re
from collections.abc import Iterator
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
    from transformer_mt.experiments.pruning import Pruning, Scores


def heads(
    model: Model = None,
    data: DataToMeasure = None,
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="Which part of the corpus to measure on.")
    ] = "validation",
    sentences: Annotated[
        int | None, typer.Option("--sentences", metavar="N", min=1, help="Only the first sentences of it.")
    ] = None,
    bleu: Annotated[
        bool, typer.Option("--bleu", help="What BLEU loses without each head, too: translates once a head.")
    ] = False,
    faithful: Annotated[
        bool,
        typer.Option("--faithful", help="How far attention, and each method of tmt attend, agrees with erasing words."),
    ] = False,
    prune: Annotated[
        str | None,
        typer.Option("--prune", metavar="N", help="Leave out so many heads, or such a share: 12, 0.33 or 33%."),
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option("--run-dir", metavar="DIR", help="Where the run without them is written.")
    ] = None,
    importance: Annotated[
        str | None,
        typer.Option(
            "--importance",
            metavar="NAME",
            help="How --prune ranks heads: unnormalised, gradient or exact. [unnormalised]",
        ),
    ] = None,
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
    gradient of the loss in a factor of its output, which one pass gives for all heads, normalised in every layer.

    --prune writes a run that does not compute the least important heads any more (Michel et al. 2019), and shows loss
    and BLEU on the same sentences before and after. Every command takes such a run, and tmt train --from trains it on.
    Heads are ranked by that gradient, unnormalised, or normalised as in that paper; or exactly, by what is lost.

    --faithful takes each source word out of the sentence, and compares how far ln p of each target word falls with
    what attention, and every other method, says of it: where the picture misleads.

    JSON keys: sentences, loss, bleu, heads, relations; with --prune pruned, heads, importance, before, after, change;
    with --faithful sentences and agreements.
    """
    from transformer_mt.cli.load import open_run
    from transformer_mt.cli.sentence import save_arrays
    from transformer_mt.cli.terminal import literal_console, note, result
    from transformer_mt.drawing.heads_text import head_lines
    from transformer_mt.experiments.head_bleu import with_bleu
    from transformer_mt.inspection.head_measuring import measure_heads
    from transformer_mt.views.data import to_json
    from transformer_mt.views.faithfulness import faithfulness, faithfulness_lines

    _refuse_mixtures(bleu=bleu, faithful=faithful, prune=prune, run_dir=run_dir, importance=importance)
    run = open_run(model, SearchOptions({}), device=device, quiet=quiet)
    if not run.translator.model.attention_stacks():
        raise InputError(f"{run.path}: this model has no attention to show; give one that has with --model")
    pairs, corpus = _pairs(run, data=data, split=split, most=sentences, quiet=quiet)
    if not quiet:
        note(f"measuring on {len(pairs)} sentences of {corpus}, split {split}")
    view: Any
    if prune is not None and run_dir is not None:
        view = _prune(run, pairs, prune, run_dir, importance=importance or "unnormalised")
        lines = _pruning_lines(view, run_dir)
    elif faithful:
        view = faithfulness(run.translator.model, run.translator.tokenizer, pairs)
        lines = faithfulness_lines(view, width=literal_console().width)
    else:
        table = measure_heads(run.translator.model, run.translator.tokenizer, pairs)
        view = with_bleu(table, run.translator, pairs) if bleu else table
        lines = head_lines(view)
    if npz is not None:
        save_arrays(view, npz)
    result(*([json.dumps(to_json(view))] if as_json else lines))


def _refuse_mixtures(
    *, bleu: bool, faithful: bool, prune: str | None, run_dir: Path | None, importance: str | None
) -> None:
    """Raise `InputError` for options that would have no effect, or lack another."""
    for option, given in {"--prune": prune is not None, "--bleu": bleu}.items():
        if faithful and given:
            raise InputError(
                f"--faithful: a table of its own, which {option} does not change; leave one of the two out"
            )
    if prune is not None and run_dir is None:
        raise InputError("--prune: writes a run; say where with --run-dir")
    if prune is not None and bleu:
        raise InputError("--bleu: --prune shows BLEU before and after anyway; leave it out")
    for option, value in {"--run-dir": run_dir, "--importance": importance}.items():
        if prune is None and value is not None:
            raise InputError(f"{option}: only --prune writes a run; give it too, or leave this out")
    if importance is not None:
        from transformer_mt.inspection.ablation import IMPORTANCE

        lookup(IMPORTANCE, importance, key="--importance")


def _pairs(
    run: "OpenedRun", *, data: str | None, split: str, most: int | None, quiet: bool
) -> "tuple[list[SentencePair], str]":
    """The pairs to measure on, and what their corpus is called."""
    from transformer_mt.batching.encoded_pairs import fitting
    from transformer_mt.cli.evaluate import USUAL
    from transformer_mt.cli.terminal import note
    from transformer_mt.corpus.load import load_corpus

    source = run.config.data
    corpus = load_corpus(
        source.model_copy(update={"corpus": data, **USUAL}) if data else source, need=split, structure=True
    )
    if data and not quiet:
        note(*corpus.notes)
    pairs = lookup(corpus.splits, split, key="--split")
    limit = run.translator.model.max_length
    kept = fitting(pairs[:most], run.translator.tokenizer, max_length=limit)
    if not kept:
        raise InputError(f"--split {split}: no pair is within the model's {limit} tokens; give another")
    return kept, corpus.name


def _prune(run: "OpenedRun", pairs: "list[SentencePair]", amount: str, path: Path, *, importance: str) -> "Pruning":
    from transformer_mt.experiments.pruning import prune_run
    from transformer_mt.models.head_mask import head_names
    from transformer_mt.runs.directory import Run

    return prune_run(
        Run(run.path),
        run.config,
        run.translator,
        pairs,
        count=parse_amount(amount, heads=len(head_names(run.translator.model))),
        method=importance,
        path=path,
    )


def parse_amount(text: str, *, heads: int) -> int:
    """How many heads a number, or a share such as 0.33 or 33%, is. Raises `InputError` for anything else."""
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    if found := re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)%|(0?\.[0-9]{1,9})", text):
        share = float(found[1]) / 100 if found[1] else float(found[2])
        return round(share * heads)
    raise InputError(f"--prune: {text!r} is no number of heads; give one such as 12, or a share such as 0.33 or 33%")


def _pruning_lines(pruning: "Pruning", path: Path) -> Iterator[str]:
    yield f"{path}: a run without {len(pruning.pruned)} of {pruning.heads} heads"
    yield f"left out: {', '.join(map(str, pruning.pruned))}"
    yield ""
    yield "             loss, nats a token              BLEU"
    for title, scores in (("before", pruning.before), ("after", pruning.after), ("change", pruning.change)):
        yield _score_line(title, scores)
    yield "± is the 95 % interval over sentences"


def _score_line(title: str, scores: "Scores") -> str:
    loss, bleu = scores.loss, scores.bleu
    return f"{title:<10} {loss.value:>12.4f} ±{loss.margin:.4f} {bleu.value:>14.2f} ±{bleu.margin:.2f}"
