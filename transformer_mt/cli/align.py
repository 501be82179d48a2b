"""`tmt align`: which words of a sentence and of its translation belong together."""

from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transformer_mt.cli.looking_options import Looking, with_looking_options
from transformer_mt.cli.options import (
    Head,
    Layer,
    LookedAt,
    Model,
    Reverse,
    Target,
)
from transformer_mt.errors import InputError
from transformer_mt.views.text import escaped_json

if TYPE_CHECKING:
    from collections.abc import Generator

    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.inspection.alignment.aligners import AligningModel

# Pairs of files that are linked at a time.
_AT_A_TIME = 1_000


@with_looking_options
def align(
    sentence: LookedAt = None,
    model: Model = None,
    target: Target = None,
    reverse: Reverse = None,
    layer: Layer = None,
    head: Head = None,
    input: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Link the lines of a file; needs --target-file.")
    ] = None,
    target_file: Annotated[
        Path | None, typer.Option("--target-file", metavar="FILE", help="Their translations, line by line.")
    ] = None,
    *,
    looking: Looking,
) -> None:
    """Translate a sentence and link its words with those of the translation, by attention.

    \b
    Examples:
      tmt align
      tmt align "Der Hund schläft." --target "The dog sleeps."
      tmt align --reverse runs/en-de --json
      tmt align --input letters.de --target-file letters.en > links.txt

    First come the links in Pharaoh format, source word and target word counted from 0; then both sentences with the
    number of every word, and in brackets the source words that a target word is linked to. Punctuation marks are
    counted and not linked.

    Which heads are averaged was found on validation pairs when training ended, and stands in the run's alignment.json
    with a dictionary of what attention links throughout the training data. --layer and --head take other heads, without
    the dictionary.

    --json prints one object a pair: source, target, source_words, target_words, links, pharaoh,
    shares[target][source], heads, shift, chosen_by (links, agreement, guess or given) and, of a single sentence,
    never_seen.
    """
    from transformer_mt.cli.aligning import both_directions
    from transformer_mt.cli.load import open_run
    from transformer_mt.cli.looking import deliver, open_subject
    from transformer_mt.cli.terminal import result
    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.drawing.alignment_text import alignment_lines
    from transformer_mt.inspection.alignment.aligners import align as link

    if head is not None and layer is None:
        raise InputError(f"--head {head}: of which layer? give --layer too")
    if input is not None or target_file is not None:
        _refuse_beside_files(sentence=sentence, target=target, npz=looking.npz, both=None not in (input, target_file))
        looking.search.refuse("the lines of --target-file are the translations; leave one of the two out")
        run = open_run(model, looking.search, device=looking.device, quiet=looking.quiet)
        subject, other = both_directions(run, reverse, device=looking.device, quiet=looking.quiet)
        assert input is not None
        assert target_file is not None
        _align_files(_with_heads(subject, layer, head), other, input, target_file, as_json=looking.as_json)
        return
    looked_at = open_subject(sentence, target, model=model, looking=looking)
    subject, other = both_directions(looked_at.run, reverse, device=looking.device, quiet=looking.quiet)
    pair = SentencePair(looked_at.source, looked_at.target)
    for one in filter(None, (subject, other)):
        _require_fitting(one, pair, places=("SENTENCE", "--target"))
    (found,) = link(_with_heads(subject, layer, head), [pair], reverse=other)
    deliver(found, [looked_at], lambda: result(*alignment_lines(found)), looking=looking)


def _with_heads(subject: "AligningModel", layer: str | None, head: str | None) -> "AligningModel":
    """The model with the heads that `--layer` and `--head` name, if they do."""
    from transformer_mt.inspection.alignment.aligners import cross_heads

    if layer is None:
        return subject
    names = cross_heads(subject.model)
    chosen = names if layer == "all" else [name for name in names if str(name.layer) == layer]
    if not chosen:
        raise InputError(f"--layer: there is no {layer!r}; give a number from 1 to {names[-1].layer} or all")
    if head not in (None, "all", "mean"):
        there = ", ".join(dict.fromkeys(str(name.head) for name in chosen))
        chosen = [name for name in chosen if str(name.head) == head]
        if not chosen:
            raise InputError(f"--head: there is no {head!r}; layer {layer} has {there}, mean and all")
    given = replace(subject.aligner, heads=tuple(chosen), chosen_by="given", dictionary={}, error_rate=None)
    return replace(subject, aligner=given)


def _refuse_beside_files(*, sentence: str | None, target: str | None, npz: Path | None, both: bool) -> None:
    if not both:
        raise InputError("--input, --target-file: one is of no use without the other; give both")
    given = {"SENTENCE": sentence, "--target": target, "--npz": npz}
    if wrong := [name for name, value in given.items() if value is not None]:
        raise InputError(f"{wrong[0]}: the pairs come from --input and --target-file; leave it or them out")


def _align_files(
    subject: "AligningModel", reverse: "AligningModel | None", source: Path, target: Path, *, as_json: bool
) -> None:
    """Print a line for each pair of lines."""
    from itertools import islice

    from transformer_mt.cli.terminal import result
    from transformer_mt.inspection.alignment.aligners import align as link

    with closing(_pairs(source, target, [subject, *([reverse] if reverse else [])])) as pairs:
        while part := list(islice(pairs, _AT_A_TIME)):
            for found in link(subject, part, reverse=reverse):
                result(escaped_json(found.to_json()) if as_json else found.pharaoh())


def _pairs(source: Path, target: Path, models: "list[AligningModel]") -> "Generator[SentencePair, None, None]":
    """The pairs of two files; each is checked before it is linked."""
    from itertools import zip_longest

    from transformer_mt.cli.lines import read_lines
    from transformer_mt.corpus.pairs import SentencePair

    with ExitStack() as opened:
        sides = []
        for path in (source, target):
            sides.append(read_lines(path))
            opened.callback(sides[-1].close)
        for number, lines in enumerate(zip_longest(*(side.lines for side in sides))):
            pair = SentencePair(_text(lines[0], number, path=source), _text(lines[1], number, path=target))
            for one in models:
                _require_fitting(one, pair, places=(sides[0].place(number), sides[1].place(number)))
            yield pair


def _text(line: str | InputError | None, number: int, *, path: Path) -> str:
    """The line of that number of a file. Raises `InputError` for one that is wrong, and where the file has ended."""
    if line is None:
        raise InputError(f"{path}: ends after {number} lines, and the other file goes on; give as many of both")
    if isinstance(line, InputError):
        raise line
    return line


def _require_fitting(subject: "AligningModel", pair: "SentencePair", *, places: tuple[str, str]) -> None:
    limit = subject.model.max_length
    for text, place in zip((pair.source, pair.target), places, strict=True):
        if (count := len(subject.tokenizer.encode(text)) + 1) > limit:
            raise InputError(f"{place}: {count} tokens, the model takes at most {limit}; shorten it")
