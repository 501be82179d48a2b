"""`tmt data`: statistics and samples of a corpus."""

from typing import Annotated

from typer import Option

from transformer_mt.cli.options import ConfigFile, Data, Json, Set, resolve_config
from transformer_mt.cli.terminal import note, result
from transformer_mt.errors import InputError
from transformer_mt.progress import working
from transformer_mt.text.terminal import escaped_json


def data(
    config: ConfigFile = None,
    data: Data = None,
    sample: Annotated[int, Option(metavar="N", min=0, help="Number of sample pairs per split.")] = 3,
    structure: Annotated[bool, Option("--structure", help="Print dependency trees, if the corpus has any.")] = False,
    seed: Annotated[int, Option(metavar="N", min=0, help="Random seed for --sample.")] = 1,
    set: Set = None,
    as_json: Json = False,
) -> None:
    """Show statistics of a corpus, samples with word links, and what cleaning removed.

    \b
    Examples:
      tmt data
      tmt data --sample 1 --structure
      tmt data --data train.de,train.en

    --structure prints each word's number, part of speech, relation and head (0 is the root) as in Universal
    Dependencies, and the antecedents of relative pronouns. --json always includes it, and all references.
    """
    from transformer_mt.corpus.load_corpus import load_corpus
    from transformer_mt.views.corpus import corpus_statistics, statistics_lines

    corpus = load_corpus(resolve_config(config, data=data, overrides=set).data, structure=structure or as_json)
    note(*corpus.notes)
    if structure and not any(pairs[0].structure for pairs in corpus.splits.values()):
        raise InputError("--structure", f"{corpus.name} has no dependency trees", "leave it out, or try --data builtin")
    with working("counting"):
        found = corpus_statistics(corpus, sample=sample, seed=seed)
    if as_json:
        result(escaped_json(found))
    else:
        result(*statistics_lines(corpus, found, structure=structure))
