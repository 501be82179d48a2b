"""Experiments with attention heads. PYTHONPATH=scripts python -m heads COMMAND --help describes each.

prune      a run without its least important heads, with loss and BLEU before and after
faithful   the agreement of attention with the effect of erasing words
relations  which head finds a grammatical relation; pairs and trees come from the grammar
"""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer
from grammar.splits import generate_corpus

from heads.faithfulness import faithfulness, faithfulness_lines
from heads.pruning import IMPORTANCE, prune_run
from heads.relations import measure_relations, relation_lines
from transformer_mt import TmtError, Translator
from transformer_mt.batching.encoded_pairs import fitting
from transformer_mt.corpus.load_corpus import read_split
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.registry import lookup

app = typer.Typer(no_args_is_help=True)
Model = Annotated[Path, typer.Option(help="Run directory.")]
Data = Annotated[str, typer.Option(help="Corpus to measure on.")]
Split = Annotated[str, typer.Option(help="Its split.")]
Sentences = Annotated[int, typer.Option(min=1, help="Number of sentences.")]
WIDTH = shutil.get_terminal_size().columns


def measured(translator: Translator, data: str, split: str, most: int) -> list[SentencePair]:
    """The first pairs of a split that are short enough for the model."""
    opened = translator.model
    _, rows, _ = read_split(opened.config.data.model_copy(update={"corpus": data}), split)
    pairs = [pair for _, pair in rows if pair and pair.source.strip() and pair.target.strip()]
    return fitting(pairs[:most], opened.tokenizer, max_length=opened.network.max_length)


@app.command()
def prune(
    model: Model,
    count: Annotated[int, typer.Option(min=1, help="Number of heads to mask.")],
    run_dir: Annotated[Path, typer.Option(help="The run to write.")],
    importance: Annotated[str, typer.Option(help=f"Ranking: {', '.join(IMPORTANCE)}.")] = "unnormalised",
    data: Data = "builtin",
    split: Split = "validation",
    sentences: Sentences = 500,
) -> None:
    """Write a copy of a run with its least important heads masked (Michel et al. 2019)."""
    lookup(IMPORTANCE, importance, key="--importance")
    translator = Translator.load(model)
    pairs = measured(translator, data, split, sentences)
    print(*prune_run(translator, pairs, count=count, method=importance, path=run_dir), sep="\n")


@app.command()
def faithful(model: Model, data: Data = "builtin", split: Split = "validation", sentences: Sentences = 500) -> None:
    """Compare each method of tmt attend with the effect of erasing source words."""
    translator = Translator.load(model)
    pairs = measured(translator, data, split, sentences)
    found = faithfulness(translator.model.network, translator.model.tokenizer, pairs)
    print(*faithfulness_lines(found, sentences=len(pairs), width=WIDTH), sep="\n")


@app.command()
def relations(
    model: Model, sentences: Sentences = 500, seed: Annotated[int, typer.Option(help="Seed of the grammar.")] = 2
) -> None:
    """Compare each head with the best fixed offset at finding grammatical relations (Clark et al. 2019, §4.2)."""
    translator = Translator.load(model)
    pairs = generate_corpus(train=0, validation=sentences, test=0, seed=seed)["validation"]
    if translator.model.config.data.source_language == "en":
        pairs = [pair.reversed() for pair in pairs]
    opened = translator.model
    found = measure_relations(opened.network, opened.tokenizer, pairs)
    print(*relation_lines(found, width=WIDTH), sep="\n")


if __name__ == "__main__":
    try:
        app(standalone_mode=False)
    except TmtError as error:
        print(f"heads: error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
