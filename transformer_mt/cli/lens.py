"""`tmt lens`: what the decoder would say after each of its layers."""

from transformer_mt.cli.looking_options import Looking, with_looking_options
from transformer_mt.cli.options import LookedAt, Model, Target


@with_looking_options
def lens(
    sentence: LookedAt = None,
    model: Model = None,
    target: Target = None,
    *,
    looking: Looking,
) -> None:
    """Translate a sentence and print what the decoder would say after each of its layers, with probabilities.

    \b
    Examples:
      tmt lens
      tmt lens "Kannst du mir helfen?"
      tmt lens "Der Hund schläft." --target "The dog sleeps."
      tmt lens --json

    A row stands for a subword of the translation. In each column is what would be likeliest there if the model ended
    after that layer: its last norm and its output matrix are applied early (the logit lens). A * stands from the layer
    on that decides: from there to the last it says what is written. The last column is what the model says.

    The layers of a recurrent model are not joined by a residual path, so nothing can read the lower ones: it shows the
    last alone.

    --json prints one object: source, target, layers, never_seen; positions, each with piece, decided (a layer, null
    where it is not what the model would write) and layers, of which each has the piece's probability and its guesses;
    words, each with word and decided.
    """
    from transformer_mt.cli.looking import deliver, open_subject
    from transformer_mt.cli.terminal import literal_console, note, result
    from transformer_mt.drawing.lens_text import lens_lines
    from transformer_mt.inspection.lens import look_through

    subject = open_subject(sentence, target, model=model, looking=looking)
    found = look_through(subject.model, subject.tokenizer, subject.source, subject.target)

    def text() -> None:
        result(found.source, found.target, "", *lens_lines(found, width=literal_console().width))

    deliver(found, [subject], text, looking=looking)
    if subject.run.config.model.decoder_layers > len(found.guesses) and not looking.quiet:
        note("only the last layer can be read: no residual path joins the layers of this model")
