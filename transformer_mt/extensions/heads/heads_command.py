"""`tmt heads`: what each attention head does and whether it matters."""

import json
from typing import TYPE_CHECKING, Annotated

from typer import Option

from transformer_mt.cli.app import DATA
from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    BeamOptions,
    DataToMeasure,
    Device,
    Json,
    ModelOption,
    Quiet,
    To,
)
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.progress import working

if TYPE_CHECKING:
    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.translation.model import Model as OpenedModel


def heads(
    model: ModelOption = None,
    data: DataToMeasure = None,
    split: Annotated[str, Option(metavar="NAME", help="Split to measure on.", rich_help_panel=DATA)] = "validation",
    sentences: Annotated[
        int | None, Option(metavar="N", min=1, help="Use only the first N sentences.", rich_help_panel=DATA)
    ] = None,
    to: To = None,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what each head does: where it looks, and how much it matters.

    \b
    Examples:
      tmt heads
      tmt heads --sentences 100
      tmt heads --data builtin --split test_length

    The model reads the reference translations. For each head: the entropy of its weights in bits, its mean distance in
    words, and the percentage of weight on the previous word, the same position, the next word, gold-linked words,
    punctuation and </s> (<s> in the decoder); then the rise of the loss without it, and its gradient importance
    (Michel et al. 2019).
    """
    from transformer_mt.cli.open_model import open_translator
    from transformer_mt.cli.terminal import literal_console, result
    from transformer_mt.extensions.heads.heads import head_lines, measure_heads
    from transformer_mt.models.head_mask import head_names
    from transformer_mt.views.serialise import to_json

    opened = open_translator(model, BeamOptions(), device=device, to=to).model
    if not opened.network.attention_stacks():
        raise InputError(opened.path, "this model has no attention to show", "choose a model that has")
    pairs = _pairs(opened, data=data, split=split, most=sentences)
    # passes: where heads look, their gradient, and the loss with all heads and without each
    with working("", total=(3 + len(head_names(opened.network))) * len(pairs)):
        table = measure_heads(opened.network, opened.tokenizer, pairs)
    result(*([json.dumps(to_json(table))] if as_json else head_lines(table, width=literal_console().width)))


def _pairs(opened: "OpenedModel", *, data: str | None, split: str, most: int | None) -> "list[SentencePair]":
    """The pairs to measure on; describes them on stderr."""
    from transformer_mt.batching.encoded_pairs import fitting
    from transformer_mt.cli.open_model import pairs_to_measure, with_references
    from transformer_mt.cli.terminal import note

    name, rows = pairs_to_measure(opened.config.data, data, split=split)
    with working(f"reading {name}"):
        pairs = [pair for _, pair in with_references(rows, corpus=name) if pair.source.strip() and pair.target.strip()]
    limit = opened.network.max_length
    kept = fitting(pairs[:most], opened.tokenizer, max_length=limit)
    if not kept:
        raise InputError(f"--split {split}", f"no pair fits the model's {limit} tokens", "give another")
    note(f"measuring on {len(kept)} sentences of {name}, split {split}")
    return kept
