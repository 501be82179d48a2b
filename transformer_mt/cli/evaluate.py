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
_USUAL = {"train_split": "", "validation_split": "", "test_split": ""}


@with_search_options("beam", "length_penalty")
def evaluate(
    model: Model = None,
    data: Data = None,
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="Which part of the corpus to translate.")
    ] = "test",
    *,
    search: SearchOptions,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
) -> None:
    """Translate a split of a corpus and score it: BLEU, chrF, exact matches, alignment error rate, speed.

    \b
    Examples:
      tmt evaluate
      tmt evaluate --split test_composition
      tmt evaluate --data test.de,test.en
      tmt evaluate --model runs/multi30k --beam 4 --json

    JSON keys: bleu, bleu_lowercase, chrf (0 to 100, sacrebleu), exact (0 to 1), aer (0 to 1, null without known word
    links) with aer_layer, aer_head and aer_chosen_on, sentences, seconds, sentences_per_second, signature.
    """
    from transformer_mt.cli.load import open_run
    from transformer_mt.cli.terminal import note, result
    from transformer_mt.corpus.load import load_corpus
    from transformer_mt.evaluation import evaluate as score

    run = open_run(model, search, device=device)
    source, translator = run.config.data, run.translator
    corpus = load_corpus(source.model_copy(update={"corpus": data, **_USUAL}) if data else source, need=split)
    if data:
        note(*corpus.notes)
    pairs = lookup(corpus.splits, split, key="--split")
    note(f"translating {len(pairs)} sentences of {corpus.name}, split {split}, beam {translator.search.beam}")
    scores = score(translator, pairs, validation=corpus.splits.get("validation", ()))
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
