"""The matrices that `tmt attend` shows. Imports torch: only for use inside commands."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, zip_longest
from pathlib import Path

from rich.text import Text

from transformer_mt.cli.sentence import LoadedSentence, SentenceOptions, emit, load_sentence
from transformer_mt.cli.terminal import literal_console, note
from transformer_mt.drawing.attention_text import Form, Graphs, Numbers, Shades, agreement_lines, attention_lines
from transformer_mt.drawing.graph_dot import render_dot
from transformer_mt.drawing.matrix_svg import render_svg
from transformer_mt.drawing.numbers import Scale
from transformer_mt.drawing.shading import shading_for
from transformer_mt.files import write_output
from transformer_mt.inspection.graph import adjacency
from transformer_mt.inspection.matrices import Matrix, explaining_matrix, layer_matrices
from transformer_mt.inspection.methods import METHODS
from transformer_mt.inspection.views import AttentionView, ViewsOfRuns, view_attention
from transformer_mt.registry import HeadName, lookup
from transformer_mt.runs.directory import Run

# Matrices in lines: those of a layer belong together; of several runs, those of the same layer and head.
Lines = list[list[Matrix]]


@dataclass(frozen=True)
class Choice:
    """Which matrices to show, and how. Without stack, layer and head it is the one that explains."""

    stack: str | None
    layer: str | None
    head: str | None
    method: str
    words: bool
    compact: bool
    graph: bool
    threshold: float
    compared: bool

    @property
    def is_default(self) -> bool:
        """Whether nobody asked for certain matrices."""
        return self.stack is self.layer is self.head is None

    @property
    def form(self) -> Form:
        """How they are printed."""
        if self.graph:
            return Graphs(self.threshold)
        return Shades() if self.compact else Numbers()

    @property
    def meaning(self) -> str:
        """What their numbers are, as a sentence."""
        return f"A number is {METHODS[self.method].meaning}."


def show_attention(
    sentence: str | None,
    target: str | None,
    choice: Choice,
    *,
    models: Sequence[Path | None],
    without: Iterable[str],
    svg: Path | None,
    dot: Path | None,
    options: SentenceOptions,
) -> None:
    """Print the matrices of each of the models, beside each other; write pictures of them where they are asked for."""
    subjects = _open_subjects(sentence, target, models=models, without=without, method=choice.method, options=options)
    views = [_look(subject, choice) for subject in subjects]
    drawn = not options.as_json or svg or dot
    matrices = _matrices(subjects, views, choice) if drawn else []  # mistakes come before the first line
    if svg is not None:
        write_output(svg, render_svg(matrices, meaning=choice.meaning).encode())
    if dot is not None:
        graphs = [(matrix, adjacency(matrix, threshold=choice.threshold)) for matrix in chain(*matrices)]
        write_output(dot, render_dot(graphs).encode())
    named = [(str(subject.run.path), view) for subject, view in zip(subjects, views, strict=True)]
    seen = views[0] if len(views) == 1 else ViewsOfRuns(named)
    emit(
        seen, lambda width: _lines(subjects, views, matrices, choice, width=width), sentences=subjects, options=options
    )
    if choice.is_default and not options.as_json and not options.quiet:
        _say_how_to_see_more(choice)


def _open_subjects(
    sentence: str | None,
    target: str | None,
    *,
    models: Sequence[Path | None],
    without: Iterable[str],
    method: str,
    options: SentenceOptions,
) -> list[LoadedSentence]:
    """The sentence with the translation of each run, or the given one; all have the sentence of the first."""
    without = tuple(without)
    subjects: list[LoadedSentence] = []
    for model in models:
        text = subjects[0].source if subjects else sentence
        subjects.append(load_sentence(text, target, model=model, without=without, options=options))
        if not lookup(METHODS, method, key="--method")().applies_to(subjects[-1].model):
            subjects[-1].require_attention()
    return subjects


def _look(subject: LoadedSentence, choice: Choice) -> AttentionView:
    with subject.switched_off():
        return view_attention(
            subject.model,
            subject.tokenizer,
            subject.source,
            subject.target,
            method=choice.method,
            words=choice.words,
            threshold=choice.threshold if choice.graph else None,
            compared=choice.compared,
        )


def _matrices(subjects: Sequence[LoadedSentence], views: Sequence[AttentionView], choice: Choice) -> Lines:
    found = [
        _of_view(view, choice, heads=_aligning_heads(subject)) for subject, view in zip(subjects, views, strict=True)
    ]
    if len(found) == 1:
        return [list(group) for _, group in groupby(found[0], key=lambda matrix: matrix.place)]
    named = [
        [replace(matrix, place=f"{subject.run.path}: {matrix.place}") for matrix in matrices]
        for subject, matrices in zip(subjects, found, strict=True)
    ]
    return [[matrix for matrix in line if matrix] for line in zip_longest(*named)]


def _of_view(view: AttentionView, choice: Choice, *, heads: Sequence[HeadName]) -> list[Matrix]:
    if choice.is_default:
        return [explaining_matrix(view.maps, method=choice.method, heads=heads)]
    stack = choice.stack or "cross"
    return layer_matrices(view.maps, stack=stack, layer=choice.layer, head=choice.head, method=choice.method)


def _aligning_heads(subject: LoadedSentence) -> Sequence[HeadName]:
    """The heads whose mean aligns words best, as the run knows from validation; none where it does not know."""
    aligner = Run(subject.run.path).alignment()
    return aligner.heads if aligner else ()


def _lines(
    subjects: Sequence[LoadedSentence], views: Sequence[AttentionView], matrices: Lines, choice: Choice, *, width: int
) -> Iterator[str | Text]:
    shading = shading_for(literal_console(), scale=Scale.of(matrix.numbers for matrix in chain(*matrices)))
    yield subjects[0].source
    for subject in subjects:
        yield subject.target if len(subjects) == 1 else f"{subject.run.path}: {subject.target}"
    yield from attention_lines(matrices, choice.form, meaning=choice.meaning, width=width, shading=shading)
    if len(views) == 1:
        yield from agreement_lines(views[0], [*chain(*matrices)])


def _say_how_to_see_more(choice: Choice) -> None:
    others = ["--stack NAME"] if METHODS[choice.method].whole else ["--layer N", "--head all", "--stack NAME"]
    others += [] if choice.compact or choice.graph else ["--compact"]
    elsewhere = "links of words: tmt align; one word step by step: tmt explain"
    note(f"one matrix of many; others: {', '.join(others)}; {elsewhere}")
