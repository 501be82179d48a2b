"""`tmt attend`: the attention matrices of a sentence, as text, as pictures and as graphs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    Device,
    Head,
    History,
    Json,
    Layer,
    LookedAt,
    Npz,
    Quiet,
    Stack,
    Target,
    Without,
    Words,
)
from transformer_mt.cli.search_options import SearchOptions, with_search_options
from transformer_mt.errors import InputError
from transformer_mt.names import lookup

if TYPE_CHECKING:
    from transformer_mt.cli.looking import Subject
    from transformer_mt.drawing.attention_text import Form
    from transformer_mt.inspection.matrices import Matrix
    from transformer_mt.inspection.views import AttentionView, ViewsOfRuns
    from transformer_mt.names import HeadName

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
    typer.Option("--threshold", metavar="X", help=f"The least size of an edge of a graph. [{DEFAULT_THRESHOLD}]"),
]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write what is shown as a picture too.")]
Dot = Annotated[Path | None, typer.Option("--dot", metavar="FILE", help="Write its graph for Graphviz too.")]


@dataclass(frozen=True)
class Choice:
    """Which matrices to show, and how. Without stack, layer and head it is the one that explains."""

    stack: str | None
    layer: str | None
    head: str | None
    method: str
    compact: bool
    graph: bool
    threshold: float
    compared: bool

    @property
    def is_default(self) -> bool:
        """Whether nobody asked for certain matrices."""
        return self.stack is self.layer is self.head is None


@with_search_options("beam", "length_penalty", "sample", "temperature", "top_k", "top_p", "seed")
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
    *,
    search: SearchOptions,
    history: History = False,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
    npz: Npz = None,
    quiet: Quiet = False,
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
    it attends to: who is looked at by many, and how concentrated a row is. --json prints one object: source, target,
    method, never_seen, and stacks with rows, columns and weights[layer][head][row][column]; with --graph the edges too.

    --without switches heads off, translates so, and shows the usual translation beside that; --json then has without
    and usual, which is null beside --target. tmt heads says which heads matter.

    --history plays what tmt train --watch kept of a sentence, a matrix of the cross-attention for each validation, on
    a terminal one in place of the other; --json prints frames, each with step, loss, source, translation,
    target, rows, columns, weights and the entropies of all heads. Rows are those of the reference where it is known.

    Words of the sentence that were never in the training data are named on stderr, and in never_seen, which is null
    where the run does not know its words. --quiet leaves out this and other remarks.
    """
    from transformer_mt.cli.looking import deliver

    if history:
        from transformer_mt.cli.history import show_history

        choices = {"--compact": compact, "--graph": graph, "--pieces": not words}
        files = {"--method": method, "--svg": svg, "--dot": dot, "--without": without, "--threshold": threshold}
        given = {"SENTENCE": sentence, "--target": target, "--stack": stack, **search.given, **files}
        given |= {option: True for option, chosen in choices.items() if chosen}
        if len(model or ()) > 1:
            raise InputError("--model: --history plays one run; give one")
        show_history(model[0] if model else None, layer=layer, head=head, given=given, as_json=as_json, npz=npz)
        return
    choice = Choice(
        *(stack, layer, head, method or DEFAULT_METHOD, compact, graph),
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        compared=method not in (None, "erasure"),
    )
    _refuse_without_effect(choice, as_json=as_json, dot=dot, threshold=threshold)
    subjects = _open_subjects(
        *(sentence, target),
        models=model,
        search=search,
        device=device,
        quiet=quiet,
        without=without or (),
        method=choice.method,
    )
    views = [_look(subject, choice, words=words) for subject in subjects]
    drawn = not as_json or svg or dot
    matrices = _matrices(subjects, views, choice) if drawn else []  # mistakes come before the first line
    _write_pictures(matrices, choice, svg=svg, dot=dot)
    seen = _as_data(subjects, views)
    deliver(seen, subjects[0], lambda: _print(subjects, views, matrices, choice), as_json=as_json, npz=npz, quiet=quiet)
    if choice.is_default and not as_json and not quiet:
        _say_how_to_see_more(choice)


def _refuse_without_effect(choice: Choice, *, as_json: bool, dot: Path | None, threshold: float | None) -> None:
    """Raise `InputError` for options that would change nothing."""
    if as_json:
        options = {"--stack": choice.stack, "--layer": choice.layer, "--head": choice.head}
        for option, value in (options | {"--compact": choice.compact or None}).items():
            if value is not None:
                raise InputError(f"{option}: --json prints all numbers of all heads; leave one of the two out")
    if choice.graph and choice.compact:
        raise InputError("--compact: --graph prints edges instead of shades; leave one of the two out")
    if threshold is not None and not (choice.graph or dot):
        raise InputError("--threshold: only graphs have one; give --graph or --dot FILE too, or leave it out")
    if not 0.0 < choice.threshold < float("inf"):
        raise InputError(f"--threshold: must be above 0, not {choice.threshold:g}; correct it")


def _open_subjects(
    sentence: str | None,
    target: str | None,
    *,
    models: list[Path] | None,
    search: SearchOptions,
    device: str,
    quiet: bool,
    without: Sequence[str],
    method: str,
) -> "list[Subject]":
    """The sentence with the translation of each run, or the given one; all have the sentence of the first."""
    from transformer_mt.cli.looking import open_subject, require_attention
    from transformer_mt.inspection.methods import METHODS

    subjects: list[Subject] = []
    paths: Sequence[Path | None] = models or [None]
    for model in paths:
        text = subjects[0].source if subjects else sentence
        subjects.append(
            open_subject(text, target, model=model, search=search, device=device, quiet=quiet, without=without)
        )
        if not lookup(METHODS, method, key="--method")().applies_to(subjects[-1].model):
            require_attention(subjects[-1])
    return subjects


def _look(subject: "Subject", choice: Choice, *, words: bool) -> "AttentionView":
    from transformer_mt.inspection.views import view_attention

    with subject.switched_off():
        return view_attention(
            subject.model,
            subject.tokenizer,
            subject.source,
            subject.target,
            method=choice.method,
            words=words,
            threshold=choice.threshold if choice.graph else None,
            compared=choice.compared,
        )


def _as_data(subjects: "list[Subject]", views: "list[AttentionView]") -> "AttentionView | ViewsOfRuns":
    from transformer_mt.inspection.views import ViewsOfRuns

    if len(views) == 1:
        return views[0]
    return ViewsOfRuns([(str(subject.run.path), view) for subject, view in zip(subjects, views, strict=True)])


def _matrices(subjects: "list[Subject]", views: "list[AttentionView]", choice: Choice) -> "list[list[Matrix]]":
    """The matrices in lines: those of a layer belong together; of several runs, those of the same layer and head."""
    from transformer_mt.inspection.matrices import explaining_matrix, layer_matrices

    found = []
    for subject, view in zip(subjects, views, strict=True):
        if choice.is_default:
            matrices = [explaining_matrix(view.maps, method=choice.method, heads=_aligning_heads(subject))]
        else:
            matrices = layer_matrices(
                view.maps,
                stack=choice.stack or "cross",
                layer=choice.layer,
                head=choice.head,
                method=choice.method,
            )
        found.append(matrices)
    if len(found) == 1:
        return [list(group) for _, group in groupby(found[0], key=lambda matrix: matrix.place)]
    named = [
        [replace(matrix, place=f"{subject.run.path}: {matrix.place}") for matrix in matrices]
        for subject, matrices in zip(subjects, found, strict=True)
    ]
    return [[matrix for matrix in line if matrix] for line in zip_longest(*named)]


def _aligning_heads(subject: "Subject") -> "Sequence[HeadName]":
    """The heads whose mean aligns words best, as the run knows from validation; none where it does not know."""
    from transformer_mt.runs.directory import Run

    aligner = Run(subject.run.path).alignment()
    return aligner.heads if aligner else ()


def _write_pictures(matrices: "list[list[Matrix]]", choice: Choice, *, svg: Path | None, dot: Path | None) -> None:
    from transformer_mt.cli.output_file import write_output
    from transformer_mt.drawing.graph_dot import render_dot
    from transformer_mt.drawing.matrix_svg import render_svg
    from transformer_mt.inspection.graph import adjacency

    if svg is not None:
        write_output(svg, render_svg(matrices, meaning=_meaning(choice)).encode())
    if dot is not None:
        graphs = [(matrix, adjacency(matrix, threshold=choice.threshold)) for line in matrices for matrix in line]
        write_output(dot, render_dot(graphs).encode())


def _print(
    subjects: "list[Subject]", views: "list[AttentionView]", matrices: "list[list[Matrix]]", choice: Choice
) -> None:
    from transformer_mt.cli.terminal import literal_console, result, result_lines
    from transformer_mt.drawing.attention_text import agreement_lines, attention_lines
    from transformer_mt.drawing.numbers import Scale
    from transformer_mt.drawing.shading import shading_for

    console = literal_console()
    shading = shading_for(console, scale=Scale.of(matrix.numbers for line in matrices for matrix in line))
    result(subjects[0].source)
    for subject in subjects:
        result(subject.target if len(subjects) == 1 else f"{subject.run.path}: {subject.target}")
    form, meaning = _form(choice), _meaning(choice)
    result_lines(attention_lines(matrices, form, meaning=meaning, width=console.width, shading=shading))
    if len(views) == 1:
        result(*agreement_lines(views[0], [matrix for line in matrices for matrix in line]))


def _form(choice: Choice) -> "Form":
    from transformer_mt.drawing.attention_text import Graphs, Numbers, Shades

    if choice.graph:
        return Graphs(choice.threshold)
    return Shades() if choice.compact else Numbers()


def _meaning(choice: Choice) -> str:
    from transformer_mt.inspection.methods import METHODS

    return f"A number is {METHODS[choice.method].meaning}."


def _say_how_to_see_more(choice: Choice) -> None:
    from transformer_mt.cli.terminal import note
    from transformer_mt.inspection.methods import METHODS

    whole = METHODS[choice.method].whole
    others = "--stack NAME" if whole else "--layer N, --head all, --stack NAME, --compact"
    note(f"one matrix of many; others: {others}; links of words: tmt align; one word step by step: tmt explain")
