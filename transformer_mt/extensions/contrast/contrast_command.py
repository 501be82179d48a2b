"""`tmt contrast`: why this word, and not another?"""

from typing import Annotated

from typer import Option

from transformer_mt.cli.options import LookedAt, ModelOption, TargetOption
from transformer_mt.cli.sentence import SentenceOptions, emit_below_texts, load_sentence, with_sentence_options


@with_sentence_options
def contrast(
    word: Annotated[str, Option(metavar="WORD", help="Word of the translation, or its number.")],
    other: Annotated[str, Option("--not", metavar="WORD", help="The word to compare it with.")],
    sentence: LookedAt = None,
    model: ModelOption = None,
    target: TargetOption = None,
    *,
    options: SentenceOptions,
) -> None:
    """Show why the model chose a word and not another one.

    \b
    Examples:
      tmt contrast "Der Hund läuft." --word running --not walking
      tmt contrast "Der Hund schläft." --word dog --not cat
      tmt contrast --word 2 --not "</s>"

    tmt shows how much each word of both texts speaks for --word and against the other one, by gradient × input and by
    erasure. If words have several tokens, the first tokens that differ count. </s> is the end of the translation.
    """
    from transformer_mt.extensions.contrast.contrast import contrast_lines, contrast_words

    subject = load_sentence(sentence, target, model=model, options=options)
    found = contrast_words(subject.network, subject.model.tokenizer, subject.tokens, word, other)
    emit_below_texts(found, contrast_lines, subject=subject, options=options)
