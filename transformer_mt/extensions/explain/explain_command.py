"""`tmt explain`: compute one row of an attention head step by step."""

from typing import Annotated

from typer import Option

from transformer_mt.cli.app import HEADS
from transformer_mt.cli.options import LookedAt, ModelOption, TargetOption
from transformer_mt.cli.sentence import SentenceOptions, emit_below_texts, load_sentence, with_sentence_options


@with_sentence_options
def explain(
    sentence: LookedAt = None,
    word: Annotated[
        str | None,
        Option(metavar="WORD", help="Word of either text, or its number. [first long one]", rich_help_panel=HEADS),
    ] = None,
    token: Annotated[int, Option(metavar="N", help="Token of the word, from 1.", rich_help_panel=HEADS)] = 1,
    stack: Annotated[
        str | None,
        Option(metavar="NAME", help="cross, decoder or encoder. [one with the word]", rich_help_panel=HEADS),
    ] = None,
    layer: Annotated[int | None, Option(metavar="N", help="Layer, from 1. [the head's]", rich_help_panel=HEADS)] = None,
    head: Annotated[
        int | None, Option(metavar="N", help="Head, from 1. [the one that matters most]", rich_help_panel=HEADS)
    ] = None,
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

    The last lines name the columns that contributed most. Target words have rows in cross and decoder, source words in
    encoder. By default, tmt picks the head whose removal lowers the word's log-probability most.
    """
    from transformer_mt.extensions.explain.explain import explain_row, lines_of

    subject = load_sentence(sentence, target, model=model, options=options)
    subject.require_attention()
    explanation = explain_row(
        subject.network, subject.tokens, word=word, token=token, stack=stack, layer=layer, head=head
    )
    emit_below_texts(explanation, lines_of, subject=subject, options=options)
