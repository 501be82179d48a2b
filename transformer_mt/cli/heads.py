"""`tmt heads`: what each attention head does, whether it matters, and a run without the heads that do not."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    DataToMeasure,
    Device,
    Json,
    ModelOption,
    Npz,
    Quiet,
    SearchOptions,
)
from transformer_mt.errors import InputError
from transformer_mt.progress import working
from transformer_mt.registry import lookup

if TYPE_CHECKING:
    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.export.pruning import Pruning
    from transformer_mt.translation.model import Model as OpenedModel
    from transformer_mt.translation.translator import Translator

Split = Annotated[str, Option(metavar="NAME", help="The part of the corpus to measure on.")]
Sentences = Annotated[int | None, Option(metavar="N", min=1, help="Only the first N sentences of it.")]
Bleu = Annotated[bool, Option("--bleu", help="Also the change of BLEU without each head: translates once a head.")]
Faithful = Annotated[bool, Option("--faithful", help="How far each method of tmt attend agrees with erasing words.")]
Prune = Annotated[str | None, Option(metavar="N", help="How many heads to mask: a count (12) or a share (0.33, 33%).")]
RunDir = Annotated[Path | None, Option("--run-dir", metavar="DIR", help="Where --prune writes the run without them.")]
Importance = Annotated[str, Option(metavar="NAME", help="How --prune ranks heads: unnormalised, gradient or exact.")]


def heads(
    model: ModelOption = None,
    data: DataToMeasure = None,
    split: Split = "validation",
    sentences: Sentences = None,
    bleu: Bleu = False,
    faithful: Faithful = False,
    prune: Prune = None,
    run_dir: RunDir = None,
    importance: Importance = "unnormalised",
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
      tmt heads --faithful --sentences 100
      tmt heads --prune 33% --run-dir runs/pruned
      tmt heads --prune 12 --importance exact --run-dir runs/pruned

    The model is given the reference translations. Where a head looks: the entropy of its weights in bits, its mean
    distance, and the percentage of weight on the word before, at the same place and after, on words that the gold links
    name, on punctuation, and on </s>, or <s> in the decoder. A relation is found where the word with the most weight is
    the true one (Clark et al. 2019, §4.2); relations need a corpus with structure, such as the built-in one. What is
    lost without a head is the rise of the loss when it is off; beside it stands its importance by the gradient.

    --prune writes a run in which the least important heads are masked (Michel et al. 2019), and shows loss and BLEU
    before and after. --faithful takes each source word out of the sentence, and compares how far ln p of each target
    word falls with what attention, and every other method, says of it.
    """
    from transformer_mt.cli.open_model import open_translator
    from transformer_mt.cli.sentence import save_arrays
    from transformer_mt.cli.terminal import literal_console, note, result
    from transformer_mt.export.pruning import pruning_lines
    from transformer_mt.models.head_mask import head_names
    from transformer_mt.text.scripts import bleu_tokenizer
    from transformer_mt.views.faithfulness import faithfulness, faithfulness_lines
    from transformer_mt.views.head_importance import IMPORTANCE
    from transformer_mt.views.heads import head_lines, measure_heads
    from transformer_mt.views.serialise import to_json

    if (prune is None) != (run_dir is None):
        raise InputError("--prune, --run-dir", "the one says how many heads, the other where the run goes", "give both")
    lookup(IMPORTANCE, importance, key="--importance")
    translator = open_translator(model, SearchOptions(), device=device)
    opened = translator.model
    if not opened.network.attention_stacks():
        raise InputError(opened.path, "this model has no attention to show", "choose a model that has")
    pairs = _pairs(opened, data=data, split=split, most=sentences)
    width = literal_console().width
    view: Any
    if prune is not None and run_dir is not None:
        with working(""):
            view = _pruned(translator, pairs, prune, method=importance, path=run_dir)
        lines = pruning_lines(view, run_dir, width=width)
    elif faithful:
        with working("", total=len(pairs)):
            view = faithfulness(opened.network, opened.tokenizer, pairs)
        lines = faithfulness_lines(view, width=width)
    else:
        # Where heads look, their gradient, and the loss, or BLEU too, with all and without each.
        if bleu:
            language = opened.config.data.target_language
            note(*bleu_tokenizer(language, [pair.translations for pair in pairs])[1])
        passes = 2 + (2 if bleu else 1) * (1 + len(head_names(opened.network)))
        with working("", total=passes * len(pairs)):
            view = measure_heads(translator, pairs, bleu=bleu)
        lines = head_lines(view, width=width)
    if npz is not None:
        save_arrays(view, npz)
    result(*([json.dumps(to_json(view))] if as_json else lines))


def _pruned(
    translator: "Translator", pairs: "list[SentencePair]", amount: str, *, method: str, path: Path
) -> "Pruning":
    from transformer_mt.export.pruning import prune_run
    from transformer_mt.models.head_mask import head_names
    from transformer_mt.runs.directory import Run
    from transformer_mt.training.fine_tuning import init_from_run

    opened = translator.model
    config = opened.config.model_copy(update={"init_from": init_from_run(opened.path)})
    count = parse_amount(amount, heads=len(head_names(opened.network)))
    return prune_run(Run(opened.path), config, translator, pairs, count=count, method=method, path=path)


def _pairs(opened: "OpenedModel", *, data: str | None, split: str, most: int | None) -> "list[SentencePair]":
    """The pairs to measure on, which are described on stderr."""
    from transformer_mt.batching.encoded_pairs import fitting
    from transformer_mt.cli.open_model import pairs_to_measure
    from transformer_mt.cli.terminal import note

    name, pairs = pairs_to_measure(opened.config.data, data, split=split, structure=True)
    limit = opened.network.max_length
    kept = fitting(pairs[:most], opened.tokenizer, max_length=limit)
    if not kept:
        raise InputError(f"--split {split}", f"no pair is within the model's {limit} tokens", "give another")
    note(f"measuring on {len(kept)} sentences of {name}, split {split}")
    return kept


def parse_amount(text: str, *, heads: int) -> int:
    """The number of heads of a count, or of a share such as 0.33 or 33%. Raises `InputError` for anything else."""
    found = re.fullmatch(r"(\d{1,9})|(0?\.\d{1,9})|(\d{1,3}(?:\.\d{1,9})?)%", text, re.ASCII)
    if not found:
        raise InputError("--prune", f"{text!r} is no number of heads", "give one such as 12, or a share such as 33%")
    count, share, percent = found.groups()
    return int(count) if count else round(heads * (float(share) if share else float(percent) / 100))
