"""`tmt evaluate`: scores of a trained model."""

import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from transformer_mt.cli.options import DEFAULT_DEVICE, Data, Device, Json, Model
from transformer_mt.cli.search_options import SearchOptions, with_search_options
from transformer_mt.names import lookup

if TYPE_CHECKING:
    from transformer_mt.evaluation import Scores

# The run's own names for splits are not those of other data.
USUAL = {"train_split": "", "validation_split": "", "test_split": ""}


@with_search_options("beam", "length_penalty")
def evaluate(
    model: Model = None,
    data: Data = None,
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="Which part of the corpus to translate.")
    ] = "test",
    *,
    search: SearchOptions,
    by_length: Annotated[
        bool, typer.Option("--by-length", help="Score short and long sentences apart too, by the words of the source.")
    ] = False,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
) -> None:
    """Translate a split of a corpus and score it: BLEU, chrF, exact matches, alignment error rate, speed.

    \b
    Examples:
      tmt evaluate
      tmt evaluate --split test_composition
      tmt evaluate --split test_length --by-length
      tmt evaluate --data test.de,test.en
      tmt evaluate --model runs/multi30k --beam 4 --json

    Where a corpus knows several right translations of a sentence, each counts.

    JSON keys: bleu, bleu_lowercase, chrf (0 to 100, sacrebleu), exact (0 to 1), references (of all sentences together),
    aer (0 to 1, null without known word links) with aer_layer, aer_head and aer_chosen_on, sentences, seconds,
    sentences_per_second, signature; by_length (null without --by-length), a list with shortest, longest, sentences,
    bleu, chrf and exact, lengths in words and punctuation marks.
    """
    from transformer_mt.cli.load import open_run
    from transformer_mt.cli.terminal import note, result
    from transformer_mt.corpus.load import load_corpus
    from transformer_mt.evaluation import evaluate as score

    run = open_run(model, search, device=device)
    source, translator = run.config.data, run.translator
    corpus = load_corpus(source.model_copy(update={"corpus": data, **USUAL}) if data else source, need=split)
    if data:
        note(*corpus.notes)
    pairs = lookup(corpus.splits, split, key="--split")
    note(f"translating {len(pairs)} sentences of {corpus.name}, split {split}, beam {translator.search.beam}")
    scores = score(translator, pairs, validation=corpus.splits.get("validation", ()), by_length=by_length)
    result(*([json.dumps(dataclasses.asdict(scores))] if as_json else _lines(scores)))


def _lines(scores: "Scores") -> Iterator[str]:
    yield f"BLEU             {scores.bleu:6.2f}   {scores.signature['bleu']}"
    yield f"BLEU, lowercase  {scores.bleu_lowercase:6.2f}   {scores.signature['bleu_lowercase']}"
    yield f"chrF             {scores.chrf:6.2f}   {scores.signature['chrf']}"
    yield f"exact            {100 * scores.exact:6.2f} %"
    if scores.aer is not None:
        where = f"cross-attention, layer {scores.aer_layer}, head {scores.aer_head}, chosen on {scores.aer_chosen_on}"
        yield f"AER              {100 * scores.aer:6.2f} % {where}"
    yield f"sentences        {scores.sentences:6d}   {scores.seconds:.1f} s, {scores.sentences_per_second:.1f} a second"
    if scores.references > scores.sentences:
        mean = scores.references / scores.sentences
        yield f"references       {scores.references:6d}   {mean:.1f} a sentence; each counts"
    if scores.by_length is not None:
        yield ""
        yield "words of the source   sentences    BLEU    chrF     exact"
        for band in scores.by_length:
            lengths = f"{band.shortest}–{band.longest}"
            yield (
                f"{lengths:<19}   {band.sentences:9d}  {band.bleu:6.2f}  {band.chrf:6.2f}  {100 * band.exact:6.2f} %"
            )
