"""`tmt attend`: the attention matrices of a sentence, as text, as graphs and as a picture."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transformer_mt.cli.options import Figure, Head, Layer, LookedAt, Stack, Target, Without, Words
from transformer_mt.cli.sentence import LoadedSentence, SentenceOptions, emit, load_sentence, with_sentence_options
from transformer_mt.errors import InputError
from transformer_mt.files import write_output
from transformer_mt.registry import lookup

if TYPE_CHECKING:
    from rich.text import Text

    from transformer_mt.views.attend import HistoryStep
    from transformer_mt.views.maps import AttentionMaps
    from transformer_mt.views.matrix import Matrix

DEFAULT_METHOD, REFERENCE = "weights", "erasure"
DEFAULT_THRESHOLD = 0.1

Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        metavar="DIR",
        help="The run to use; several are shown beside each other. [the newest one under runs/]",
    ),
]
MethodName = Annotated[
    str, typer.Option("--method", metavar="NAME", help="weights, values, gradient or erasure. [weights]")
]
Compact = Annotated[bool, typer.Option("--compact", help="Shades without numbers: more fits on a screen.")]
Graph = Annotated[bool, typer.Option("--graph", help="The matrix as a graph: edges and degrees.")]
Threshold = Annotated[
    float,
    typer.Option("--threshold", metavar="X", help=f"The least share of its row for an edge. [{DEFAULT_THRESHOLD}]"),
]
History = Annotated[
    bool, typer.Option("--history", help="How it developed: the attention by the weights of every validation.")
]


@with_sentence_options
def attend(
    sentence: LookedAt = None,
    model: Models = None,
    target: Target = None,
    stack: Stack = None,
    layer: Layer = None,
    head: Head = None,
    method: MethodName = DEFAULT_METHOD,
    words: Words = True,
    compact: Compact = False,
    graph: Graph = False,
    threshold: Threshold = DEFAULT_THRESHOLD,
    figure: Figure = None,
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
      tmt attend --figure attention.pdf
      tmt attend "Der Hund schläft." --history --compact

    A row says where the model looked while it wrote the row's word; its numbers sum to 1. A dot stands where nothing
    may be attended to. A word's row is the mean over its subwords, its column their sum; --pieces shows the subwords.
    Without a sentence it takes the showcase of the built-in corpus, or a validation sentence of any other.

    It shows one matrix of many: the mean over the cross-attention heads that align words best, as validation found, or
    over those of the last layer but one. --stack, --layer and --head show any other: without --layer every layer,
    without --head the mean over its heads.

    --method takes other numbers than attention weights, which are not the whole explanation, and says how far they
    agree with erasure: with what happens when a source word is taken out.

    --graph shows a matrix as the weighted adjacency matrix of a graph with an edge from a row's token to each that it
    attends to with at least the share --threshold of its row.

    --history shows the matrices by the weights of every validation of the run, all for the translation of the trained
    model or for --target; above them is the translation of each step.

    --without switches heads off, translates so, and shows the usual translation beside that; tmt heads says which heads
    matter. Words that were never in the training data are named on stderr.

    --json prints one object: source, target, method, never_seen (null where the run does not know its words), and
    stacks with rows, columns and weights[layer][head][row][column]; with --graph the edges too, with --without without
    and usual (null beside --target). Of several runs it has runs, each with its run and these; with --history steps,
    each with step, loss, translation and stacks.
    """
    from transformer_mt.cli.terminal import literal_console, note
    from transformer_mt.views import attend as view
    from transformer_mt.views.figure import check_figure, matrix_figure
    from transformer_mt.views.matrix import Scale, shading_for
    from transformer_mt.views.methods import METHODS

    given = {"stack": stack, "layer": layer, "head": head}
    chosen = {option: value for option, value in given.items() if value is not None}
    if options.as_json and chosen:
        raise InputError(f"--{next(iter(chosen))}: --json prints all numbers of all heads; leave one of the two out")
    if not 0.0 < threshold <= 1.0:
        raise InputError(f"--threshold: a share of a row is above 0 and at most 1, not {threshold:g}; correct it")
    if history and len(model or []) > 1:
        raise InputError("--model: --history goes through one run; give one")
    if figure is not None:
        check_figure(figure)
    applies_to = lookup(METHODS, method, key="--method")().applies_to
    loaded: list[LoadedSentence] = []
    for path in model or (None,):
        text = loaded[0].source if loaded else sentence  # the first run's sentence is that of all
        loaded.append(load_sentence(text, target, model=path, without=without or (), options=options))
        if not applies_to(loaded[-1].model):
            loaded[-1].require_attention()
    intro = [loaded[0].source, *(f"{one.name}: {one.target}" if len(loaded) > 1 else one.target for one in loaded)]
    views: list[Any]
    remarks: list[dict[str, Any]] = [{} for _ in loaded]
    erased = None
    if history:
        steps, maps = _history(loaded[0], method=method, words=words, options=options)
        intro += [f"{step.name}: {step.translation}" for step in steps]
        views = [{"source": loaded[0].source, "target": loaded[0].target, "method": method, "steps": steps}]
        titles = [{"name": step.name} for step in steps]
        owners = loaded * len(steps)
    else:
        views = maps = [_maps(one, method=method, words=words) for one in loaded]
        titles, owners = [{"place": f"{one.name}: "} if len(loaded) > 1 else {} for one in loaded], loaded
        for one, shown, remark in zip(loaded, maps, remarks, strict=True):
            if graph:
                remark["graph"] = view.graphs(shown, threshold=threshold)
            if method not in (DEFAULT_METHOD, REFERENCE):
                erased = _maps(one, method=REFERENCE, words=words)
                remark["agreement"] = view.agreements(shown, erased)
    matrices = []
    if figure is not None or not options.as_json:
        for owner, shown, title in zip(owners, maps, titles, strict=True):
            matrices.append([_titled(matrix, **title) for matrix in _matrices(owner, shown, chosen)])
    rows = view.rows_of_matrices(matrices)
    if figure is not None:
        write_output(figure, matrix_figure(rows, meaning=f"A number is {METHODS[method].meaning}.", path=figure))

    def lines(width: int) -> "Iterator[str | Text]":
        shading = shading_for(literal_console(), Scale.of(matrix.numbers for row in rows for matrix in row))
        least = threshold if graph else None
        yield from intro
        yield from view.attention_lines(
            rows, method=method, width=width, shading=shading, compact=compact, threshold=least
        )
        if erased is not None and len(loaded) == 1:
            yield from view.agreement_lines(matrices[0], erased)

    emit(views, lines, sentences=loaded, options=options, remarks=remarks)
    if not (chosen or options.as_json or options.quiet or history):
        others = ["--stack NAME"] if METHODS[method].whole else ["--layer N", "--head all", "--stack NAME"]
        others += [] if compact or graph else ["--compact"]
        elsewhere = "links of words: tmt align; one word step by step: tmt explain"
        note(f"one matrix of many; others: {', '.join(others)}; {elsewhere}")


def _maps(sentence: LoadedSentence, *, method: str, words: bool) -> "AttentionMaps":
    from transformer_mt.views.attend import view_attention

    with sentence.switched_off():
        pair = sentence.model, sentence.tokenizer, sentence.source, sentence.target
        return view_attention(*pair, method=method, words=words)


def _matrices(sentence: LoadedSentence, maps: "AttentionMaps", chosen: dict[str, str]) -> "list[Matrix]":
    """The chosen matrices, or the one that explains best: the mean over the heads that validation chose."""
    from transformer_mt.runs.directory import Run
    from transformer_mt.views.attend import explaining_matrix, layer_matrices

    if chosen:
        return layer_matrices(maps, **chosen)
    alignment = Run(sentence.run.path).alignment()
    return [explaining_matrix(maps, heads=alignment.heads if alignment else ())]


def _titled(matrix: "Matrix", *, name: str | None = None, place: str = "") -> "Matrix":
    """With another name, or with something before its place."""
    return replace(matrix, name=name or matrix.name, place=f"{place}{matrix.place}")


def _history(
    final: LoadedSentence, *, method: str, words: bool, options: SentenceOptions
) -> "tuple[list[HistoryStep], list[AttentionMaps]]":
    """The maps by the weights of every checkpoint, all for the final translation."""
    from transformer_mt.runs.directory import CHECKPOINTS, Run, saved_steps
    from transformer_mt.views.attend import HistoryStep
    from transformer_mt.views.plot import read_curves

    checkpoints = final.run.path / CHECKPOINTS
    losses = dict(read_curves(Run(final.run.path))["validation_loss"])
    steps, maps = [], []
    for step in saved_steps(checkpoints):
        then = load_sentence(final.source, None, model=checkpoints / f"step-{step}", options=options)
        maps.append(_maps(replace(then, target=final.target, without=final.without), method=method, words=words))
        steps.append(HistoryStep(step, losses.get(step), then.target, maps[-1].stacks))
    if not steps:
        raise InputError(
            f"--history: {final.run.path} has no checkpoints; training keeps the weights of every validation"
        )
    return steps, maps
