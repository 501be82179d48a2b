"""`tmt data`: statistics and samples of a corpus."""

from typing import Annotated

from typer import Option

from transformer_mt.cli.options import ConfigFile, Data, Json, Set, resolve_config
from transformer_mt.cli.terminal import note, result
from transformer_mt.ground.progress import working
from transformer_mt.text.terminal import escaped_json


def data(
    config: ConfigFile = None,
    data: Data = None,
    sample: Annotated[int, Option(metavar="N", min=0, help="Number of sample pairs per split.")] = 3,
    seed: Annotated[int, Option(metavar="N", min=0, help="Random seed for --sample.")] = 1,
    set: Set = None,
    as_json: Json = False,
) -> None:
    """Show statistics of a corpus, samples with word links, and what cleaning removed.

    \b
    Examples:
      tmt data
      tmt data --sample 1
      tmt data --data train.de,train.en

    --json includes all references.
    """
    from transformer_mt.corpus.load_corpus import load_corpus
    from transformer_mt.views.corpus import corpus_statistics, statistics_lines

    corpus = load_corpus(resolve_config(config, data=data, overrides=set).data)
    note(*corpus.notes)
    with working("counting"):
        found = corpus_statistics(corpus, sample=sample, seed=seed)
    result(*([escaped_json(found)] if as_json else statistics_lines(corpus, found)))
