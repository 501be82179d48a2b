"""`tmt lens`: what the decoder would predict after each layer."""

from transformer_mt.cli.options import LookedAt, ModelOption, TargetOption
from transformer_mt.cli.sentence import SentenceOptions, emit_below_texts, load_sentence, with_sentence_options


@with_sentence_options
def lens(
    sentence: LookedAt = None, model: ModelOption = None, target: TargetOption = None, *, options: SentenceOptions
) -> None:
    """Show what the decoder would predict after each of its layers, with probabilities.

    \b
    Examples:
      tmt lens
      tmt lens "Kannst du mir helfen?"
      tmt lens "Der Hund schläft." --target "The dog sleeps."

    Rows are tokens of the translation, columns decoder layers. A cell shows the likeliest token if the final norm and
    output matrix came right after that layer (the logit lens). From the layer marked * on, the chosen token is first.
    Recurrent models show only their last layer.
    """
    from transformer_mt.cli.terminal import note
    from transformer_mt.extensions.lens.lens import lens_lines, look_through

    subject = load_sentence(sentence, target, model=model, options=options)
    found = look_through(subject.network, subject.model.tokenizer, subject.tokens)
    emit_below_texts(found, lens_lines, subject=subject, options=options)
    if subject.model.config.model.decoder_layers > len(found.guesses):
        note("only the last layer can be read: no residual path joins the layers of this model")
