"""`tmt translate`: sentences in, translations out, exactly one for each."""

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transformer_mt.cli.options import DEFAULT_DEVICE, Device, Json, Model, Prefix, Quiet
from transformer_mt.cli.search_options import OPTIONS, SearchOptions, with_search_options
from transformer_mt.errors import InputError

if TYPE_CHECKING:
    from transformer_mt.cli.lines import Record, Shown
    from transformer_mt.translation.trace import BeamTrace
    from transformer_mt.translation.translator import Translation, Translator

    Translated = tuple[Record, list[Translation], BeamTrace | None]

# Mean ln p of a subword below which a translation is doubted. Measured with the model of `tmt train`: none of 650
# validation and test sentences was below -0.4; 9 of 10 strings of random letters or punctuation were below -1.0, and
# 6 of 10 sentences of the other language. A model that has learned little doubts more: of its own validation sentences
# one in four after 500 steps on Multi30k.
DOUBTFUL = -1.0
# Other subwords that are shown at each position.
ALTERNATIVES = 4


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
    alternatives: Annotated[
        bool, typer.Option("--alternatives", help="Show what might have stood at each subword instead.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show what the beam kept at every step, as a tree.")] = False,
    device: Device = DEFAULT_DEVICE,
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

    One line comes out for each line that goes in. With --n-best above 1 there are several, each after its sentence's
    number and a tab. --json prints an object a line: source, translation, score, log_probability, never_seen, n_best.
    A line that is a JSON object itself is passed through with these added; its text is taken from the key source or
    the source language's (de).

    --alternatives prints a line for each subword: its probability, then the likeliest others. --trace prints the tree
    of the beam: at the end of a line the log-probability so far and how it ended: with the score; dropped, when none
    of its continuations was kept; beaten, when it could not win any more. Both are keys with --json.

    Words that were never in the training data are named on stderr and in never_seen. A line that cannot be translated
    is named on stderr, comes out empty (with --json as an object with error), and the exit code is 2.
    """
    from transformer_mt.cli.lines import STDIN, OutputFormat, Source, open_output, prompted, read_lines, read_records
    from transformer_mt.cli.load import NeverSeen, open_run
    from transformer_mt.cli.terminal import note
    from transformer_mt.translation.translator import numbered

    if sentences and input is not None:
        raise InputError("--input: there are sentences on the command line too; give one or the other")
    if sentences and len(sentences) == 1 and os.path.isfile(sentences[0]):
        raise InputError(f"SENTENCE: {sentences[0]} is a file; to translate its lines, give it with --input")
    run = open_run(model, search, device=device, quiet=quiet)
    translator, language = run.translator, run.config.data.source_language
    if trace and translator.search.sample:
        raise InputError("--trace: drawing at random keeps no beam; leave it or --sample out")
    is_prompt = not sentences and input is None and sys.stdin.isatty()
    if is_prompt:
        if sys.stderr.isatty() and not quiet:
            note("one sentence a line; :quit or Ctrl-D ends")
        sources = prompted(f"{language}> ")
    else:
        sources = iter([Source(sentences, numbered) if sentences else read_lines(input)])
    form = OutputFormat(as_json=as_json, scores=scores, n_best=translator.search.n_best)
    # A draw is meant to be unlikely, and a prefix may be.
    shows_doubt = output is None and sys.stdout.isatty() and not (translator.search.sample or prefix or quiet)
    unseen = NeverSeen(run.path) if as_json or not quiet else None
    bad = total = 0
    with open_output(output) as write:
        for source in sources:
            records = read_records(source, translator.require_fitting, as_json=as_json, language=language)
            translated = _traced(translator, records, prefix) if trace else _translated(translator, records, prefix)
            for number, (record, found, tree) in enumerate(translated, start=1):
                total += 1
                fields: dict[str, Any] = {"never_seen": unseen.look_at(record.text) if unseen else None}
                if trace:
                    fields["trace"] = tree.to_json() if tree else None
                ranked = [_shown(translator, record, one, alternatives and not record.problem) for one in found]
                below = _tree_lines(tree) if tree else ()
                for line in form.lines(record, ranked, number=number, fields=fields, below=below):
                    write(line)
                if record.problem:
                    bad += 1
                    note(str(record.problem))
                elif shows_doubt and found[0].mean_log_probability < DOUBTFUL:
                    note(f"{source.place(number - 1)}: the model is unsure here, as of what it has not learned")
            if unseen and not quiet:
                unseen.report()
    if bad and not is_prompt:
        place = "SENTENCE" if sentences else "stdin" if input in (None, STDIN) else input
        raise InputError(f"{place}: {bad} of {total} lines are not translated; correct those named above")


def _translated(translator: "Translator", records: Iterable["Record"], prefix: str) -> Iterator["Translated"]:
    """Every record with its translations, best first."""
    # Records that the translator reads ahead wait for their translations.
    given, waiting = tee(records)
    found = translator.translate_stream((record.text for record in given), prefix=prefix)
    for record, translations in zip(waiting, found, strict=False):
        yield record, translations, None


def _traced(translator: "Translator", records: Iterable["Record"], prefix: str) -> Iterator["Translated"]:
    """Every record with its translations and the tree of its beam, searched one at a time."""
    from transformer_mt.translation.trace import beam_trace, recording_search

    for record in records:
        with recording_search() as steps:
            (found,) = translator.translate([record.text], prefix=prefix)
        yield record, found, None if record.problem else beam_trace(steps, translator.tokenizer.pieces)


def _shown(translator: "Translator", record: "Record", translation: "Translation", alternatives: bool) -> "Shown":
    from transformer_mt.cli.lines import Shown
    from transformer_mt.translation.alternatives import find_alternatives
    from transformer_mt.views.search import alternatives_lines

    if not alternatives:
        return Shown(translation)
    found = find_alternatives(translator, record.text, translation, count=ALTERNATIVES)
    lines = [f"  {line}" for line in alternatives_lines(found)]
    return Shown(translation, {"alternatives": [one.to_json() for one in found]}, lines)


def _tree_lines(tree: "BeamTrace") -> Iterator[str]:
    from transformer_mt.cli.terminal import literal_console
    from transformer_mt.views.search import trace_lines

    return (f"  {line}" for line in trace_lines(tree, width=literal_console().width - 2))
