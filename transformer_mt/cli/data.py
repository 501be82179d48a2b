"""`tmt data`: what a corpus holds."""

import json
from typing import Annotated

import typer

from transformer_mt.cli.options import ConfigFile, Data, Json, Set


def data(
    config: ConfigFile = None,
    data: Data = None,
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", min=0, help="How many pairs of each split to show.")
    ] = 3,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Which pairs --sample draws.")] = 1,
    set: Set = None,
    as_json: Json = False,
) -> None:
    """Show what a corpus holds: counts, lengths, samples with their word links, what cleaning found.

    \b
    Examples:
      tmt data
      tmt data --sample 20
      tmt data --data path/to/folder --json
      tmt data --data train.de,train.en
    """
    from transformer_mt.cli.options import resolve_config
    from transformer_mt.cli.terminal import note, result
    from transformer_mt.corpus.load import load_corpus
    from transformer_mt.corpus.statistics import corpus_statistics, statistics_lines

    corpus = load_corpus(resolve_config(config, data=data, overrides=set).data)
    note(*corpus.notes)
    found = corpus_statistics(corpus, sample=sample, seed=seed)
    result(*([json.dumps(found, ensure_ascii=False)] if as_json else statistics_lines(found, corpus.report)))
