"""`tmt translate`: sentences in, translations out, exactly one for each."""

import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    Beam,
    Device,
    Json,
    LengthPenalty,
    Model,
    NBest,
    Prefix,
    Sample,
    Seed,
    Temperature,
    TopK,
    TopP,
    search_with,
)
from transformer_mt.errors import InputError

if TYPE_CHECKING:
    from transformer_mt.cli.lines import Record


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
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    sample: Sample = None,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = None,
    n_best: NBest = None,
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
    from transformer_mt.cli.lines import OutputFormat, arguments, open_output, prompted, read_lines, read_records
    from transformer_mt.cli.load import open_run
    from transformer_mt.translation.translator import Translator

    if sentences and input is not None:
        raise InputError("--input: there are sentences on the command line too; give one or the other")
    run = open_run(model)
    config = run.config()
    search = search_with(
        config.search,
        beam=beam,
        length_penalty=length_penalty,
        sample=sample,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        n_best=n_best,
    )
    translator = Translator.load(run.path, device=device)
    language = config.data.source_language
    if not sentences and input is None and sys.stdin.isatty():
        sources = prompted(f"{language}> ")
    else:
        sources = iter([arguments(sentences) if sentences else read_lines(input)])
    form = OutputFormat(as_json=as_json, scores=scores, n_best=search.n_best)
    with open_output(output) as write:
        for source in sources:
            waiting: deque[Record] = deque()  # read, but not yet translated
            records = read_records(source, as_json=as_json, language=language)
            texts = (waiting.append(record) or record.text for record in records)  # type: ignore[func-returns-value]
            found = translator.translate_stream(texts, search, prefix=prefix, place=source.place)
            for number, translations in enumerate(found, start=1):
                for line in form.lines(waiting.popleft(), translations, number=number):
                    write(line)
