"""Lines in and lines out of `tmt translate`: arguments, files, pipes, the prompt; plain text and JSON."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from transformer_mt.errors import InputError
from transformer_mt.files import bounded_lines, output_file
from transformer_mt.translation.translator import Translation
from transformer_mt.views.text import escape_controls, escaped_json

STDIN = Path("-")
# Bytes of a line to translate; a model takes some hundred subwords. A thousand lines are read ahead.
LONGEST_SENTENCE = 100_000


# Raises `InputError` that names the place, its second argument, for a sentence that cannot be translated.
Check = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Source:
    """Lines of text without their ends, or what is wrong with one, and what messages call that of a number from 0.

    What they come from is closed after the last of them, or by `close`.
    """

    lines: Iterable[str | InputError]
    place: Callable[[int], str]
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Record:
    """The text of a line to translate, the JSON object that it came in, if it did, and what is wrong with it, if so.

    A line that is wrong has no text: its translation is empty.
    """

    text: str
    fields: dict[str, Any] | None = None
    problem: InputError | None = None


def read_lines(path: Path | None) -> Source:
    """The lines of a file, or of stdin for `-` and None.

    In place of a line that is too long or not UTF-8 stands an `InputError` with file and line.
    """
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
class Extra:
    """What is shown besides a translation: keys of its JSON object, or lines below it."""

    fields: dict[str, Any]
    lines: Sequence[str]


NO_EXTRA = Extra({}, ())


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """How translations are written: JSON objects, or text with tab-separated columns before it where asked for."""

    as_json: bool
    scores: bool
    n_best: int

    def lines(
        self,
        record: Record,
        translations: Sequence[Translation],
        *,
        number: int,
        never_seen: list[str] | None,
        extras: Sequence[Extra] = (),
        of_search: Extra = NO_EXTRA,
    ) -> Iterator[str]:
        """The lines for one record, the `number`-th counted from 1, with the words that training has never seen.

        `extras`, if there are any, belong to one translation each, `of_search` to all of them.
        """
        extras = extras or [NO_EXTRA] * len(translations)
        if record.problem and not self.as_json:
            yield "\t".join([*([str(number)] if self.n_best > 1 else []), *([""] if self.scores else []), ""])
            return
        if self.as_json:
            found = self._object(record, translations, never_seen, extras) | of_search.fields
            yield escaped_json(found)
            return
        for translation, extra in zip(translations, extras, strict=True):
            columns = [str(number)] if self.n_best > 1 else []
            columns += [f"{translation.score:.4f}"] if self.scores else []
            yield "\t".join([*columns, escape_controls(translation.text)])
            yield from map(escape_controls, extra.lines)
        yield from map(escape_controls, of_search.lines)

    def _object(
        self,
        record: Record,
        translations: Sequence[Translation],
        never_seen: list[str] | None,
        extras: Sequence[Extra],
    ) -> dict[str, Any]:
        if record.problem:
            return (record.fields or {}) | {"error": str(record.problem)}
        best = translations[0]
        fields = {"source": record.text} if record.fields is None else record.fields
        added: dict[str, Any] = {"translation": best.text, "score": best.score, "log_probability": best.log_probability}
        added["never_seen"] = never_seen
        if self.n_best > 1:
            ranked = zip(translations, extras, strict=True)
            added["n_best"] = [{"text": one.text, "score": one.score} | extra.fields for one, extra in ranked]
        return fields | added | extras[0].fields


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
