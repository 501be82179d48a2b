"""`tmt translate`: sentences in, translations out, exactly one for each."""

import sys
from itertools import tee
from pathlib import Path
from typing import Annotated

import typer

from transformer_mt.cli.options import DEFAULT_DEVICE, Device, Json, Model, Prefix
from transformer_mt.cli.search_options import OPTIONS, SearchOptions, with_search_options
from transformer_mt.errors import InputError


@with_search_options(*OPTIONS)
def translate(
    sentences: Annotated[
        list[str] | None, typer.Argument(metavar="SENTENCE", help="What to translate.", show_default=False)
    ] = None,
    model: Model = None,
    input: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Translate the lines of a file; - is stdin.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write there; a file appears once it is complete.")
    ] = None,
    *,
    search: SearchOptions,
    prefix: Prefix = "",
    scores: Annotated[
        bool, typer.Option("--scores", help="Put the score before each translation, with a tab.")
    ] = False,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
) -> None:
    """Translate sentences: arguments, the lines of a file, of stdin, or what you type at a prompt.

    \b
    Examples:
      tmt translate "Kannst du mir helfen, diesen Satz zu übersetzen?"
      tmt translate --input letters.de --output letters.en
      echo "Der Hund schläft." | tmt translate --n-best 3 --scores
      tmt translate --sample --temperature 0.8 --top-p 0.9 "Wir haben Zeit."

    One line comes out for each line that goes in, an empty one for an empty one. With --n-best above 1 there are
    several, each after its sentence's number and a tab. --json prints an object a line: source, translation, score,
    log_probability and, with --n-best, n_best. A line that is a JSON object itself is passed through with these added;
    its text is taken from the key source or the source language's (de).
    """
    from transformer_mt.cli.lines import OutputFormat, Source, open_output, prompted, read_lines, read_records
    from transformer_mt.cli.load import open_run
    from transformer_mt.translation.translator import numbered

    if sentences and input is not None:
        raise InputError("--input: there are sentences on the command line too; give one or the other")
    run, translator = open_run(model, search, device=device)
    language = run.config().data.source_language
    if not sentences and input is None and sys.stdin.isatty():
        sources = prompted(f"{language}> ")
    else:
        sources = iter([Source(sentences, numbered) if sentences else read_lines(input)])
    form = OutputFormat(as_json=as_json, scores=scores, n_best=translator.search.n_best)
    with open_output(output) as write:
        for source in sources:
            # Twice the same: those that the translator reads ahead wait for their translations.
            records, waiting = tee(read_records(source, as_json=as_json, language=language))
            texts = (record.text for record in records)
            found = translator.translate_stream(texts, prefix=prefix, place=source.place)
            for number, (translations, record) in enumerate(zip(found, waiting, strict=False), start=1):
                for line in form.lines(record, translations, number=number):
                    write(line)
