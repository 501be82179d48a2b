"""`tmt heads`: what each attention head does and whether it matters; prune heads."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from transformer_mt.cli.app import DATA, HEADS
from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    DataToMeasure,
    Device,
    Json,
    ModelOption,
    Quiet,
    SearchOptions,
    To,
)
from transformer_mt.errors import InputError
from transformer_mt.progress import working
from transformer_mt.registry import lookup

if TYPE_CHECKING:
    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.extensions.heads.pruning import Pruning
    from transformer_mt.translation.model import Model as OpenedModel
    from transformer_mt.translation.translator import Translator


def heads(
    model: ModelOption = None,
    data: DataToMeasure = None,
    split: Annotated[str, Option(metavar="NAME", help="Split to measure on.", rich_help_panel=DATA)] = "validation",
    sentences: Annotated[
        int | None, Option(metavar="N", min=1, help="Use only the first N sentences.", rich_help_panel=DATA)
    ] = None,
    bleu: Annotated[
        bool, Option("--bleu", help="Also measure BLEU without each head (slow).", rich_help_panel=HEADS)
    ] = False,
    faithful: Annotated[
        bool, Option("--faithful", help="Compare attention with the effect of erasing words.", rich_help_panel=HEADS)
    ] = False,
    prune: Annotated[
        str | None, Option(metavar="N", help="Mask this many heads: 12, 0.33 or 33%.", rich_help_panel=HEADS)
    ] = None,
    run_dir: Annotated[
        Path | None, Option("--run-dir", metavar="DIR", help="Where --prune writes the run.", rich_help_panel=HEADS)
    ] = None,
    importance: Annotated[
        str, Option(metavar="NAME", help="Rank by unnormalised, gradient or exact importance.", rich_help_panel=HEADS)
    ] = "unnormalised",
    to: To = None,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what each head does: where it looks, which relations it finds, how much it matters.

    \b
    Examples:
      tmt heads
      tmt heads --sentences 100 --bleu
      tmt heads --faithful --sentences 100
      tmt heads --prune 33% --run-dir runs/pruned
      tmt heads --prune 12 --importance exact --run-dir runs/pruned

    The model reads the reference translations. For each head: the entropy of its weights in bits, its mean distance in
    words, and the percentage of weight on the previous word, the same position, the next word, gold-linked words,
    punctuation and </s> (<s> in the decoder); then the rise of the loss without it, and its gradient importance.

    Relations count as found if the word with the most weight is right (Clark et al. 2019, §4.2); they need a corpus
    with structure, such as builtin.

    --faithful compares each method of tmt attend with the effect of removing source words. --prune writes a run without
    the least important heads (Michel et al. 2019) and prints loss and BLEU before and after.
    """
    from transformer_mt.cli.open_model import open_translator
    from transformer_mt.cli.terminal import literal_console, note, result
    from transformer_mt.extensions.heads.heads import head_lines, measure_heads
    from transformer_mt.extensions.heads.pruning import pruning_lines
    from transformer_mt.models.head_mask import head_names
    from transformer_mt.text.scripts import bleu_tokenizer
    from transformer_mt.views.faithfulness import faithfulness, faithfulness_lines
    from transformer_mt.views.head_importance import IMPORTANCE
    from transformer_mt.views.serialise import to_json

    if (prune is None) != (run_dir is None):
        raise InputError("--prune, --run-dir", "each needs the other", "give both")
    lookup(IMPORTANCE, importance, key="--importance")
    translator = open_translator(model, SearchOptions(), device=device, to=to)
    opened = translator.model
    if not opened.network.attention_stacks():
        raise InputError(opened.path, "this model has no attention to show", "choose a model that has")
    pairs = _pairs(opened, data=data, split=split, most=sentences)
    width = literal_console().width
    view: Any
    if prune is not None and run_dir:
        with working(""):
            view = _pruned(translator, pairs, prune, method=importance, path=run_dir)
        lines = pruning_lines(view, run_dir, width=width)
    elif faithful:
        with working("", total=len(pairs)):
            view = faithfulness(opened.network, opened.tokenizer, pairs)
        lines = faithfulness_lines(view, width=width)
    else:
        # passes: where heads look, their gradient, and the loss (with --bleu also BLEU) with all heads and without each
        if bleu:
            language = opened.config.data.target_language
            note(*bleu_tokenizer(language, [pair.translations for pair in pairs])[1])
        passes = 2 + (2 if bleu else 1) * (1 + len(head_names(opened.network)))
        with working("", total=passes * len(pairs)):
            view = measure_heads(translator, pairs, bleu=bleu)
        lines = head_lines(view, width=width)
    result(*([json.dumps(to_json(view))] if as_json else lines))


def _pruned(
    translator: "Translator", pairs: "list[SentencePair]", amount: str, *, method: str, path: Path
) -> "Pruning":
    from transformer_mt.extensions.heads.pruning import prune_run
    from transformer_mt.models.head_mask import head_names
    from transformer_mt.runs.directory import Run
    from transformer_mt.training.fine_tuning import init_from_run

    opened = translator.model
    config = opened.config.model_copy(update={"init_from": init_from_run(opened.path)})
    count = parse_amount(amount, heads=len(head_names(opened.network)))
    return prune_run(Run(opened.path), config, translator, pairs, count=count, method=method, path=path)


def _pairs(opened: "OpenedModel", *, data: str | None, split: str, most: int | None) -> "list[SentencePair]":
    """The pairs to measure on; describes them on stderr."""
    from transformer_mt.batching.encoded_pairs import fitting
    from transformer_mt.cli.open_model import pairs_to_measure, with_references
    from transformer_mt.cli.terminal import note

    name, rows = pairs_to_measure(opened.config.data, data, split=split, structure=True)
    with working(f"reading {name}"):
        pairs = [pair for _, pair in with_references(rows, corpus=name) if pair.source.strip() and pair.target.strip()]
    limit = opened.network.max_length
    kept = fitting(pairs[:most], opened.tokenizer, max_length=limit)
    if not kept:
        raise InputError(f"--split {split}", f"no pair fits the model's {limit} tokens", "give another")
    note(f"measuring on {len(kept)} sentences of {name}, split {split}")
    return kept


def parse_amount(text: str, *, heads: int) -> int:
    """The number of heads in a count, or in a share such as 0.33 or 33%. Raises `InputError` for other text."""
    found = re.fullmatch(r"(\d{1,9})|(0?\.\d{1,9})|(\d{1,3}(?:\.\d{1,9})?)%", text, re.ASCII)
    if not found:
        raise InputError("--prune", f"{text!r} is not a number of heads", "give a count (12) or a share (33%)")
    count, share, percent = found.groups()
    return int(count) if count else round(heads * (float(share) if share else float(percent) / 100))
