"""Lines in and lines out of `tmt translate`: arguments, files, pipes, the prompt; plain text and JSON."""

import json
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from transformer_mt.cli.signals import removed_on_signals
from transformer_mt.corpus.lines import bounded_lines
from transformer_mt.errors import EnvironmentProblem, InputError
from transformer_mt.inspection.escape import escape_controls
from transformer_mt.translation.translator import Translation

STDIN = Path("-")
# Bytes of a line to translate; a model takes some hundred subwords. A thousand lines are read ahead.
LONGEST_SENTENCE = 100_000


@dataclass(frozen=True, slots=True)
class Source:
    """Lines of text without their ends, and what messages call the line of a number counted from 0."""

    lines: Iterable[str]
    place: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Record:
    """The text of a line to translate, and the JSON object that it came in, if it did."""

    text: str
    fields: dict[str, Any] | None


def read_lines(path: Path | None) -> Source:
    """The lines of a file, or of stdin for `-` and None.

    Raises `InputError` with file and line for one that is too long or not UTF-8.
    """
    if path is None or path == STDIN:
        return Source(_decoded(sys.stdin.buffer, "stdin"), lambda number: f"stdin:{number + 1}")
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    return Source(_decoded(file, str(path)), lambda number: f"{path}:{number + 1}")


def prompted(prompt: str) -> Iterator[Source]:
    """What a person types, line by line, until the end of input."""
    while True:
        try:
            line = input(escape_controls(prompt))
        except EOFError:
            print()
            return
        yield Source([line], lambda _: "the line")


def read_records(source: Source, *, as_json: bool, language: str) -> Iterator[Record]:
    """The records of a source. With `as_json`, a line that begins with `{` is a JSON object."""
    for number, line in enumerate(source.lines):
        if as_json and line.lstrip().startswith("{"):
            yield _json_record(line, language, place=source.place(number))
        else:
            yield Record(line, None)


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """How translations are written: JSON objects, or text with tab-separated columns before it where asked for."""

    as_json: bool
    scores: bool
    n_best: int

    def lines(self, record: Record, translations: Sequence[Translation], *, number: int) -> Iterator[str]:
        """The lines for one record, the `number`-th counted from 1."""
        if self.as_json:
            # JSON escapes ASCII controls itself, but lets those beyond pass.
            yield escape_controls(json.dumps(self._object(record, translations), ensure_ascii=False))
            return
        for translation in translations:
            columns = [str(number)] if self.n_best > 1 else []
            columns += [f"{translation.score:.4f}"] if self.scores else []
            yield "\t".join([*columns, escape_controls(translation.text)])

    def _object(self, record: Record, translations: Sequence[Translation]) -> dict[str, Any]:
        best = translations[0]
        fields = {"source": record.text} if record.fields is None else record.fields
        added: dict[str, Any] = {"translation": best.text, "score": best.score, "log_probability": best.log_probability}
        if self.n_best > 1:
            added["n_best"] = [{"text": one.text, "score": one.score} for one in translations]
        return fields | added


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], None]]:
    """What writes a line to stdout, or to a file that takes its name only once everything is in it."""
    if path is None:
        yield lambda line: print(line, flush=True)  # a signal ends the process without another chance
        return
    if path.is_dir():
        raise InputError(f"{path}: is a directory; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: {path.parent} is no directory; make it, or write elsewhere")
    with _writing(path), _opened(path) as file:
        yield lambda line: print(line, file=file)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """The file itself where it cannot be replaced; else a new one beside it that replaces it in the end.

    What a link points to is replaced, and keeps its mode. Nobody can have put anything under the new one's name.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and (not stat.S_ISREG(mode) or _is_descriptor(path)):
        with path.open("a", encoding="utf-8", newline="\n") as file:
            yield file
        return
    target = path.resolve()
    temporary = target.with_name(f".tmt-{secrets.token_hex(8)}")
    permissions = 0o666 if mode is None else stat.S_IMODE(mode)
    with removed_on_signals(temporary):
        file = open(  # noqa: SIM115 - what is in the way of its name is not ours to remove
            temporary, "x", encoding="utf-8", newline="\n", opener=lambda name, flags: os.open(name, flags, permissions)
        )
        try:
            with file:
                if mode is not None:  # the opener has left out what the umask forbids
                    target.open("r+b").close()  # what may not be written is not replaced either
                    os.chmod(file.fileno() if os.chmod in os.supports_fd else temporary, permissions)
                yield file
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def _is_descriptor(path: Path) -> bool:
    """Whether this is another name of an open file, such as `/dev/stdout`, which may be one to append to."""
    parent = path.parent.resolve()
    return parent == Path("/dev") or parent.is_relative_to("/proc")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(
            f"{path}: cannot be written ({error.strerror}); check disk space and permissions"
        ) from None


def _decoded(file: BinaryIO, name: str) -> Iterator[str]:
    with file:
        for number, line in bounded_lines(file, name=name, limit=LONGEST_SENTENCE):
            try:
                yield line.decode("utf-8").removesuffix("\n").removesuffix("\r")
            except UnicodeDecodeError as error:
                raise InputError(f"{name}:{number}: not UTF-8 at byte {error.start}; save it as UTF-8") from None


def _json_record(line: str, language: str, *, place: str) -> Record:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not valid JSON ({error}); correct it") from None
    for key in ("source", language):
        if isinstance(fields.get(key), str):
            return Record(fields[key], fields)
    raise InputError(f"{place}: no text under source or {language}; name the sentence so")
