"""`tmt explain`: compute one row of an attention head step by step, or contrast two words."""

from typing import Annotated

from typer import Option

from transformer_mt.cli.app import HEADS
from transformer_mt.cli.options import LookedAt, ModelOption, TargetOption
from transformer_mt.cli.sentence import SentenceOptions, emit_below_texts, load_sentence, with_sentence_options
from transformer_mt.errors import InputError


@with_sentence_options
def explain(
    sentence: LookedAt = None,
    word: Annotated[
        str | None,
        Option(metavar="WORD", help="Word of either text, or its number. [first long one]", rich_help_panel=HEADS),
    ] = None,
    other: Annotated[
        str | None,
        Option("--not", metavar="WORD", help="Why --word, and not this one?", rich_help_panel=HEADS),
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
      tmt explain "Der Hund läuft." --word running --not walking

    The last lines name the columns that contributed most. Target words have rows in cross and decoder, source words in
    encoder. By default, tmt picks the head whose removal lowers the word's log-probability most.

    With --not, tmt shows instead how much each word speaks for --word and against the other one, by gradient × input
    and by erasure. If words have several tokens, the first tokens that differ count.
    """
    from transformer_mt.views.explain import explain_row, lines_of

    if other is not None:
        if word is None:
            raise InputError("other", "needs the word it would replace", "give --word")
        for name, value in (("stack", stack), ("layer", layer), ("head", head), ("token", None if token == 1 else 1)):
            if value is not None:
                raise InputError(name, "no effect with --not, which looks at the whole model", "leave one of them out")
    subject = load_sentence(sentence, target, model=model, options=options)
    if word is not None and other is not None:
        from transformer_mt.views.contrast import contrast_lines, contrast_words

        found = contrast_words(subject.network, subject.model.tokenizer, subject.tokens, word, other)
        emit_below_texts(found, contrast_lines, subject=subject, options=options)
        return
    subject.require_attention()
    explanation = explain_row(
        subject.network, subject.tokens, word=word, token=token, stack=stack, layer=layer, head=head
    )
    emit_below_texts(explanation, lines_of, subject=subject, options=options)
