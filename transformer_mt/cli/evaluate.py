"""`tmt evaluate`: scores of a trained model."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    DataToMeasure,
    Device,
    Json,
    Model,
    SearchOptions,
    with_options,
)
from transformer_mt.cli.terminal import note, result
from transformer_mt.config.search import OF_DRAWS
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup

if TYPE_CHECKING:
    from transformer_mt.config.sections import DataConfig
    from transformer_mt.corpus.load import Corpus
    from transformer_mt.evaluation import Scores


@with_options("search", SearchOptions, but=("sample", *OF_DRAWS, "n_best"))
def evaluate(
    model: Model = None,
    data: DataToMeasure = None,
    split: Annotated[str, Option(metavar="NAME", help="The part of the corpus to translate.")] = "test",
    *,
    search: SearchOptions,
    by_length: Annotated[bool, Option("--by-length", help="Also score by the number of words of the source.")] = False,
    links: Annotated[Path | None, Option(metavar="FILE", help="The split's word links, in Pharaoh format.")] = None,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
) -> None:
    """Translate a split of a corpus and score it: BLEU, chrF, exact matches, word links, speed.

    \b
    Examples:
      tmt evaluate
      tmt evaluate --split test_composition
      tmt evaluate --split test_length --by-length
      tmt evaluate --model runs/multi30k --data bentrevett/multi30k --json
      tmt evaluate --data test.de,test.en --links test.links

    Where a corpus has several right translations of a sentence, each counts. Where it has word links, as the built-in
    one does, or --links gives them in a line of 0-0 1-2 … for each pair, those of tmt align are compared with them.
    """
    from transformer_mt.cli.align import alignment_heads
    from transformer_mt.cli.load import open_run
    from transformer_mt.corpus.text import with_links
    from transformer_mt.evaluation import evaluate as score
    from transformer_mt.views.align import cross_heads

    run = open_run(model, search, device=device)
    translator, corpus = run.translator, corpus_to_measure(run.config.data, data, split=split)
    pairs = lookup(corpus.splits, split, key="--split")
    note(f"translating {len(pairs)} sentences of {corpus.name}, split {split}, beam {translator.search.beam}")
    if links is not None:
        pairs = with_links(pairs, links)
    can_align = cross_heads(translator.model) and any(pair.links for pair in pairs)
    scores = score(translator, pairs, alignment=alignment_heads(run) if can_align else None, by_length=by_length)
    result(*([json.dumps(dataclasses.asdict(scores))] if as_json else _lines(scores)))


def corpus_to_measure(
    own: "DataConfig", data: str | None, *, split: str, structure: bool = False, quiet: bool = False
) -> "Corpus":
    """The corpus that `--data` names, described on stderr; without, the built-in one, if the run was trained on it.

    Another run may be a stranger's, whose corpus is a file that is none of its business: an `InputError`.
    """
    from transformer_mt.corpus.load import load_corpus
    from transformer_mt.corpus.source import BUILTIN, absolute

    if data is None and own.corpus != BUILTIN:
        raise InputError(f"--data: missing; a run never opens its corpus by itself; this one's was {own.corpus}")
    # The run's own names for splits are not those of other data.
    usual = {"train_split": "", "validation_split": "", "test_split": ""}
    others = data is not None and absolute(data) != own.corpus
    source = own.model_copy(update={"corpus": data, **usual}) if others else own
    corpus = load_corpus(source, need=split, structure=structure)
    if data and not quiet:
        note(*corpus.notes)
    return corpus


def _lines(scores: "Scores") -> Iterator[str]:
    yield f"BLEU             {scores.bleu:6.2f}   {scores.signature['bleu']}"
    yield f"BLEU, lowercase  {scores.bleu_lowercase:6.2f}   {scores.signature['bleu_lowercase']}"
    yield f"chrF             {scores.chrf:6.2f}   {scores.signature['chrf']}"
    yield f"exact            {100 * scores.exact:6.2f} %"
    if scores.aer is not None:
        shares = f"precision {100 * (scores.aer_precision or 0):.2f} %, recall {100 * (scores.aer_recall or 0):.2f} %"
        yield f"AER              {100 * scores.aer:6.2f} % {shares}; heads by {scores.aer_chosen_by}"
    yield f"sentences        {scores.sentences:6d}   {scores.seconds:.1f} s, {scores.sentences_per_second:.1f} a second"
    if scores.references > scores.sentences:
        mean = scores.references / scores.sentences
        yield f"references       {scores.references:6d}   {mean:.1f} a sentence; each counts"
    if scores.by_length is not None:
        yield ""
        yield "words of the source   sentences    BLEU    chrF     exact"
        for band in scores.by_length:
            numbers = f"{band.sentences:9d}  {band.bleu:6.2f}  {band.chrf:6.2f}  {100 * band.exact:6.2f} %"
            yield f"{f'{band.shortest}–{band.longest}':<19}   {numbers}"
