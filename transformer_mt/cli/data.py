"""`tmt data`: what a corpus holds."""

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
    sample: Annotated[int, Option(metavar="N", min=0, help="How many pairs of each split to show.")] = 3,
    structure: Annotated[bool, Option("--structure", help="Show their dependency trees, where there are any.")] = False,
    seed: Annotated[int, Option(metavar="N", min=0, help="Which pairs --sample draws.")] = 1,
    set: Set = None,
    as_json: Json = False,
) -> None:
    """Show what a corpus holds: counts, lengths, samples with their word links, what cleaning found.

    \b
    Examples:
      tmt data
      tmt data --sample 1 --structure
      tmt data --data train.de,train.en

    --structure shows every word with its number, part of speech, relation and head (0 for the root), after Universal
    Dependencies, and with a relative pronoun its antecedent. --json holds it always, and further right translations.
    """
    from transformer_mt.corpus.load_corpus import load_corpus
    from transformer_mt.views.corpus import corpus_statistics, statistics_lines

    corpus = load_corpus(resolve_config(config, data=data, overrides=set).data, structure=structure or as_json)
    note(*corpus.notes)
    if structure and not any(pairs[0].structure for pairs in corpus.splits.values()):
        raise InputError(
            "--structure", f"{corpus.name} has no dependency trees", "leave it out, or look at --data builtin"
        )
    with working("counting"):
        found = corpus_statistics(corpus, sample=sample, seed=seed)
    if as_json:
        result(escaped_json(found))
    else:
        result(*statistics_lines(corpus, found, structure=structure))
