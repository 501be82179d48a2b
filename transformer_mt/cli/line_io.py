"""Input and output lines of `tmt translate`: files, pipes, the prompt; plain text and JSON."""

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import tee, zip_longest
from pathlib import Path
from queue import Queue
from threading import Thread

from transformer_mt.cli.open_model import LineRemarks
from transformer_mt.cli.signals import remember_terminal
from transformer_mt.cli.terminal import literal_console, warn
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.source import flat, source_of
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import bounded_lines, in_utf8, input_errors, output_file
from transformer_mt.text.terminal import JsonObject, escape_controls, escaped_json
from transformer_mt.tokenizer.prepared import PreparedLine
from transformer_mt.translation.translator import Translator
from transformer_mt.views.translate import Details, TranslatedLine, alternatives_lines, trace_lines, translated_lines

STDIN = Path("-")
LONGEST_SENTENCE = 100_000  # bytes; a model takes a few hundred tokens, and a thousand lines are read ahead
_READ_AHEAD = 1_000  # lines of a pipe
QUIT = ":quit"  # ends the prompt
ALTERNATIVES = 4  # other tokens shown at each position

# The place of a line in messages, and its text without the line ending, or its error.
Line = tuple[str, str | InputError]


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a file, or of stdin for `-`; an `InputError` for one too long or not UTF-8."""
    if path == STDIN:
        # Its own file object: Python cannot exit while a thread waits in `sys.stdin`.
        name, file = "stdin", open(_stdin(), "rb", closefd=False)  # noqa: SIM115
    else:
        name = str(path)
        with input_errors(path, "check the path"):
            file = path.open("rb")
    with file:
        for number, line in bounded_lines(file, name=name, limit=LONGEST_SENTENCE):
            yield f"{name}:{number}", line


def _stdin() -> int:
    if sys.stdin is None:  # closed by the shell
        raise InputError("stdin", "is closed", "give sentences, or a file with --input")
    return sys.stdin.fileno()


def arriving_lines(path: Path) -> tuple[Iterator[Line], Callable[[], bool] | None]:
    """The lines of `read_lines`, and a check whether the next one, or the end, has arrived; None for files.

    A thread reads the lines as they arrive, so the process can exit while it waits for one.
    """
    lines = read_lines(path)
    if os.path.isfile(_stdin() if path == STDIN else path):
        return lines, None
    arrived: Queue[Line | BaseException | None] = Queue(_READ_AHEAD)

    def read() -> None:
        try:
            for line in lines:
                arrived.put(line)
            arrived.put(None)
        except BaseException as error:  # raised in the thread that waits for the line
            arrived.put(error)

    def arriving() -> Iterator[Line]:
        while line := arrived.get():
            if isinstance(line, BaseException):
                raise line
            yield line

    Thread(target=read, daemon=True).start()
    return arriving(), lambda: not arrived.empty()


def read_pairs(source: Path, target: Path, translator: Translator) -> Generator[SentencePair, None, None]:
    """Yield the pairs of two files as written, line by line.

    Raises `InputError` naming the line if the model of `translator` cannot take it.
    """
    for index, lines in enumerate(zip_longest(read_lines(source), read_lines(target))):
        texts: list[str] = []
        for path, line in zip((source, target), lines, strict=True):
            if line is None:
                raise InputError(path, f"ends after line {index}, the other file is longer", "give as many of both")
            place, text = line
            if isinstance(text, InputError):
                raise text
            prepare = translator.model.prepare
            translator.require_fitting([(prepare.target if texts else prepare).sentence(text)], place)
            texts.append(text)
        yield SentencePair(texts[0], texts[1])


@dataclass(frozen=True)
class Record:
    """A line to translate: its place, text, the JSON object it came in (if any), and its problem (if any).

    A line with a problem has no text, so its translation is empty.
    """

    place: str
    line: PreparedLine
    fields: JsonObject | None
    problem: InputError | None


def read_records(lines: Iterable[Line], translator: Translator, *, split: bool, as_json: bool) -> Iterator[Record]:
    """Yield the records of lines, prepared for the translator.

    With `as_json`, a line that begins with `{` is a JSON object. A line that is too long or unreadable has a problem
    instead of text.
    """
    prepare = translator.model.prepare
    for place, line in lines:
        fields: JsonObject | None = None
        problem: InputError | None = None
        try:
            if isinstance(line, InputError):
                fields = {}
                raise line
            text = in_utf8(line, place)  # raises for a line of the prompt
            if as_json and line.lstrip().startswith("{"):
                fields = _json_object(line, place=place)
                text = source_of(flat(dict(fields)), translator.model.config.data, place=place)
            (prepared,) = prepare.lines([text], split=split)
            translator.require_fitting(prepared.sentences, place)
        except InputError as error:
            problem = error
            (prepared,) = prepare.lines([""], split=False)
            fields = {"source": line} if fields is None else fields
        yield Record(place, prepared, fields, problem)


def _json_object(line: str, *, place: str) -> JsonObject:
    try:
        fields = json.loads(line)
        json.dumps(fields, allow_nan=False)  # NaN and infinity would make our output invalid
    except (ValueError, RecursionError) as error:
        raise InputError(place, f"not valid JSON ({error})", "correct it") from None
    return fields


@dataclass
class TranslationJob:
    """Translates records, writes the output lines of each, and counts.

    `details` and the following fields are the form of the output; `write` gets its lines.
    """

    translator: Translator
    details: Details
    as_json: bool
    scores: bool
    prefix: str
    write: Callable[[str], None]
    is_waiting: Callable[[], bool] | None
    total: int = 0
    bad: int = 0
    terms: int = 0

    def run(self, lines: Iterable[Line]) -> None:
        """Translate lines, which are numbered from 1; reports remarks about them at the end."""
        remarks = LineRemarks()
        translator = self.translator
        given, records = tee(read_records(lines, translator, split=self.details.split, as_json=self.as_json))
        prepared = (record.line for record in given)
        stream = translated_lines(
            translator, prepared, translator.search, self.details, prefix=self.prefix, is_waiting=self.is_waiting
        )
        for number, (record, one) in enumerate(zip(records, stream, strict=False), start=1):
            best = one.ranked[0]
            left_out = [f"{term.source} → {term.target}" for term in best.terms if not term.placed]
            remarks.look_at(one.line, best.text, place=record.place, doubtful=best.is_doubtful, left_out=left_out)
            for line in self._lines(record, one, number=number):
                self.write(line)
            if record.problem:
                warn(str(record.problem))
            self.total += 1
            self.bad += record.problem is not None
            self.terms += len(best.terms)
        remarks.report()

    def _lines(self, record: Record, one: TranslatedLine, *, number: int) -> Iterator[str]:
        """Yield the output lines of a record: tab-separated columns, or a JSON object."""
        if self.as_json:
            yield escaped_json(_object(record, one))
            return
        for translation, others in zip(one.ranked, one.alternatives, strict=True):
            columns = [str(number)] if self.details.n_best > 1 else []
            if self.scores:
                columns.append("" if record.problem else f"{translation.score:.4f}")
            yield "\t".join([*columns, escape_controls(translation.text)])
            yield from (f"  {line}" for line in alternatives_lines(others))
        if one.trace:
            yield from (f"  {line}" for line in trace_lines(one.trace, width=literal_console().width - 2))


def _object(record: Record, one: TranslatedLine) -> JsonObject:
    """The input's keys and ours. If ours, or `error`, would mean two things, ours are together under `tmt`."""
    ours = {"error": str(record.problem)} if record.problem else one.to_json()
    if record.fields is None:
        return ours
    given = record.fields
    ours.pop("source", None)
    if given.keys().isdisjoint((*ours, "error")):
        return given | ours
    name = "tmt"
    while name in given:
        name += "_"
    return given | {name: ours}


@contextmanager
def open_output(path: Path | None, *, read: Iterable[str | Path | None] = ()) -> Iterator[Callable[[str], None]]:
    """A function that writes a line to stdout or to the given file.

    Raises `InputError` if it would replace one of the files `read`, or a file in one of the folders.
    """
    if path is None:
        yield lambda line: print(line, flush=True)  # a signal ends the process without flushing
        return
    target = Path(os.path.realpath(path))  # Path.resolve raises if links form a loop
    if target.is_file() and {target, *target.parents} & {Path(os.path.realpath(name)) for name in read if name}:
        raise InputError("--output", f"{path} is one of the files to read", "give another name")
    with output_file(path) as file:
        yield lambda line: file.writelines((f"{line}\n".encode(),))


def prompted(prompt: str) -> Iterator[str]:
    """Yield the lines typed at a prompt, until `:quit` or the end of input."""
    if sys.platform != "win32":
        with suppress(ImportError):  # adds line editing and history to `input`, where Python has it
            import readline

            readline.parse_and_bind("set enable-bracketed-paste off")
            remember_terminal()
    while True:
        try:
            line = input(escape_controls(prompt))
        except EOFError:
            print()
            return
        if line.strip() == QUIT:
            return
        yield line
