"""`tmt attend`: the attention matrices of a sentence, as text, as graphs and as a picture."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transformer_mt.cli.options import Figure, Head, Layer, LookedAt, Stack, Target, Without, Words
from transformer_mt.cli.sentence import LoadedSentence, SentenceOptions, emit, load_sentence, with_sentence_options
from transformer_mt.errors import InputError
from transformer_mt.files import write_output

if TYPE_CHECKING:
    from rich.text import Text

    from transformer_mt.views.attend import AttentionView, HistoryView
    from transformer_mt.views.matrix import Matrix

DEFAULT_METHOD = "weights"
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
    typer.Option(
        "--threshold",
        metavar="X",
        help=f"The least share of its row that an edge of --graph has. [{DEFAULT_THRESHOLD}]",
    ),
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

    --history shows the matrices by the weights of every validation of the run, all for the translation of the trained
    model or for --target, so that rows can be compared; above them is the translation of each step.

    --json prints one object: source, target, method, never_seen, and stacks with rows, columns and
    weights[layer][head][row][column]; with --graph the edges too. Of several runs it has runs, each with its run and
    these; with --history steps, each with step, loss, translation and stacks.

    --without switches heads off, translates so, and shows the usual translation beside that; --json then has without
    and usual, which is null beside --target. tmt heads says which heads matter.

    Words of the sentence that were never in the training data are named on stderr, and in never_seen, which is null
    where the run does not know its words. --quiet leaves out this and other remarks.
    """
    from transformer_mt.cli.terminal import literal_console, note
    from transformer_mt.views.attend import RunsView, agreement_lines, attention_lines, rows_of_matrices
    from transformer_mt.views.figure import check_figure, matrix_figure
    from transformer_mt.views.matrix import Scale, shading_for
    from transformer_mt.views.methods import METHODS

    if options.as_json:
        for option, value in {"--stack": stack, "--layer": layer, "--head": head}.items():
            if value is not None:
                raise InputError(f"{option}: --json prints all numbers of all heads; leave one of the two out")
    if not 0.0 < threshold <= 1.0:
        raise InputError(f"--threshold: a share of a row is above 0 and at most 1, not {threshold:g}; correct it")
    if history and len(model or []) > 1:
        raise InputError("--model: --history goes through one run; give one")
    if figure is not None:
        check_figure(figure)
    sentences = _load(sentence, target, model or [None], without or (), method=method, options=options)
    choice = {"stack": stack, "layer": layer, "head": head, "method": method}
    drawn = not options.as_json or figure is not None
    view: Any
    views: list[AttentionView] = []
    if history:
        view, matrices = _history(sentences[0], choice, words=words, drawn=drawn, options=options)
        intro = [sentences[0].source, sentences[0].target, *(f"{one.name}: {one.translation}" for one in view.steps)]
    else:
        edges = threshold if graph else None
        compared = method not in (DEFAULT_METHOD, "erasure")
        views = [_view(one, method, words=words, threshold=edges, compared=compared) for one in sentences]
        view = views[0] if len(views) == 1 else RunsView([*zip(map(_name, sentences), views, strict=True)])
        matrices = [_matrices(one, shown, choice) for one, shown in zip(sentences, views, strict=True) if drawn]
        several = len(sentences) > 1
        if several:
            matrices = [
                [replace(matrix, place=f"{_name(one)}: {matrix.place}") for matrix in shown]
                for one, shown in zip(sentences, matrices, strict=False)
            ]
        intro = [sentences[0].source, *(f"{_name(one)}: {one.target}" if several else one.target for one in sentences)]
    rows = rows_of_matrices(matrices)
    if figure is not None:
        write_output(figure, matrix_figure(rows, meaning=f"A number is {METHODS[method].meaning}.", path=figure))

    def lines(width: int) -> "Iterator[str | Text]":
        shading = shading_for(literal_console(), Scale.of(matrix.numbers for row in rows for matrix in row))
        yield from intro
        yield from attention_lines(
            rows, method=method, width=width, shading=shading, compact=compact, threshold=threshold if graph else None
        )
        if len(views) == 1:
            yield from agreement_lines(views[0], matrices[0])

    emit(view, lines, sentences=sentences, options=options)
    if stack is layer is head is None and not options.as_json and not options.quiet and not history:
        others = ["--stack NAME"] if METHODS[method].whole else ["--layer N", "--head all", "--stack NAME"]
        others += [] if compact or graph else ["--compact"]
        elsewhere = "links of words: tmt align; one word step by step: tmt explain"
        note(f"one matrix of many; others: {', '.join(others)}; {elsewhere}")


def _load(
    sentence: str | None,
    target: str | None,
    models: Sequence[Path | None],
    without: Iterable[str],
    *,
    method: str,
    options: SentenceOptions,
) -> list[LoadedSentence]:
    """The sentence with the translation of each run, or the given one; all have the sentence of the first."""
    from transformer_mt.registry import lookup
    from transformer_mt.views.methods import METHODS

    applies_to = lookup(METHODS, method, key="--method")().applies_to
    without = tuple(without)
    sentences: list[LoadedSentence] = []
    for model in models:
        text = sentences[0].source if sentences else sentence
        sentences.append(load_sentence(text, target, model=model, without=without, options=options))
        if not applies_to(sentences[-1].model):
            sentences[-1].require_attention()
    return sentences


def _name(sentence: LoadedSentence) -> str:
    return str(sentence.run.path)


def _view(sentence: LoadedSentence, method: str, *, words: bool, **options: Any) -> "AttentionView":
    from transformer_mt.views.attend import view_attention

    with sentence.switched_off():
        model, tokenizer = sentence.model, sentence.tokenizer
        return view_attention(model, tokenizer, sentence.source, sentence.target, method=method, words=words, **options)


def _matrices(sentence: LoadedSentence, view: "AttentionView", choice: dict[str, Any]) -> "list[Matrix]":
    """The chosen matrices, or the one that explains best: the mean over the heads that validation chose."""
    from transformer_mt.runs.directory import Run
    from transformer_mt.views.attend import explaining_matrix, layer_matrices

    if any(choice[option] is not None for option in ("stack", "layer", "head")):
        return layer_matrices(view.maps, **(choice | {"stack": choice["stack"] or "cross"}))
    alignment = Run(sentence.run.path).alignment()
    return [explaining_matrix(view.maps, method=view.method, heads=alignment.heads if alignment else ())]


def _history(
    final: LoadedSentence, choice: dict[str, Any], *, words: bool, drawn: bool, options: SentenceOptions
) -> "tuple[HistoryView, list[list[Matrix]]]":
    """The maps by the weights of every checkpoint, and the chosen matrices of each, for the final translation."""
    from transformer_mt.runs.directory import CHECKPOINTS, Run, saved_steps
    from transformer_mt.views.attend import HistoryStep, HistoryView
    from transformer_mt.views.plot import read_curves

    checkpoints = final.run.path / CHECKPOINTS
    losses = dict(read_curves(Run(final.run.path)).validation_loss)
    steps, matrices = [], []
    for step in saved_steps(checkpoints):
        then = load_sentence(final.source, None, model=checkpoints / f"step-{step}", options=options)
        view = _view(replace(then, target=final.target, without=final.without), choice["method"], words=words)
        steps.append(HistoryStep(step, losses.get(step), then.target, view.maps.stacks))
        if drawn:
            matrices.append([replace(one, name=steps[-1].name) for one in _matrices(final, view, choice)])
    if not steps:
        raise InputError(
            f"--history: {final.run.path} has no checkpoints; training keeps the weights of every validation"
        )
    return HistoryView(final.source, final.target, choice["method"], tuple(steps)), matrices
