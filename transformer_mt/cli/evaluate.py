"""`tmt evaluate`: scores of a trained model."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transformer_mt.cli.options import DEFAULT_DEVICE, DataToMeasure, Device, Json, Model, Reverse
from transformer_mt.cli.search_options import SearchOptions, with_search_options
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup

if TYPE_CHECKING:
    from transformer_mt.cli.load import OpenedRun
    from transformer_mt.corpus.pairs import Pairs
    from transformer_mt.evaluation import AttentionScores, Scores
    from transformer_mt.inspection.alignment.aligners import AligningModel
    from transformer_mt.inspection.alignment.statistical import BaselineScores

# The run's own names for splits are not those of other data.
USUAL = {"train_split": "", "validation_split": "", "test_split": ""}


@with_search_options("beam", "length_penalty")
def evaluate(
    model: Model = None,
    data: DataToMeasure = None,
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="Which part of the corpus to translate.")
    ] = "test",
    *,
    search: SearchOptions,
    by_length: Annotated[
        bool, typer.Option("--by-length", help="Score short and long sentences apart too, by the words of the source.")
    ] = False,
    links: Annotated[
        Path | None,
        typer.Option("--links", metavar="FILE", help="The right word links of the split, in Pharaoh format."),
    ] = None,
    reverse: Reverse = None,
    baseline: Annotated[
        bool,
        typer.Option("--baseline", help="Link words with a statistical aligner too (fast_align), trained on the spot."),
    ] = False,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
) -> None:
    """Translate a split of a corpus and score it: BLEU, chrF, exact matches, word links, speed.

    \b
    Examples:
      tmt evaluate
      tmt evaluate --split test_composition
      tmt evaluate --split test_length --by-length
      tmt evaluate --data test.de,test.en
      tmt evaluate --model runs/multi30k --beam 4 --json
      tmt evaluate --data test.de,test.en --links test.links --baseline

    Where a corpus knows several right translations of a sentence, each counts. Where it knows which words correspond,
    as the built-in one does, or --links says it in a line of 0-0 1-2 … for each pair, the links of tmt align are
    compared with that: error rate (AER), precision and recall.

    JSON keys: bleu, bleu_lowercase, chrf (0 to 100, sacrebleu), exact (0 to 1), references (of all sentences together),
    aer, aer_precision, aer_recall (0 to 1, null without known links) with aer_heads, aer_chosen_by (links, agreement or
    guess) and aer_reverse; baseline (null without --baseline) with aer, precision, recall and name; sentences, seconds,
    sentences_per_second, signature; by_length (null without --by-length), a list with shortest, longest, sentences,
    bleu, chrf and exact, lengths in words and punctuation marks.
    """
    from transformer_mt.cli.load import open_run
    from transformer_mt.cli.terminal import note, result
    from transformer_mt.corpus.load import load_corpus
    from transformer_mt.corpus.pharaoh import with_links
    from transformer_mt.evaluation import evaluate as score

    run = open_run(model, search, device=device)
    source, translator = run.config.data, run.translator
    corpus = load_corpus(source.model_copy(update={"corpus": data, **USUAL}) if data else source, need=split)
    if data:
        note(*corpus.notes)
    pairs = lookup(corpus.splits, split, key="--split")
    note(f"translating {len(pairs)} sentences of {corpus.name}, split {split}, beam {translator.search.beam}")
    if links is not None:
        pairs = with_links(pairs, links)
    aligning, other = _aligning(run, pairs, reverse, device=device)
    scores = score(translator, pairs, aligning=aligning, reverse=other, by_length=by_length)
    statistical = _statistical(run, pairs) if baseline else None
    if as_json:
        result(json.dumps(dataclasses.asdict(scores) | {"baseline": statistical and dataclasses.asdict(statistical)}))
    else:
        result(*_lines(scores, statistical))


def _aligning(
    run: "OpenedRun", pairs: "Pairs", reverse: Path | None, *, device: str
) -> "tuple[AligningModel | None, AligningModel | None]":
    """What links words; nothing where no links are known to compare with, or the model has no cross-attention."""
    from transformer_mt.cli.aligning import both_directions
    from transformer_mt.inspection.alignment.aligners import cross_heads

    if not any(pair.links for pair in pairs):
        if reverse is not None:
            raise InputError("--reverse: no word links are known to compare with; leave it out, or give --links")
        return None, None
    if reverse is None and not cross_heads(run.translator.model):
        return None, None
    return both_directions(run, reverse, device=device)


def _statistical(run: "OpenedRun", pairs: "Pairs") -> "BaselineScores":
    from transformer_mt.cli.terminal import note
    from transformer_mt.corpus.load import load_corpus
    from transformer_mt.inspection.alignment.statistical import BASELINE_PAIRS, score_baseline

    if not any(pair.links for pair in pairs):
        raise InputError("--baseline: no word links are known to compare with; leave it out, or give --links")
    training = load_corpus(run.config.data).splits["train"][:BASELINE_PAIRS]
    note(f"training a statistical aligner on {len(training)} pairs, in both directions")
    return score_baseline(training, pairs)


def _lines(scores: "Scores", baseline: "BaselineScores | None") -> Iterator[str]:
    yield f"BLEU             {scores.bleu:6.2f}   {scores.signature['bleu']}"
    yield f"BLEU, lowercase  {scores.bleu_lowercase:6.2f}   {scores.signature['bleu_lowercase']}"
    yield f"chrF             {scores.chrf:6.2f}   {scores.signature['chrf']}"
    yield f"exact            {100 * scores.exact:6.2f} %"
    if scores.aer is not None:
        yield from _link_lines(scores)
    if baseline is not None:
        shares = f"precision {100 * baseline.precision:.2f} %, recall {100 * baseline.recall:.2f} %"
        yield f"AER, baseline    {100 * baseline.aer:6.2f} % {shares}; {baseline.name}"
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


def _link_lines(scores: "AttentionScores") -> Iterator[str]:
    assert scores.aer is not None
    assert scores.aer_precision is not None
    assert scores.aer_recall is not None
    assert scores.aer_heads is not None
    shares = f"precision {100 * scores.aer_precision:.2f} %, recall {100 * scores.aer_recall:.2f} %"
    count = f"{len(scores.aer_heads)} heads" if len(scores.aer_heads) > 1 else scores.aer_heads[0]
    how = "a guess" if scores.aer_chosen_by == "guess" else f"chosen by {scores.aer_chosen_by}"
    both = ", with the other direction" if scores.aer_reverse else ""
    yield f"AER              {100 * scores.aer:6.2f} % {shares}; {count}, {how}{both}"
