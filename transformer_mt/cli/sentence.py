"""The sentence that a command looks into: its options, its translation, and how its view is printed.

Nothing here imports torch before a command runs.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    Device,
    Json,
    Npz,
    Quiet,
    SearchOptions,
    Sentence,
    with_options,
)
from transformer_mt.cli.terminal import literal_console, note, result
from transformer_mt.files import write_output
from transformer_mt.head_names import HeadName
from transformer_mt.text.terminal import escaped_json

if TYPE_CHECKING:
    from rich.text import Text

    from transformer_mt.views.subject import Subject


@dataclass(frozen=True)
class SentenceOptions(SearchOptions):
    """Which sentence of a line, the options of its search, and where the view of it goes."""

    sentence_number: Sentence = 1
    device: Device = DEFAULT_DEVICE
    as_json: Json = False
    npz: Npz = None
    quiet: Quiet = False


# Gives a command these options where its signature has the parameter `options`.
with_sentence_options = with_options("options", SentenceOptions, but=("n_best",))


def load_sentence(
    sentence: str | None,
    target: str | None,
    *,
    model: Path | None,
    options: SentenceOptions,
    without: Iterable[str] = (),
) -> "Subject":
    """The sentence, or one of the run's corpus, with the given translation, or the model's own without those heads.

    Raises `InputError` for options of search beside a target, for a sentence without text, and for an unknown head.
    """
    from transformer_mt.cli.open_model import open_translator
    from transformer_mt.views.subject import Subject, example

    heads = [HeadName.parse(name.strip(), key="--without") for text in without for name in text.split(",")]
    if target is not None:
        options.refuse("--target gives the translation, so none is searched for", "leave one of the two out")
    translator = open_translator(model, options, device=options.device)
    if sentence is None:
        sentence = example(translator.model.path, translator.model.config.data)
    subject = Subject.of(translator, sentence, target, number=options.sentence_number, without=heads)
    numbered = list(enumerate((one.text for one in subject.line.sentences), start=1))
    if len(numbered) > 1:
        others = "  ".join(f"{number} {text}" for number, text in numbered if number != subject.number)
        note(f"sentence {subject.number} of {len(numbered)}; for another give --sentence: {others}")
    return subject


def emit(
    views: Sequence[Any],
    lines: "Callable[[int], Iterable[str | Text]]",
    *,
    sentences: "Sequence[Subject]",
    options: SentenceOptions,
    remarks: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Print the view of each sentence as JSON, or as the lines of the terminal's width; write their arrays if asked to.

    A view is a dataclass or a mapping. In JSON the remarks, heads that are off and words that were never seen come
    after its keys; several views make a list `runs`, and their arrays begin with their number. Reasons to doubt the
    translation are named on stderr.
    """
    from transformer_mt.cli.open_model import LineRemarks

    several, found = len(sentences) > 1, LineRemarks()
    for one in sentences:
        found.look_at(one.read, one.target, place=one.name)
    if options.npz is not None:
        by_number = {str(number): view for number, view in enumerate(views, start=1)}
        save_arrays({"runs": [one.name for one in sentences]} | by_number if several else views[0], options.npz)
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


def _comparison(sentence: "Subject", *, named: bool) -> list[str]:
    """The translation without the heads that are off beside the usual one; no lines where all heads are on."""
    if not sentence.without:
        return []
    title = f"{f'{sentence.name} ' if named else ''}without {', '.join(map(str, sentence.without))}:"
    if sentence.usual is None:
        return [f"{title} the given translation", ""]
    return [f"{title} {sentence.target}", f"{'as usual:':<{len(title)}} {sentence.usual}", ""]


def save_arrays(view: Any, path: Path) -> None:
    """Write the numbers of a view to a file that `numpy.load` reads."""
    import numpy as np

    from transformer_mt.views.serialise import to_arrays

    content = io.BytesIO()
    np.savez_compressed(content, **to_arrays(view))  # type: ignore[arg-type]
    write_output(path, content.getvalue())
