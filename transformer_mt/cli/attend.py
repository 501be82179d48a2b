"""`tmt attend`: the attention matrices of a sentence as text, graphs or a picture."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from transformer_mt.cli.options import (
    Figure,
    HeadOption,
    LayerOption,
    LookedAt,
    ModelOption,
    TargetOption,
    in_heads,
    in_output,
    with_options,
)
from transformer_mt.cli.sentence import SentenceOptions, emit, load_sentence
from transformer_mt.cli.terminal import literal_console, note
from transformer_mt.ground.files import write_output
from transformer_mt.ground.registry import lookup
from transformer_mt.text.terminal import JsonObject

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(frozen=True, kw_only=True)
class MatrixOptions:
    """Options that choose the matrices and their display."""

    stack: Annotated[str | None, in_heads(metavar="NAME", help="cross, encoder or decoder. [cross]")] = None
    layer: LayerOption = None
    head: HeadOption = None
    method: Annotated[str, in_heads(metavar="NAME", help="weights, gradient or erasure.")] = "weights"
    words: Annotated[bool, in_output("--words/--tokens", help="Show words, or the model's tokens.")] = True
    compact: Annotated[bool, in_output("--compact", help="Print shades without numbers.")] = False
    graph: Annotated[bool, in_output("--graph", help="Print each matrix as a graph: edges and degrees.")] = False
    threshold: Annotated[
        float,
        in_output(metavar="X", min=0.0, max=1.0, help="Smallest weight of a --graph edge."),
    ] = 0.1
    without: Annotated[
        list[str] | None,
        in_heads(metavar="HEADS", help="Turn heads off and compare: cross.2.1,cross.2.2."),
    ] = None
    figure: Figure = None

    @property
    def chosen(self) -> dict[str, str]:
        """The options given to choose matrices."""
        given = {"stack": self.stack, "layer": self.layer, "head": self.head}
        return {option: value for option, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class AttendOptions(SentenceOptions, MatrixOptions):
    """All options, in help order: matrix options first."""


@with_options
def attend(
    sentence: LookedAt = None,
    model: ModelOption = None,
    target: TargetOption = None,
    *,
    options: AttendOptions,
) -> None:
    """Show where the model looked: target words down the side, source words across.

    \b
    Examples:
      tmt attend
      tmt attend "Der Hund schläft." --target "The dog sleeps." --stack decoder
      tmt attend --layer all --head all --compact
      tmt attend --figure attention.pdf

    Rows sum to 1; a dot marks a masked position. By default, tmt averages the cross-attention heads that aligned words
    best at the end of training; --stack, --layer and --head choose others. A word's row is the mean over its tokens,
    its column the sum.

    --method shows another measure, and how well it agrees with erasure, the effect of removing a source word.
    """
    from transformer_mt.views.attend import (
        agreement_lines,
        attention_lines,
        explaining_matrix,
        graphs,
        layer_matrices,
        rows_of_matrices,
    )
    from transformer_mt.views.matrix import Scale, shading_for
    from transformer_mt.views.matrix_figure import check_figure, matrix_figure
    from transformer_mt.views.methods import METHODS, REFERENCE
    from transformer_mt.views.subject import DEFAULT_METHOD

    method = lookup(METHODS, options.method, key="--method")
    if options.figure:
        check_figure(options.figure)
    subject = load_sentence(sentence, target, model=model, without=options.without or (), options=options)
    subject.require_attention(options.method)
    maps = subject.attention(method=options.method, words=options.words)
    if options.chosen:
        matrices = layer_matrices(maps, **options.chosen)
    else:
        alignment = subject.model.alignment
        matrices = [explaining_matrix(maps, heads=alignment.heads if alignment else ())]
    rows = rows_of_matrices(matrices)
    if options.figure:
        write_output(options.figure, matrix_figure(rows, meaning=f"A number is {method.meaning}.", path=options.figure))

    def lines(width: int) -> "Iterator[str | Text]":
        yield from (subject.source, subject.target)
        yield from attention_lines(
            rows,
            method=options.method,
            width=width,
            shading=shading_for(literal_console(), Scale.of(matrix.numbers for matrix in matrices)),
            compact=options.compact,
            threshold=options.threshold if options.graph else None,
        )
        if options.method not in (DEFAULT_METHOD, REFERENCE):
            yield from agreement_lines(matrices, subject.attention(method=REFERENCE, words=options.words))

    remarks: JsonObject = {}
    if options.as_json:
        if options.graph:
            remarks["graph"] = graphs(maps, threshold=options.threshold)
        remarks |= subject.agreement(maps, words=options.words)
    emit(maps, lines, subject=subject, options=options, remarks=remarks)
    if not (options.chosen or options.as_json):
        others = ["--stack NAME"] if method.whole else ["--layer N", "--head all", "--stack NAME"]
        others += [] if options.compact or options.graph else ["--compact"]
        note(f"this is one of many matrices; others: {', '.join(others)}; word links: tmt align")
