"""Lines in and lines out of `tmt translate`: arguments, files, pipes, the prompt; plain text and JSON."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from transformer_mt.cli.signals import cleanups
from transformer_mt.errors import InputError
from transformer_mt.files import bounded_lines, output_file
from transformer_mt.translation.translator import Translation
from transformer_mt.views.text import escape_controls, escaped_json

STDIN = Path("-")
# Bytes of a line to translate; a model takes some hundred subwords. A thousand lines are read ahead.
LONGEST_SENTENCE = 100_000
# Ends the prompt; lines of it that are remembered from one session to the next.
QUIT, REMEMBERED = ":quit", 1_000

# Raises `InputError` that names the place, its second argument, for a sentence that cannot be translated.
Check = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Source:
    """Lines of text without their ends, or the error of one, and the name of a line, counted from 0, in messages."""

    lines: Iterable[str | InputError]
    place: Callable[[int], str]
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Record:
    """The text of a line to translate, the JSON object that it came in, if it did, and its problem, if there is one.

    A line with a problem has no text: its translation is empty.
    """

    text: str
    fields: dict[str, Any] | None = None
    problem: InputError | None = None


def read_lines(path: Path | None) -> Source:
    """The lines of a file, or of stdin for `-` and None; an `InputError` for one that is too long or not UTF-8."""
    if path is None or path == STDIN:
        return Source(_decoded(sys.stdin.buffer, "stdin"), lambda number: f"stdin:{number + 1}")
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    return Source(_decoded(file, str(path)), lambda number: f"{path}:{number + 1}", file.close)


def read_records(source: Source, require_fitting: Check, *, as_json: bool, language: str) -> Iterator[Record]:
    """The records of a source. With `as_json`, a line that begins with `{` is a JSON object.

    What the check raises for a text is its record's problem.
    """
    for number, line in enumerate(source.lines):
        place = source.place(number)
        if isinstance(line, InputError):
            yield Record("", problem=line)
            continue
        text, fields = line, None
        try:
            if as_json and line.lstrip().startswith("{"):
                fields = _json_object(line, place=place)
                text = _text(fields, language, place=place)
            require_fitting(text, place)
        except InputError as problem:
            yield Record("", {"source": line} if fields is None else fields, problem)
        else:
            yield Record(text, fields)


@dataclass(frozen=True, slots=True)
class Shown:
    """A translation with the further keys of its JSON object, and further lines below it."""

    translation: Translation
    fields: dict[str, Any] = field(default_factory=dict)
    lines: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """Translations as JSON objects, or as text with tab-separated columns before it where asked for."""

    as_json: bool
    scores: bool
    n_best: int

    def lines(
        self, record: Record, ranked: Sequence[Shown], *, number: int, fields: Mapping[str, Any], below: Iterable[str]
    ) -> Iterator[str]:
        """The lines for the `number`-th record, from 1: its translations, best first, with more keys or lines below."""
        if self.as_json:
            yield escaped_json(self._object(record, ranked, fields))
            return
        for shown in ranked:
            columns = [str(number)] if self.n_best > 1 else []
            if self.scores:
                columns.append("" if record.problem else f"{shown.translation.score:.4f}")
            yield "\t".join([*columns, escape_controls(shown.translation.text)])
            yield from map(escape_controls, shown.lines)
        yield from map(escape_controls, below)

    def _object(self, record: Record, ranked: Sequence[Shown], fields: Mapping[str, Any]) -> dict[str, Any]:
        if record.problem:
            return (record.fields or {}) | {"error": str(record.problem)}
        best = ranked[0].translation
        whole: dict[str, Any] = {"source": record.text} if record.fields is None else dict(record.fields)
        whole |= {"translation": best.text, "score": best.score, "log_probability": best.log_probability}
        whole["never_seen"] = fields["never_seen"]  # before n_best
        if self.n_best > 1:
            several = ((one.translation, one.fields) for one in ranked)
            whole["n_best"] = [{"text": each.text, "score": each.score, **own} for each, own in several]
        return whole | ranked[0].fields | dict(fields)


def _decoded(file: BinaryIO, name: str) -> Iterator[str | InputError]:
    with file:
        for number, line in bounded_lines(file, name=name, limit=LONGEST_SENTENCE):
            if isinstance(line, InputError):
                yield line
                continue
            try:
                yield line.decode("utf-8").removesuffix("\n").removesuffix("\r")
            except UnicodeDecodeError as error:
                yield InputError(f"{name}:{number}: not UTF-8 at byte {error.start}; save it as UTF-8")


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that writes a line to stdout, or to the file that the user named."""
    if path is None:
        yield lambda line: print(line, flush=True)  # a signal ends the process without another chance
        return
    with output_file(path) as file:
        yield lambda line: file.writelines((f"{line}\n".encode(),))


def _json_object(line: str, *, place: str) -> dict[str, Any]:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not valid JSON ({error}); correct it") from None


def _text(fields: dict[str, Any], language: str, *, place: str) -> str:
    for key in ("source", language):
        if isinstance(fields.get(key), str):
            return fields[key]
    raise InputError(f"{place}: no text under source or {language}; name the sentence so")


def prompted(prompt: str) -> Iterator[Source]:
    """The lines that a person types, one by one, until `:quit` or the end of input."""
    with _line_editing() as remember:
        while True:
            try:
                line = input(escape_controls(prompt))
            except EOFError:
                print()
                return
            remember()
            if line.strip() == QUIT:
                return
            yield Source([line], lambda _: "the line")


def history_path() -> Path:
    """The file of remembered lines, in the user's state folder (XDG Base Directory Specification)."""
    state = Path(os.environ.get("XDG_STATE_HOME") or "")
    return (state if state.is_absolute() else Path.home() / ".local" / "state") / "tmt" / "history"


@contextmanager
def _line_editing() -> Iterator[Callable[[], None]]:
    """While this is open, `input` edits lines and calls old ones back, where it can; yields what remembers the last.

    The history is written after every line, since a signal ends the process at once. Errors are ignored.
    """
    try:
        import readline
        import termios
    except ImportError:  # Windows, and Pythons built without it
        yield lambda: None
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield lambda: None
        return
    path = history_path()

    def remember() -> None:
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            readline.write_history_file(path)
            path.chmod(0o600)

    readline.clear_history()
    with suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(REMEMBERED)
    readline.parse_and_bind("set enable-bracketed-paste off")
    # While a line is edited, the terminal does not echo.
    restore = partial(termios.tcsetattr, sys.stdin, termios.TCSANOW, termios.tcgetattr(sys.stdin))
    cleanups.append(restore)
    try:
        yield remember
    finally:
        cleanups.remove(restore)
