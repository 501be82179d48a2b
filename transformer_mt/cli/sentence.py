"""The sentence a command inspects: its options, its translation, and the output of its view.

Nothing here imports torch before a command runs.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from transformer_mt.cli.options import DEFAULT_DEVICE, Device, Json, OneBestOptions, Quiet, To, with_options
from transformer_mt.cli.terminal import literal_console, note, result
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.text.terminal import escaped_json

if TYPE_CHECKING:
    from rich.text import Text

    from transformer_mt.views.subject import Subject


@dataclass(frozen=True, kw_only=True)
class SentenceOptions(OneBestOptions):
    """Options for the sentence of a line, its search, and the output of its view."""

    sentence_number: Annotated[
        int, Option("--sentence", metavar="N", min=1, help="Which sentence of the line.", show_default=False)
    ] = 1
    to: To = None
    device: Device = DEFAULT_DEVICE
    as_json: Json = False
    quiet: Quiet = False


# Gives a command these options in place of its parameter `options`.
with_sentence_options = with_options


def load_sentence(
    sentence: str | None,
    target: str | None,
    *,
    model: Path | None,
    options: SentenceOptions,
    without: Iterable[str] = (),
) -> "Subject":
    """The sentence, or an example of the run, with the given translation or the model's own without those heads.

    Raises `InputError` for search options together with a target, an empty sentence, and an unknown head.
    """
    from transformer_mt.cli.open_model import open_translator
    from transformer_mt.views.subject import Subject, example

    heads = [HeadName.parse(name.strip(), key="--without") for text in without for name in text.split(",")]
    if target is not None:
        options.refuse("no effect with --target, which gives the translation", "leave one of them out")
    translator = open_translator(model, options, device=options.device, to=options.to)
    if sentence is None:
        if options.to is not None:  # the run's example may be in another language
            raise InputError("SENTENCE", "missing, and --to has no example", "give one")
        sentence = example(translator.model.path, translator.model.config.data)
    subject = Subject.of(translator, sentence, target, number=options.sentence_number, without=heads)
    numbered = dict(enumerate(subject.line.sentences, start=1))
    if len(numbered) > 1:
        others = "  ".join(f"{number} {one.text}" for number, one in numbered.items() if number != subject.number)
        note(f"sentence {subject.number} of {len(numbered)}; choose another with --sentence: {others}")
    return subject


def emit(
    view: Any,
    lines: "Callable[[int], Iterable[str | Text]]",
    *,
    subject: "Subject",
    options: SentenceOptions,
    remarks: Mapping[str, Any] | None = None,
) -> None:
    """Print the view of a sentence as JSON or as lines of the terminal's width.

    A view is a dataclass or a mapping. In JSON, the remarks, the heads that are off and unseen words follow its keys.
    Reasons to doubt a translation go to stderr.
    """
    from transformer_mt.cli.open_model import LineRemarks

    found = LineRemarks()
    found.look_at(subject.read, subject.target, place=subject.name)
    if options.as_json:
        result(escaped_json(subject.to_json(view, remarks)))
    else:
        result(*_comparison(subject), *lines(literal_console().width))
    found.report()


def emit_below_texts(
    view: Any, lines_of: "Callable[..., Iterable[str | Text]]", *, subject: "Subject", options: SentenceOptions
) -> None:
    """Emit the view of one sentence; the terminal shows it below the sentence and its translation."""
    texts = (subject.source, subject.target, "")
    emit(view, lambda width: (*texts, *lines_of(view, width=width)), subject=subject, options=options)


def _comparison(sentence: "Subject") -> list[str]:
    """The translation with the heads off above the usual one; empty if no head is off."""
    if not sentence.without:
        return []
    title = f"without {', '.join(map(str, sentence.without))}:"
    if sentence.usual is None:
        return [f"{title} the given translation", ""]
    return [f"{title} {sentence.target}", f"{'as usual:':<{len(title)}} {sentence.usual}", ""]
