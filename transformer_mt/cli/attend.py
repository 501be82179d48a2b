"""`tmt attend`: the attention matrices of a sentence, as text, as pictures and as graphs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    Head,
    History,
    Layer,
    LookedAt,
    Stack,
    Svg,
    Target,
    Without,
    Words,
)
from transformer_mt.cli.sentence import SentenceOptions, with_sentence_options
from transformer_mt.errors import InputError

DEFAULT_METHOD = "weights"
DEFAULT_THRESHOLD = 0.1

Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model", metavar="DIR", help="The run to use; several are shown beside each other. [the newest under runs/]"
    ),
]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method", metavar="NAME", help="weights, values, rollout, gradient, integrated or erasure. [weights]"
    ),
]
Compact = Annotated[bool, typer.Option("--compact", help="Shades without numbers: more fits on a screen.")]
Graph = Annotated[bool, typer.Option("--graph", help="The matrix as a graph: edges and degrees.")]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="X",
        help=f"The least share of its row that an edge of a graph has. [{DEFAULT_THRESHOLD}]",
    ),
]
Dot = Annotated[Path | None, typer.Option("--dot", metavar="FILE", help="Write its graph for Graphviz too.")]


@with_sentence_options
def attend(
    sentence: LookedAt = None,
    model: Models = None,
    target: Target = None,
    stack: Stack = None,
    layer: Layer = None,
    head: Head = None,
    method: MethodName = None,
    words: Words = True,
    compact: Compact = False,
    graph: Graph = False,
    threshold: Threshold = None,
    svg: Svg = None,
    dot: Dot = None,
    without: Without = None,
    history: History = False,
    *,
    options: SentenceOptions,
) -> None:
    """Translate a sentence and print where the model looked: target words down the side, source words across.

    \b
    Examples:
      tmt attend
      tmt attend "Kannst du mir helfen?" --layer 2 --head all
      tmt attend "Der Hund schläft." --target "The dog sleeps." --stack decoder
      tmt attend --layer all --head all --compact
      tmt attend --model runs/one --model runs/other
      tmt attend --without cross.2.1,cross.2.2
      tmt attend --svg attention.svg --dot attention.dot
      tmt attend --history

    Without a sentence it takes the showcase of the built-in corpus, or the first validation sentence of moderate
    length of any other. A row says where the model looked while it wrote the row's word; its numbers sum to 1. A dot
    stands where nothing may be attended to.

    It shows one matrix of many: the mean over the cross-attention heads that align words best, as validation found, or
    over those of the last layer but one where the run does not know. So a row can be read as "this word was made from
    that one". --stack, --layer and --head show any other: without --layer every layer, without --head the mean over its
    heads. Rows and columns are words, since a reader thinks in words: a word's row is the mean over its subwords, its
    column their sum; --pieces shows the subwords that the model has.

    --compact shows shades without numbers, and so all heads of a layer on one screen. --method takes other numbers than
    attention weights, which are not the whole explanation, and says how far they agree with erasure: with what happens
    when a source word is taken out.

    --graph takes a matrix for the weighted adjacency matrix of a graph in which a row's token has an edge to each that
    it attends to: who is looked at by many, and how concentrated a row is. An edge needs at least the share --threshold
    of its row, in which numbers count by their size: so that is the weight itself where a row sums to 1, and every
    method has edges, in whatever unit.

    --json prints one object: source, target, method, never_seen, and stacks with rows, columns and
    weights[layer][head][row][column]; with --graph the edges too. Of several runs it has runs, each with its run and
    these.

    --without switches heads off, translates so, and shows the usual translation beside that; --json then has without
    and usual, which is null beside --target. tmt heads says which heads matter.

    --history plays what training kept of a sentence, a matrix of the cross-attention for each validation, on
    a terminal one in place of the other; --json prints frames, each with step, loss, source, translation,
    target, rows, columns, weights and the entropies of all heads. Rows are those of the reference where it is known.

    Words of the sentence that were never in the training data are named on stderr, and in never_seen, which is null
    where the run does not know its words. --quiet leaves out this and other remarks.
    """
    if history:
        from transformer_mt.cli.history import show_history

        choices = {"--compact": compact, "--graph": graph, "--pieces": not words}
        files = {"--method": method, "--svg": svg, "--dot": dot, "--without": without, "--threshold": threshold}
        given = {"SENTENCE": sentence, "--target": target, "--stack": stack, **options.search.given, **files}
        given |= {option: True for option, chosen in choices.items() if chosen}
        given |= {"--device": options.device} if options.device != DEFAULT_DEVICE else {}  # nothing is computed
        if len(model or ()) > 1:
            raise InputError("--model: --history plays one run; give one")
        run = model[0] if model else None
        show_history(run, layer=layer, head=head, given=given, as_json=options.as_json, npz=options.npz)
        return
    from transformer_mt.cli.attending import Choice, show_attention

    if options.as_json:
        _refuse_beside_json({"--stack": stack, "--layer": layer, "--head": head, "--compact": compact or None})
    if graph and compact:
        raise InputError("--compact: --graph prints edges instead of shades; leave one of the two out")
    if threshold is not None and not (graph or dot):
        raise InputError("--threshold: only graphs have one; give --graph or --dot FILE too, or leave it out")
    if threshold is not None and not 0.0 < threshold <= 1.0:
        raise InputError(f"--threshold: a share of a row is above 0 and at most 1, not {threshold:g}; correct it")
    choice = Choice(
        *(stack, layer, head, method or DEFAULT_METHOD, words, compact, graph),
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        compared=method not in (None, "erasure"),
    )
    show_attention(
        sentence, target, choice, models=model or [None], without=without or (), svg=svg, dot=dot, options=options
    )


def _refuse_beside_json(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option}: --json prints all numbers of all heads; leave one of the two out")
