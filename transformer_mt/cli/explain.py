"""`tmt explain`: one row of an attention head, step by step with its numbers."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from typer import Option

from transformer_mt.cli.options import LookedAt, ModelOption, TargetOption
from transformer_mt.cli.sentence import SentenceOptions, emit, load_sentence, with_sentence_options

if TYPE_CHECKING:
    from rich.text import Text

Word = Annotated[str | None, Option(metavar="WORD", help="A word of either text, or its number. [the first long one]")]
Piece = Annotated[int, Option(metavar="N", help="Which piece of the word, from 1.")]
OneStack = Annotated[str | None, Option(metavar="NAME", help="cross, decoder or encoder. [one that has the word]")]
OneLayer = Annotated[int | None, Option(metavar="N", help="A layer counted from 1. [that of the head]")]
OneHead = Annotated[int | None, Option(metavar="N", help="A head counted from 1. [the one that matters most]")]


@with_sentence_options
def explain(
    sentence: LookedAt = None,
    word: Word = None,
    piece: Piece = 1,
    stack: OneStack = None,
    layer: OneLayer = None,
    head: OneHead = None,
    model: ModelOption = None,
    target: TargetOption = None,
    *,
    options: SentenceOptions,
) -> None:
    """Show how an attention head computes one row, step by step with its numbers.

    \b
    Examples:
      tmt explain
      tmt explain "Kannst du mir helfen?" --word help
      tmt explain "Der Hund schläft." --word Hund --stack encoder --layer 2

    Each step has a line of words, its formula and its numbers; the end says in words which columns gave most. A word of
    the translation has a row in cross and decoder, where it is written, a word of the sentence in encoder. Of the heads
    that --stack, --layer and --head leave open it takes the one without which the word's log-probability falls most.
    """
    from transformer_mt.views.explain import explain_row, lines_of

    subject = load_sentence(sentence, target, model=model, options=options)
    subject.require_attention()
    explanation = explain_row(
        subject.network, subject.tokens, word=word, piece=piece, stack=stack, layer=layer, head=head
    )

    def lines(width: int) -> "Iterable[str | Text]":
        return subject.source, subject.target, "", *lines_of(explanation, width=width)

    emit([explanation], lines, sentences=[subject], options=options)
