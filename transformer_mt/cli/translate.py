"""`tmt translate`: one translation for each input sentence."""

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from transformer_mt.cli.options import (
    AUTO,
    DEFAULT_DEVICE,
    DEFAULT_ENGINE,
    Device,
    EngineOption,
    Json,
    ModelOption,
    NoSplit,
    OutputFile,
    Quantization,
    Quiet,
    SearchOptions,
    To,
    in_output,
    in_search,
    with_options,
)
from transformer_mt.cli.terminal import note
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.progress import working
from transformer_mt.translation.engine import OWN

if TYPE_CHECKING:
    from transformer_mt.cli.line_io import Line

LARGE = 100_000  # bytes, about 2,000 sentences

Sentences = Annotated[list[str] | None, Argument(metavar="SENTENCE", help="Source sentences.")]
Lines = Annotated[Path | None, Option(metavar="FILE", help="Translate the lines of a file; - is stdin.")]
Prefix = Annotated[str, in_search(metavar="TEXT", help="Start every translation with this text.")]
GlossaryFile = Annotated[Path | None, in_search(metavar="FILE", help="Terms to use: source, tab, target.")]
Scores = Annotated[bool, in_output("--scores", help="Print the score before each translation.")]
Alternatives = Annotated[bool, in_output("--alternatives", help="Print the likeliest other tokens.")]
Trace = Annotated[bool, in_output("--trace", help="Print the beam of every step as a tree.")]


@with_options
def translate(
    sentences: Sentences = None,
    model: ModelOption = None,
    input: Lines = None,
    output: OutputFile = None,
    *,
    search: SearchOptions,
    prefix: Prefix = "",
    glossary: GlossaryFile = None,
    scores: Scores = False,
    alternatives: Alternatives = False,
    trace: Trace = False,
    no_split: NoSplit = False,
    to: To = None,
    device: Device = DEFAULT_DEVICE,
    engine: EngineOption = DEFAULT_ENGINE,
    quantization: Quantization = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Translate sentences from arguments, a file, stdin, or a prompt.

    \b
    Examples:
      tmt translate "Kannst du mir helfen, diesen Satz zu übersetzen?"
      tmt translate --input letters.de --output letters.en
      echo "Der Hund schläft." | tmt translate --n-best 3 --scores
      tmt translate --sample --temperature 0.8 --top-p 0.9 "Wir haben Zeit."
      tmt translate --alternatives --trace "Der alte Mann liest."
      tmt translate --glossary terms.tsv --input letters.de

    Prints one line per input line. Lines are split into sentences, except with --no-split, --n-best, --alternatives,
    --trace or --prefix. Input all in lowercase or capitals is recased. With --n-best, lines start with the sentence
    number and a tab.

    Warns about words seen fewer than ten times in training (unless copied), unknown characters or scripts, and very
    long sentences. If a line cannot be translated, its output is empty and the exit code is 2.

    --json prints one object per line. Input lines may be objects. Their text has the key that training took
    (data.source_column), the source language (de), or source, the first that exists. All their keys are kept: if one is
    error or one of ours, ours come together under the key tmt.

    --alternatives prints each token's probability and the likeliest others. --trace prints the beam as a tree; branches
    end with a score, dropped, or beaten (could no longer win).

    --glossary reads a source term, a tab and a target term per line. Where the source term occurs, ignoring case, the
    target term replaces the words of the translation that are linked to it; inflected forms need their own lines. A
    term in a larger number, name or address (5 in 1.5, C in C++) doesn't count. tmt notes terms without a place.

    --engine chooses the program that translates. Another one is faster, after converting the model once. Greedy
    translations are the same; beam results may differ. It has no --sample, --trace or --glossary. auto uses it, if
    installed, for --beam 1 and files of at least 100 kB, and with --quantization; otherwise torch, our own search.
    """
    from transformer_mt.cli.line_io import ALTERNATIVES, STDIN, TranslationJob, open_output
    from transformer_mt.cli.open_model import alignment_heads, open_translator
    from transformer_mt.runs.directory import own_files
    from transformer_mt.translation.glossary import Glossary
    from transformer_mt.translation.translator import splits
    from transformer_mt.views.translate import Details, require_beam

    lacking = [option for option, given in (("--trace", trace), ("--glossary", glossary)) if given]
    _check(sentences, input, lacking=lacking, others=engine not in (AUTO, OWN) or quantization is not None)
    pays = not lacking and _is_large(sentences, input)
    translator = open_translator(
        model, search, device=device, engine=engine, quantization=quantization, to=to, pays=pays
    )
    if trace:
        require_beam(translator.search)
    if glossary:
        translator.glossary = Glossary.read(glossary)
        alignment_heads(translator.model)  # notes a guess, and raises for a model that cannot link words
    prompt = None
    if not sentences and input is None and sys.stdin is not None and sys.stdin.isatty():
        prompt = f"{translator.model.config.data.source_language}> "
    sources, is_waiting = _sources(sentences, input, prompt=prompt)
    details = Details(
        split=not (no_split or alternatives or trace) and splits(translator.search, prefix),
        n_best=translator.search.n_best,
        alternatives=ALTERNATIVES * alternatives,
        trace=trace,
        terms=glossary is not None,
    )
    shown = working(f"translating into {output}") if output else nullcontext()
    with open_output(output, read=[input, glossary, *own_files(translator.model.path)]) as write, shown:
        job = TranslationJob(translator, details, as_json, scores, prefix, write, is_waiting)
        for lines in sources:
            job.run(lines)
    if glossary and not job.terms:
        note(f"{glossary}: none of its terms occurs in the input")
    if job.bad and prompt is None:
        place = "SENTENCE" if sentences else "stdin" if input in (None, STDIN) else input
        raise InputError(place, f"{job.bad} of {job.total} lines were not translated", "correct the lines named above")


def _check(sentences: list[str] | None, input: Path | None, *, lacking: list[str], others: bool) -> None:
    """Raise `InputError` for options that exclude each other."""
    if sentences and input:
        raise InputError("--input", "the command line has sentences too", "give one or the other")
    if sentences and len(sentences) == 1 and os.path.isfile(sentences[0]):
        raise InputError("SENTENCE", f"{sentences[0]} is a file", "translate its lines with --input")
    if lacking and others:
        raise InputError(lacking[0], "only our own search has it", "leave it out, or --engine and --quantization")


def _is_large(sentences: list[str] | None, input: Path | None) -> bool:
    """True for a file, also on stdin, that takes longer to translate than a model takes to convert."""
    with suppress(OSError):
        return not sentences and os.stat(0 if input in (None, Path("-")) else input).st_size >= LARGE
    return False


def _sources(
    sentences: list[str] | None, input: Path | None, *, prompt: str | None
) -> "tuple[Iterable[Iterable[Line]], Callable[[], bool] | None]":
    """Lines in groups that share a report of remarks, and a check whether the next line has arrived.

    The check is None if no line has to be waited for.
    """
    from transformer_mt.cli.line_io import STDIN, arriving_lines, prompted
    from transformer_mt.translation.translator import numbered

    if prompt is not None:
        if sys.stderr.isatty():
            note("one sentence per line; :quit or Ctrl-D to quit")
        return ([("the line", line)] for line in prompted(prompt)), None
    if sentences:
        return [[(numbered(number), sentence) for number, sentence in enumerate(sentences)]], None
    lines, is_waiting = arriving_lines(input or STDIN)
    return [lines], is_waiting
