"""`tmt page`: the page of one sentence in a file."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from transformer_mt.cli.app import HEADS
from transformer_mt.cli.options import LookedAt, ModelOption, TargetOption
from transformer_mt.cli.sentence import SentenceOptions, load_sentence, with_sentence_options
from transformer_mt.cli.terminal import note
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import write_output


@with_sentence_options
def page(
    file: Annotated[Path, Argument(metavar="FILE", help="The new HTML file.")],
    sentence: LookedAt = None,
    method: Annotated[str, Option(metavar="NAME", help="weights, gradient or erasure.", rich_help_panel=HEADS)] = (
        "weights"
    ),
    words: Annotated[bool, Option("--words/--tokens", help="Show words, or the model's tokens.")] = True,
    without: Annotated[
        list[str] | None, Option(metavar="HEADS", help="Turn heads off: cross.2.1,cross.2.2.", rich_help_panel=HEADS)
    ] = None,
    model: ModelOption = None,
    target: TargetOption = None,
    *,
    options: SentenceOptions,
) -> None:
    """Save the page of tmt serve for one sentence: a file that works offline, without the model.

    \b
    Examples:
      tmt page example.html
      tmt page dog.html "Der Hund schläft."
      tmt page dog.html "Der Hund schläft." --target "The dog sleeps." --tokens
    """
    from transformer_mt.extensions.serve.page.saved_page import saved_page
    from transformer_mt.extensions.serve.saved_answers import saved_answers

    if file.suffix.lower() not in (".html", ".htm"):  # so that a mistyped argument replaces no other file
        raise InputError(file, "not the name of a page", "end it in .html")
    subject = load_sentence(sentence, target, model=model, without=without or (), options=options)
    subject.require_attention(method)
    search = options.applied_to(subject.model.config.search)
    answers = saved_answers(subject, search, is_given=target is not None, method=method, words=words)
    write_output(file, saved_page(answers))
    note(f"wrote {file}; open it in a browser")
