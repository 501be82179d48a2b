"""The sentence a command inspects: its options, its translation, and the output of its view.

Nothing here imports torch before a command runs.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    Device,
    Figure,
    Json,
    Npz,
    Quiet,
    SearchOptions,
    To,
    with_options,
)
from transformer_mt.cli.terminal import literal_console, note, result
from transformer_mt.errors import InputError
from transformer_mt.files import write_output
from transformer_mt.head_names import HeadName
from transformer_mt.text.terminal import escaped_json

if TYPE_CHECKING:
    from rich.text import Text

    from transformer_mt.views.subject import Subject


@dataclass(frozen=True, kw_only=True)
class SentenceOptions(SearchOptions):
    """Options for the sentence of a line, its search, and the output of its view."""

    sentence_number: Annotated[
        int, Option("--sentence", metavar="N", min=1, help="Which sentence of the line.", show_default=False)
    ] = 1
    to: To = None
    device: Device = DEFAULT_DEVICE
    as_json: Json = False
    npz: Npz = None
    figure: Figure = None
    quiet: Quiet = False


# Gives a command these options in place of its parameter `options`.
with_sentence_options = with_options("options", SentenceOptions, but=("n_best",))


def load_sentence(
    sentence: str | None,
    target: str | None,
    *,
    model: Path | None,
    options: SentenceOptions,
    without: Iterable[str] = (),
) -> "Subject":
    """The sentence, or an example of the run, with the given translation or the model's own without those heads.

    Raises `InputError` for search options together with a target, an empty sentence, an unknown head, and a figure
    without a known format.
    """
    from transformer_mt.cli.open_model import open_translator
    from transformer_mt.views.plot import check_figure
    from transformer_mt.views.subject import Subject, example

    if options.figure:
        check_figure(options.figure, npz=options.npz)
    heads = [HeadName.parse(name.strip(), key="--without") for text in without for name in text.split(",")]
    if target is not None:
        options.refuse("no effect with --target, which gives the translation", "leave one of them out")
    translator = open_translator(model, options, device=options.device, to=options.to)
    if sentence is None:
        if options.to is not None:  # the run's example may be in another language
            raise InputError("SENTENCE", "missing, and --to has no example", "give one")
        sentence = example(translator.model.path, translator.model.config.data)
    subject = Subject.of(translator, sentence, target, number=options.sentence_number, without=heads)
    numbered = list(enumerate((one.text for one in subject.line.sentences), start=1))
    if len(numbered) > 1:
        others = "  ".join(f"{number} {text}" for number, text in numbered if number != subject.number)
        note(f"sentence {subject.number} of {len(numbered)}; choose another with --sentence: {others}")
    return subject


def emit(
    views: Sequence[Any],
    lines: "Callable[[int], Iterable[str | Text]]",
    *,
    sentences: "Sequence[Subject]",
    options: SentenceOptions,
    picture: Callable[..., bytes],
    remarks: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Print the views of sentences as JSON or as lines of the terminal's width; write arrays and picture if requested.

    A view is a dataclass or a mapping. In JSON, the remarks, the heads that are off and unseen words follow its keys.
    Several views become a list `runs`; their arrays are prefixed with their number. Reasons to doubt a translation go
    to stderr.
    """
    from transformer_mt.cli.open_model import LineRemarks

    several = len(sentences) > 1
    found = LineRemarks()
    for one in sentences:
        found.look_at(one.read, one.target, place=one.name)
    if options.npz:
        by_number = {str(number): view for number, view in enumerate(views, start=1)}
        save_arrays({"runs": [one.name for one in sentences]} | by_number if several else views[0], options.npz)
    if options.figure:
        write_output(options.figure, picture(path=options.figure))
    if options.as_json:
        objects = []
        for one, view, remark in zip(sentences, views, remarks or [{}] * len(views), strict=True):
            objects.append(({"run": one.name} if several else {}) | one.to_json(view, remark))
        result(escaped_json({"runs": objects} if several else objects[0]))
    else:
        for one in sentences:
            result(*_comparison(one, named=several))
        result(*lines(literal_console().width))
    found.report()


def emit_below_texts(
    view: Any,
    lines_of: "Callable[..., Iterable[str | Text]]",
    figure_of: Callable[..., bytes],
    *,
    subject: "Subject",
    options: SentenceOptions,
) -> None:
    """Emit the view of one sentence; the terminal shows it below the sentence and its translation."""

    def lines(width: int) -> "Iterable[str | Text]":
        return subject.source, subject.target, "", *lines_of(view, width=width)

    emit([view], lines, sentences=[subject], options=options, picture=partial(figure_of, view))


def _comparison(sentence: "Subject", *, named: bool) -> list[str]:
    """The translation with the heads off above the usual one; empty if no head is off."""
    if not sentence.without:
        return []
    title = f"{f'{sentence.name} ' if named else ''}without {', '.join(map(str, sentence.without))}:"
    if sentence.usual is None:
        return [f"{title} the given translation", ""]
    return [f"{title} {sentence.target}", f"{'as usual:':<{len(title)}} {sentence.usual}", ""]


def save_arrays(view: Any, path: Path) -> None:
    """Write the numbers of a view to a file for `numpy.load`."""
    import numpy as np

    from transformer_mt.views.serialise import to_arrays

    content = io.BytesIO()
    np.savez_compressed(content, **to_arrays(view))  # type: ignore[arg-type]
    write_output(path, content.getvalue())
