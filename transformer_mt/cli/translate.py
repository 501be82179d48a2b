"""`tmt translate`: sentences in, translations out, exactly one for each."""

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    DEFAULT_ENGINE,
    Device,
    EngineOption,
    Json,
    ModelOption,
    NoSplit,
    PrefixOption,
    Quantization,
    Quiet,
    SearchOptions,
    with_options,
)
from transformer_mt.cli.terminal import note, warn
from transformer_mt.errors import InputError
from transformer_mt.progress import working

if TYPE_CHECKING:
    from transformer_mt.cli.line_io import Line


@with_options("search", SearchOptions)
def translate(
    sentences: Annotated[list[str] | None, Argument(metavar="SENTENCE", show_default=False)] = None,
    model: ModelOption = None,
    input: Annotated[Path | None, Option(metavar="FILE", help="Translate the lines of a file; - is stdin.")] = None,
    output: Annotated[Path | None, Option(metavar="FILE", help="Write there, once all is complete.")] = None,
    *,
    search: SearchOptions,
    prefix: PrefixOption = "",
    scores: Annotated[bool, Option("--scores", help="Put the score before each translation, with a tab.")] = False,
    alternatives: Annotated[bool, Option("--alternatives", help="Show the likeliest others at each subword.")] = False,
    trace: Annotated[bool, Option("--trace", help="Show what the beam kept at every step, as a tree.")] = False,
    no_split: NoSplit = False,
    device: Device = DEFAULT_DEVICE,
    engine: EngineOption = DEFAULT_ENGINE,
    quantization: Quantization = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Translate sentences: arguments, the lines of a file, of stdin, or what you type at a prompt.

    \b
    Examples:
      tmt translate "Kannst du mir helfen, diesen Satz zu übersetzen?"
      tmt translate --input letters.de --output letters.en
      echo "Der Hund schläft." | tmt translate --n-best 3 --scores
      tmt translate --sample --temperature 0.8 --top-p 0.9 "Wir haben Zeit."
      tmt translate --alternatives --trace "Der alte Mann liest."
      tmt translate --engine ctranslate2 --quantization int8 --input letters.de

    One line comes out for each line that goes in, through a pipe as soon as that is there. A line of several sentences
    is translated sentence by sentence, but with --no-split, --n-best, --alternatives, --trace or --prefix as one. A
    line typed without capitals, or in nothing but capitals, is read as training writes it. With --n-best above 1 there
    are several, each after its sentence's number and a tab. --json prints an object a line: source, translation, score,
    log_probability, never_seen, remarks, sentences, n_best. A line that is a JSON object itself is passed through with
    these added; its text is taken from the key source or the source language's (de).

    --alternatives prints a line for each subword: its probability, then the likeliest others. --trace prints the tree
    of the beam: at the end of a line the log-probability so far and how it ended: with a score, dropped, or beaten
    because it could not win any more.

    --engine ctranslate2 translates up to three times as fast and starts in half the time. The model is converted once,
    and kept in the cache folder. Greedy translations are the same; a beam is searched otherwise there. It has no
    --sample and no --trace.

    The first five lines that give reason to doubt are named on stderr: with words that training never showed, or fewer
    than ten times, unless the translation copies them; with words, characters or a script that it never showed in this
    form; longer than any source in training. A line that cannot be translated is named there too, comes out empty, and
    the exit code is 2.
    """
    from transformer_mt.cli.line_io import STDIN, Output, open_output, read_records
    from transformer_mt.cli.open_model import LineRemarks, open_translator
    from transformer_mt.views.translate import require_beam

    _check(sentences, input, trace=trace, engine=engine)
    translator = open_translator(model, search, device=device, engine=engine, quantization=quantization)
    if trace:
        require_beam(translator.search)
    is_prompt = not sentences and input is None and sys.stdin is not None and sys.stdin.isatty()
    if is_prompt and sys.stderr.isatty():
        note("one sentence a line; :quit or Ctrl-D ends")
    language = translator.model.config.data.source_language
    sources, is_waiting = _sources(sentences, input, prompt=f"{language}> " if is_prompt else None)
    n_best = translator.search.n_best
    split = not (no_split or n_best > 1 or alternatives or trace or prefix)
    form = Output(as_json, scores, alternatives, trace, n_best, split)
    # A draw is meant to be unlikely, and a prefix may be.
    shows_doubt = not (translator.search.sample or prefix)
    bad = total = 0

    shown = nullcontext() if output is None else working(f"translating into {output}")
    with open_output(output) as write, shown:
        for source in sources:
            remarks = LineRemarks()
            records = read_records(source, translator, split=split, as_json=as_json)
            for number, one in enumerate(form.translate(translator, records, prefix=prefix, is_waiting=is_waiting), 1):
                total += 1
                bad += one.record.problem is not None
                doubtful = shows_doubt and one.ranked[0].is_doubtful
                remarks.look_at(one.record.line, one.ranked[0].text, place=one.record.place, doubtful=doubtful)
                for line in form.lines(one, number=number):
                    write(line)
                if one.record.problem:
                    warn(str(one.record.problem))
            remarks.report()
    if bad and not is_prompt:
        place = "SENTENCE" if sentences else "stdin" if input in (None, STDIN) else input
        raise InputError(place, f"{bad} of {total} lines are not translated", "correct those named above")


def _check(sentences: list[str] | None, input: Path | None, *, trace: bool, engine: str) -> None:
    """Raise `InputError` for options that do not go together."""
    if sentences and input is not None:
        raise InputError("--input", "there are sentences on the command line too", "give one or the other")
    if sentences and len(sentences) == 1 and os.path.isfile(sentences[0]):
        raise InputError("SENTENCE", f"{sentences[0]} is a file", "to translate its lines, give it with --input")
    if trace and engine != DEFAULT_ENGINE:
        raise InputError("--trace", f"{engine} does not show its beam", "leave it or --engine out")


def _sources(
    sentences: list[str] | None, input: Path | None, *, prompt: str | None
) -> "tuple[Iterable[Iterable[Line]], Callable[[], bool] | None]":
    """Lines in groups that have their remarks together, and whether the next line is there, where that is not sure."""
    from transformer_mt.cli.line_io import arriving_lines, prompted
    from transformer_mt.translation.translator import numbered

    if prompt is not None:
        return ([("the line", line)] for line in prompted(prompt)), None
    if sentences:
        return [[(numbered(number), sentence) for number, sentence in enumerate(sentences)]], None
    lines, is_waiting = arriving_lines(input)
    return [lines], is_waiting
